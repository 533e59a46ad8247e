"""What a command line names by its import path."""

import importlib
import sys
from typing import Any


def imported(path: str) -> Any:
    """An object by ``package.module:name`` or ``package.module.name``; its module may raise anything."""
    module, _, name = path.replace(":", ".").rpartition(".")
    if "" not in sys.path:  # a script in the current folder counts, and in other processes it must too
        sys.path.insert(0, "")
    return getattr(importlib.import_module(module), name)
