"""Linear algebra in a single thread."""

from contextlib import AbstractContextManager
from functools import cache
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    """BLAS libraries in this process. They are cached because threadpoolctl would search again each time."""
    import scipy.linalg  # noqa: F401  (loads its own BLAS, which must be loaded to be found)

    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas"]


class one_thread(AbstractContextManager[None]):  # noqa: N801
    """While entered, NumPy and SciPy use one thread.

    A step multiplies many small matrices. More threads would mostly wait for each other, especially where
    several searches share the cores.
    """

    def __enter__(self) -> None:
        self._before = [(library, library.get_num_threads()) for library in _libraries()]
        for library, threads in self._before:
            if threads != 1:
                library.set_num_threads(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for library, threads in self._before:
            if threads != 1:
                library.set_num_threads(threads)
