"""Linear algebra in a single thread."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import methodcaller
from threading import Lock
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


_lock, _before = Lock(), list[int]()  # numbers of threads outside, while there are users
_users = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this context, entered by any number of threads, NumPy and SciPy use one BLAS thread.

    A step multiplies many small matrices. More threads would mostly wait for each other, especially where
    several searches share the cores. They would also add numbers in another order, so that the same seed
    would give another run on another machine. The first to enter sets the limit, the last to leave lifts it.
    It holds in the methods of a search alone: a user's reward has all threads.
    """
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _before[:] = map(_threads_of, libraries())
            _limit([1] * len(_before))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit(_before)


def _limit(threads: Sequence[int]) -> None:
    """Set the number of threads of every library that has another one."""
    for library, wanted, before in zip(libraries(), threads, _before, strict=True):
        if before != 1:
            set_threads(library, wanted)
