"""Old import paths: they still work, with a warning that names the new path."""

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

# Old module, new module.
MODULES = {
    "dagsearch.defaults": "dagsearch.engine.compositions",
    "dagsearch.encoding": "dagsearch.durable.encoding",
    "dagsearch.evidence": "dagsearch.learning.evidence",
    "dagsearch.freshness": "dagsearch.learning.refresh",
    "dagsearch.journal": "dagsearch.durable.journal",
    "dagsearch.neighbours": "dagsearch.neighbourhoods",
    "dagsearch.optimum": "dagsearch.refinements.optimum",
    "dagsearch.players": "dagsearch.games.players",
    "dagsearch.plots": "dagsearch.selection.plots",
    "dagsearch.pools": "dagsearch.execution.pools",
    "dagsearch.proofs": "dagsearch.refinements.proofs",
    "dagsearch.replay": "dagsearch.durable.replay",
    "dagsearch.report": "dagsearch.selection.page",
    "dagsearch.rewards": "dagsearch.learning.rewards",
    "dagsearch.stopping": "dagsearch.execution.stopping",
    "dagsearch.walks": "dagsearch._internal.walks",
}
# Old name, new name.
NAMES = {
    "Always": "Eager",
    "Elsewhere": "ExecutorPool",
    "Freshness": "Refresh",
    "Here": "SerialPool",
    "OnDemand": "Lazy",
    "Processes": "ProcessPool",
}


class MovedModule(ModuleType):
    """A module at an old import path, with the contents of the new one."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__(old, f"Moved to :mod:`{new}`.")
        self.__dict__["_new"] = new

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # looked up by the import system
            raise AttributeError(name)
        module = importlib.import_module(self._new)
        found = NAMES.get(name, name) if not hasattr(module, name) else name
        value = getattr(module, found)
        warnings.warn(
            f"{self.__name__}.{name} has moved to {self._new}.{found}", DeprecationWarning, stacklevel=2
        )
        return value


def keep_old_paths() -> None:
    """Make old modules importable."""
    for old, new in MODULES.items():
        sys.modules.setdefault(old, MovedModule(old, new))
