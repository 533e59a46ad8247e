"""Every content that the disk may have when the power is cut.

What was written before the last ``sync`` is on the disk. Of what was written since, any part may be: all,
nothing, only the length, some sectors; later writes without earlier ones.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from dagsearch.errors import JournalError
from dagsearch.journal.journal import has_begun, read_events
from dagsearch.journal.lines import decode_head
from tests.durable.crashes.layer import Operation, recorded
from tests.durable.crashes.workloads import Workload, told

_SECTOR = 512
# Number of operations since the last sync of which all parts are combined.
_COMBINED = 3
# Number of operations since the last sync, the last ones, of which any may be there without the others.
_LAST = 8


def sweep(workload: Workload, folder: Path, every: int) -> Counter[str]:
    """Cut the power after one of ``every`` operations, and check every content that the disk may have."""
    whole = folder / "power.db"
    operations = recorded(lambda: workload.run(whole, folder / "power.log"))
    events, found = read_events(whole), Counter[str]()
    prefixes: dict[int, bytes] = {}
    image = folder / "image.db"
    for number in range(0, len(operations), every):
        confirmed = _confirmed(operations[: number + 1])
        for content in set(contents(operations[: number + 1])):
            image.write_bytes(content)
            found["power cuts: contents"] += 1
            if not confirmed and not has_begun(image):
                continue
            if not confirmed and not content.strip(b"\0"):
                # It may be somebody else's file: the user must delete it. No search had begun.
                found["power cuts: files of zeros before a search began"] += 1
                continue
            try:
                left = read_events(image)
            except JournalError:
                left = []
            found["power cuts: journals refused"] += int(not left)
            if not left:
                continue
            prefixes[len(left)] = content
            found["power cuts: events lost"] += max(0, confirmed - len(left))
            found["power cuts: events that differ"] += int(left != events[: len(left)])
    expected = told(whole)
    for count, content in prefixes.items():
        journal = folder / f"power-{count}.db"
        journal.write_bytes(content)
        workload.run(journal, folder / "power-again.log")
        found["power cuts: histories that differ"] += int(told(journal) != expected)
    return found


def _confirmed(operations: Sequence[Operation]) -> int:
    """Number of events that were reported as safe: after each of them, except asks, its head is written.

    A new journal is reported as safe when its first head, which is written last, is on the disk.
    """
    heads = [(one, decode_head(one.data)) for one in operations if one.kind == "write"]
    first = next((one for one, head in heads if head is not None and one.position == 0), None)
    if first is None or "sync" not in (one.kind for one in operations[operations.index(first) :]):
        return 0
    return max(head.events for _, head in heads if head is not None)


def contents(operations: Sequence[Operation]) -> Iterator[bytes]:
    """What the disk may hold after these operations."""
    synced = max((number + 1 for number, one in enumerate(operations) if one.kind == "sync"), default=0)
    disk = b""
    for operation in operations[:synced]:
        disk = applied(disk, operation, operation.data)
    since = operations[synced:]
    for parts in _combinations(since):
        content = disk
        for operation, part in zip(since, parts, strict=True):
            if part is not None:
                content = applied(content, operation, part)
        yield content


def _combinations(since: Sequence[Operation]) -> Iterator[Sequence[bytes | None]]:
    """Parts of each operation that may be on the disk, for all operations since the last sync.

    All combinations of parts if there are few operations. Otherwise each of the last ones is on the disk or
    not; and any part of one operation goes with all of the others, and with none of them.
    """
    if len(since) <= _COMBINED:
        yield from product(*(parts_of(operation) for operation in since))
        return
    for last in product((True, False), repeat=min(len(since), _LAST)):
        there = [True] * (len(since) - len(last)) + list(last)
        yield [operation.data if kept else None for operation, kept in zip(since, there, strict=True)]
    for number, operation in enumerate(since):
        for part in parts_of(operation):
            yield [part if i == number else one.data for i, one in enumerate(since)]
            yield [part if i == number else None for i, one in enumerate(since)]


def applied(content: bytes, operation: Operation, data: bytes) -> bytes:
    """The content after an operation of which only ``data`` is carried out."""
    position = operation.position
    if operation.kind == "truncate":
        return content[:position].ljust(position, b"\0")
    content = content.ljust(position, b"\0")
    return content[:position] + data + content[position + len(data) :]


def parts_of(operation: Operation) -> Iterator[bytes | None]:
    """What may be on the disk of an operation; sectors that are not are zero, or what they were before."""
    yield None
    yield operation.data
    if operation.kind != "write":
        return
    yield operation.data[: len(operation.data) // 2]
    yield b"\0" * len(operation.data)
    first = _SECTOR - operation.position % _SECTOR
    for end in range(first, len(operation.data), _SECTOR):
        yield operation.data[:end]
        yield operation.data[:end].ljust(len(operation.data), b"\0")
        yield b"\0" * end + operation.data[end:]
