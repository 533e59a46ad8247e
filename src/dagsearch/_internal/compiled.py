"""The decorator for all compiled functions of this package."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile at the first call, and store the machine code on disk for later processes."""
    return cast(_Function, njit(cache=True)(function))


def inlined(function: _Function) -> _Function:
    """Compile into the callers: a call that takes an array counts its references, too slow in a hot loop."""
    return cast(_Function, njit(cache=True, inline="always")(function))
