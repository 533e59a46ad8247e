"""The decorator for all compiled functions of this package."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])

logger = logging.getLogger(__name__)


def compiled(function: _Function) -> _Function:
    """Compile at the first call, and store the machine code on disk for later processes."""
    return _compiled(function)


def inlined(function: _Function) -> _Function:
    """Compile into the callers: a call that takes an array counts its references, too slow in a hot loop."""
    return _compiled(function, inline="always")


def _compiled(function: _Function, **options: Any) -> _Function:
    try:
        return cast(_Function, njit(cache=True, **options)(function))
    except RuntimeError as error:  # no folder can be written to: neither that of the package nor at home
        logger.debug("%s", error)
        _say_once()
        return cast(_Function, njit(**options)(function))


@cache
def _say_once() -> None:
    logger.info(
        "compiled functions cannot be stored for later processes, so every process compiles them again: set "
        "the environment variable NUMBA_CACHE_DIR to a folder that can be written to"
    )
