"""Import of objects that a command line names by their path."""

import importlib
import sys
from typing import Any


def imported(path: str) -> Any:
    """The object at ``package.module:name`` or ``package.module.name``; its module may raise any error."""
    module, _, name = path.replace(":", ".").rpartition(".")
    if "" not in sys.path:  # find scripts in the current folder, also from worker processes
        sys.path.insert(0, "")
    return getattr(importlib.import_module(module), name)
