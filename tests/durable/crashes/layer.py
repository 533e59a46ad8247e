"""A layer between the journal and its file that sees every operation, and may end the process there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

from dagsearch.journal import journal
from dagsearch.journal.file import LockedFile


class Operation(NamedTuple):
    """What the journal does to its file."""

    kind: str
    """``"write"``, ``"sync"`` or ``"truncate"``."""
    position: int
    """Where it writes, or what it truncates to."""
    data: bytes
    """What it writes."""


Watcher = Callable[[Operation, Callable[[bytes], None]], None]
"""Called in place of an operation, with a function that carries it out; a write may write less."""


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """While entered, operations of journals that are opened go through ``watcher``."""

    class WatchedFile(LockedFile):
        def write(self, position: int, data: bytes) -> None:
            carry_out = super().write
            watcher(Operation("write", position, data), lambda part: carry_out(position, part))

        def truncate(self, size: int) -> None:
            carry_out = super().truncate
            watcher(Operation("truncate", size, b""), lambda _: carry_out(size))

        def sync(self) -> None:
            carry_out = super().sync
            watcher(Operation("sync", 0, b""), lambda _: carry_out())

    with mock.patch.object(journal, "LockedFile", WatchedFile):
        yield


def recorded(run: Callable[[], None]) -> list[Operation]:
    """The operations of a run."""
    found: list[Operation] = []

    def watch(operation: Operation, carry_out: Callable[[bytes], None]) -> None:
        found.append(operation)
        carry_out(operation.data)

    with watched(watch):
        run()
    return found
