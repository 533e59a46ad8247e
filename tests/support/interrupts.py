"""Ctrl-C at a chosen moment."""

from collections.abc import Callable
from typing import Any


def interrupted_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which raises ``KeyboardInterrupt`` from some call on."""
    count = 0

    def interrupting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count > calls:
            raise KeyboardInterrupt
        return function(*arguments)

    return interrupting
