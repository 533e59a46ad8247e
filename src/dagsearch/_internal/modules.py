"""Modules that can be called, because a function has the same name."""

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(name: str, function: Callable[..., Any]) -> None:
    """Let calling the module ``name`` call the function."""

    class CallableModule(ModuleType):
        __call__ = staticmethod(function)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(function)

        def __reduce__(self) -> tuple[Any, ...]:
            # As cloudpickle does for other modules: functions that call it can be sent to processes.
            return import_module, (name,)

    sys.modules[name].__class__ = CallableModule
