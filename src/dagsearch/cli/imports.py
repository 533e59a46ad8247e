"""Import of objects that a command line names by their path."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any


def imported(path: str) -> Any:
    """The object at ``package.module:name`` or ``package.module.name``; its module may raise any error.

    A module of the current folder is found if no installed module has its name. Only then the folder becomes
    part of the import path, at its end, so that files there never replace installed modules.
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    package = module.partition(".")[0]
    here = os.getcwd()
    in_folder = bool(package) and importlib.machinery.PathFinder.find_spec(package, [here]) is not None
    if in_folder and here not in sys.path:
        importlib.invalidate_caches()
        if package not in sys.modules and importlib.util.find_spec(package) is None:
            sys.path.append(here)  # it stays: worker processes import the module, too
    return getattr(importlib.import_module(module), name)
