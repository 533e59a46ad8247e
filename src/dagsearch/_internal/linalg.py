"""Functions of SciPy's linear algebra, BLAS and LAPACK by name, imported at the first use.

The import takes more than half as long as dagsearch's own, and a search without a model does not need it.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from scipy import linalg
    from scipy.linalg import blas, lapack

    for module in (linalg, blas, lapack):
        if hasattr(module, name):
            globals()[name] = getattr(module, name)  # later accesses need no lookup
            return globals()[name]
    raise AttributeError(f"scipy.linalg, its BLAS and its LAPACK have no function {name!r}")
