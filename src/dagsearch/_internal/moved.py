"""Old import paths: they go on working, with a warning that names the new one."""

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
# Names that changed, too.
NAMES = {
    "Always": "Eager",
    "Elsewhere": "ExecutorPool",
    "Freshness": "Refresh",
    "Here": "SerialPool",
    "OnDemand": "Lazy",
    "Processes": "ProcessPool",
}


class MovedModule(ModuleType):
    """Stands at an old import path and gives what is at the new one."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__(old, f"Moved to :mod:`{new}`.")
        self.__dict__["_new"] = new

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system's own questions
            raise AttributeError(name)
        module = importlib.import_module(self._new)
        found = NAMES.get(name, name) if not hasattr(module, name) else name
        value = getattr(module, found)
        warnings.warn(
            f"{self.__name__}.{name} has moved to {self._new}.{found}", DeprecationWarning, stacklevel=2
        )
        return value


def keep_old_paths() -> None:
    """Let old modules be imported."""
    for old, new in MODULES.items():
        sys.modules.setdefault(old, MovedModule(old, new))
