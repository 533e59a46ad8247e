"""Linear algebra in a single thread."""

from contextlib import ContextDecorator
from functools import cache
from operator import methodcaller
from threading import Lock
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController

_threads_of = methodcaller("get_num_threads")


@cache
def libraries() -> list[Any]:
    """BLAS libraries in this process. They are cached because threadpoolctl would search again each time."""
    import scipy.linalg  # noqa: F401  (loads its own BLAS, which must be loaded to be found)

    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas"]


def set_threads(library: Any, threads: int) -> None:
    """Set the number of threads of a library, whichever thread has set it before.

    From version 3.7 on, threadpoolctl lets only the first thread that sets the number of OpenBLAS set it
    again, until that thread gives this right up: for all others, limits would silently do nothing.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(threads)
    if release is not None:
        release(force=True)


class one_thread(ContextDecorator):  # noqa: N801
    """Within this context, entered by any number of threads, NumPy and SciPy use one BLAS thread.

    A step multiplies many small matrices. More threads would mostly wait for each other, especially where
    several searches share the cores. They would also add numbers in another order, so that the same seed
    would give another run on another machine. The first to enter sets the limit, the last to leave lifts it.
    """

    _lock, _users = Lock(), 0
    _before: list[int] = []  # number of threads of each library outside  # noqa: RUF012

    def __enter__(self) -> None:
        with one_thread._lock:
            one_thread._users += 1
            if one_thread._users == 1:
                one_thread._before = list(map(_threads_of, libraries()))
                for library, threads in zip(libraries(), one_thread._before, strict=True):
                    if threads != 1:
                        set_threads(library, 1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with one_thread._lock:
            one_thread._users -= 1
            if one_thread._users == 0:
                for library, threads in zip(libraries(), one_thread._before, strict=True):
                    if threads != 1:
                        set_threads(library, threads)
