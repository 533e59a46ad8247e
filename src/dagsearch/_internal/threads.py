"""Linear algebra in a single thread."""

from contextlib import ContextDecorator
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def libraries() -> list[Any]:
    """BLAS libraries in this process, cached because threadpoolctl would search again each time."""
    import scipy.linalg  # noqa: F401  (loads its own BLAS, which is found only then)

    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas"]


def set_threads(library: Any, threads: int) -> None:
    """Set the number of threads of a library, regardless of which thread has set it before.

    From version 3.7 on, threadpoolctl lets only the first thread that sets OpenBLAS's number set it again,
    until that thread gives up this right: for all others, limits would silently do nothing.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(threads)
    if release is not None:
        release(force=True)


class _OneThread(ContextDecorator):
    """The limit, with the number of its users and the libraries that have more threads outside it."""

    def __init__(self) -> None:
        self._lock, self._users, self._limited = Lock(), 0, list[tuple[Any, int]]()

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limited.clear()
                for library in libraries():
                    if (before := library.get_num_threads()) > 1:
                        self._limited.append((library, before))
                        set_threads(library, 1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for library, before in self._limited:
                    set_threads(library, before)


one_thread = _OneThread()
"""Within this context, entered by any number of threads, NumPy and SciPy use one BLAS thread.

A step multiplies many small matrices. More threads mostly wait for each other: if searches share the cores,
they take 20 times as long. They would also add numbers in another order, so that the same seed would give a
different run on another machine. The first to enter sets the limit, the last to leave lifts it, so that a
user's reward has all threads.
"""
