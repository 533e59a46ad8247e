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
from dagsearch.journal.lines import LENGTH, decode_head
from tests.durable.crashes.layer import Operation, recorded
from tests.durable.crashes.workloads import Workload, told

_SECTOR = 512
# Number of operations since the last sync of which any may be on the disk without the others.
_COMBINED = 3


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
    """Number of events that were reported as safe: after each of them its head is written.

    A new journal is reported as safe when its first head, which is written last, is on the disk.
    """
    kinds = [(one.kind, one.position) for one in operations]
    if ("write", 0) not in kinds or "sync" not in (kind for kind, _ in kinds[kinds.index(("write", 0)) :]):
        return 0
    heads = (decode_head(one.data) for one in operations if one.kind == "write" and one.position < LENGTH)
    return max(head.events for head in heads if head is not None)


def contents(operations: Sequence[Operation]) -> Iterator[bytes]:
    """What the disk may hold after these operations."""
    synced = max((number + 1 for number, one in enumerate(operations) if one.kind == "sync"), default=0)
    disk = b""
    for operation in operations[:synced]:
        disk = applied(disk, operation, operation.data)
    since = operations[synced:]
    # A journal that waits for the disk has fewer; the number of combinations must stay small if it does not.
    for parts in product(*(parts_of(operation) for operation in since[:_COMBINED])):
        content = disk
        for operation, part in zip(since, parts, strict=False):
            if part is not None:
                content = applied(content, operation, part)
        yield content


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
