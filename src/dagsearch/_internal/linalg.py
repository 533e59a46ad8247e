"""SciPy's linear algebra by name, from BLAS and LAPACK too, imported when something of it is first needed.

That takes longer than half of dagsearch, and a search without a model does without.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from scipy import linalg
    from scipy.linalg import blas, lapack

    for module in (linalg, blas, lapack):
        if hasattr(module, name):
            globals()[name] = getattr(module, name)  # found at once from now on
            return globals()[name]
    raise AttributeError(f"neither scipy.linalg nor its BLAS and LAPACK have {name!r}")
