"""The decorator for all compiled functions of this package.

Numba is imported at the first call of one of them, because its import takes longer than all others together.
"""

import logging
import sys
from collections.abc import Callable
from functools import update_wrapper
from pkgutil import resolve_name
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

logger = logging.getLogger(__name__)


def compiled(function: _Function) -> _Function:
    """Compile at the first call, and store the machine code on disk for later processes."""
    return cast(_Function, Compiled(function))


class Compiled:
    """Stands for the compiled function, in Python and, by Numba's attributes, in other compiled functions."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name == "dispatcher":  # only once: afterwards it is found without this method
            from numba import njit

            try:
                self.dispatcher = njit(cache=True)(self.__wrapped__)
            except RuntimeError as error:  # neither the package's nor the home folder is writable
                logger.info("%s; set NUMBA_CACHE_DIR to a writable folder", error)
                self.dispatcher = njit(self.__wrapped__)
            vars(sys.modules[self.__module__])[self.__name__] = self.dispatcher  # without this detour
            return self.dispatcher
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return resolve_name, (f"{self.__module__}:{self.__name__}",)  # by reference, as functions are
