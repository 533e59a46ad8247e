"""Linear algebra in a single thread."""

from contextlib import ContextDecorator
from functools import cache
from threading import Lock, local
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


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


def _is_shared(library: Any) -> bool:
    return bool(library.internal_api == "openblas" and library.threading_layer != "openmp")


@cache
def shared_libraries() -> list[Any]:
    """The libraries whose number of threads all threads of the process share."""
    return [library for library in libraries() if _is_shared(library)]


@cache
def own_libraries() -> list[Any]:
    """The libraries whose number of threads belongs to the thread."""
    return [library for library in libraries() if not _is_shared(library)]


class _SharedLimit:
    """The limit of libraries whose number all threads share: it holds while any thread needs it.

    The first thread that needs the limit sets it, and the last one restores the number. A number that
    somebody else has set meanwhile is left alone. But whoever set it, as ``threadpool_limits`` does, has
    noted 1 as the number to return to, so the number is kept and restored after the next time.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._before: dict[str, int] = {}  # by library: number of threads outside
        self._owed: dict[str, int] = {}  # by library: number that somebody else will not restore

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            for library in shared_libraries() if self._users == 1 else ():
                threads = library.get_num_threads()
                if threads == 1 or threads == self._owed.get(library.filepath):
                    threads = self._owed.pop(library.filepath, 1)
                self._before[library.filepath] = threads
                if library.get_num_threads() != 1:
                    set_threads(library, 1)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users > 0:
                return
            for library in shared_libraries():
                before = self._before[library.filepath]
                if library.get_num_threads() != 1:
                    self._owed[library.filepath] = before
                elif before != 1:
                    set_threads(library, before)


class _OwnLimits(local):
    """The limits of libraries whose number belongs to the thread, as those with OpenMP and MKL."""

    def __init__(self) -> None:
        self._before: list[list[int]] = []

    def enter(self) -> None:
        own = own_libraries()
        self._before.append([library.get_num_threads() for library in own])
        for library in own:
            library.set_num_threads(1)

    def leave(self) -> None:
        for library, threads in zip(own_libraries(), self._before.pop(), strict=True):
            library.set_num_threads(threads)


_SHARED, _OWN = _SharedLimit(), _OwnLimits()


class one_thread(ContextDecorator):  # noqa: N801
    """While entered, by however many threads, NumPy and SciPy use one thread of BLAS each.

    A step multiplies many small matrices. More threads would mostly wait for each other, especially where
    several searches share the cores. They would also add numbers in another order, so that the same seed
    would give another run on another machine.
    """

    def __enter__(self) -> None:
        _OWN.enter()
        _SHARED.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _SHARED.leave()
        _OWN.leave()
