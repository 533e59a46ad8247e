"""A disk that fails at an operation chosen before: the process is killed, the power is cut, writing fails."""

import errno
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Literal, NamedTuple

from dagsearch.journal.lines import SLOT, decode_head
from tests.durable.crashes.layer import Operation
from tests.durable.crashes.power import applied, parts_of

Moment = Literal["before", "amid", "after"]
End = Literal["kill", "power", "full", "broken"]

MOMENTS: tuple[Moment, ...] = ("before", "amid", "after")
"""When, relative to an operation, it fails."""
ENDS: tuple[End, ...] = ("kill", "power", "full", "broken")
"""What happens: the process ends; the machine ends; one operation fails; all operations fail from then on."""


class Crash(BaseException):
    """The process ends here. Nothing that handles errors may catch it."""


class Fault(NamedTuple):
    """A failure that is to come."""

    after: int
    """Number of operations on the file that succeed before."""
    moment: Moment
    """Whether the operation is not begun, half done or done when it fails."""
    end: End
    """What happens then."""
    kept: tuple[int, int, int]
    """Power cut: which part of each operation since the last sync is on the disk, by number, in turns."""


class Disk:
    """Watches every operation of one journal (see :func:`tests.durable.crashes.layer.watched`)."""

    def __init__(self) -> None:
        self._fault: Fault | None = None
        self._left = 0
        self._state: Literal["works", "broken", "dead"] = "works"
        self._synced, self._since = b"", list[Operation]()
        self.fired: Fault | None = None
        """The fault that has happened since the journal was opened."""
        self.operations_since = 0
        """Number of operations that were tried after the fault."""
        self._fired_at = ""  # "write", "sync" or "truncate"

    def arm(self, fault: Fault) -> None:
        """Let a fault happen later."""
        self._fault, self._left = fault, fault.after

    def restart(self, path: Path, figures: Counter[str]) -> None:
        """Let the file be what the disk holds for the next process, and count the fault that has happened."""
        if self.fired is not None:
            figures[f"faults: {self.fired.end} at a {self._fired_at}"] += 1
        if self.fired is not None and self.fired.end == "power":
            content = self._content_after_power_cut(self.fired.kept)
            if not content.strip(b"\0") and decode_head(self._synced[:SLOT]) is None:
                content = b""  # zeros before the journal began: the user must remove them
            path.write_bytes(content)
        self._synced, self._since, self._state, self.fired = path.read_bytes(), [], "works", None

    def __call__(self, operation: Operation, carry_out: Callable[[bytes], None]) -> None:
        """Carry out an operation, or fail."""
        self.operations_since += 1
        if self._state == "dead":
            raise Crash
        if self._state == "broken":
            raise OSError(errno.EIO, "the disk is broken")
        if self._fault is None or self._left > 0:
            self._left -= 1
            self._carry_out(operation, carry_out, operation.data)
            return
        self._fail(self._fault, operation, carry_out)

    def _carry_out(self, operation: Operation, carry_out: Callable[[bytes], None], data: bytes) -> None:
        carry_out(data)
        self._since.append(operation._replace(data=data))
        if operation.kind == "sync":
            for one in self._since:
                self._synced = applied(self._synced, one, one.data) if one.kind != "sync" else self._synced
            self._since = []

    def _fail(self, fault: Fault, operation: Operation, carry_out: Callable[[bytes], None]) -> None:
        self._fault, self.fired, self._fired_at = None, fault, operation.kind
        self.operations_since = 0
        if fault.moment == "after":
            self._carry_out(operation, carry_out, operation.data)
        elif fault.moment == "amid" and operation.kind == "write":
            self._carry_out(operation, carry_out, operation.data[: len(operation.data) // 2])
        if fault.end in ("kill", "power"):
            self._state = "dead"
            raise Crash
        self._state = "broken" if fault.end == "broken" else "works"
        raise OSError(errno.ENOSPC, "no space is left on the disk")

    def _content_after_power_cut(self, kept: tuple[int, int, int]) -> bytes:
        """What the disk holds if of each operation since the last sync only a part is there."""
        content = self._synced
        for operation, number in zip(self._since, cycle(kept), strict=False):
            parts = list(parts_of(operation))
            part = parts[number % len(parts)]
            if part is not None:
                content = applied(content, operation, part)
        return content
