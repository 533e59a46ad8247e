"""One thread for our own linear algebra."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> Any:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """While entered, NumPy and SciPy use one thread.

    A step multiplies many small matrices. Threads gain nothing there and lose most of the time waiting for
    each other, and more where several searches share the cores.
    """
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]
