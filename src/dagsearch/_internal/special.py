"""Functions of ``scipy.special`` by name, imported at the first use: it takes as long as dagsearch itself."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import scipy.special

    globals()[name] = getattr(scipy.special, name)  # later accesses need no lookup
    return globals()[name]
