"""A journal in which a byte was changed, or that was cut off."""

from collections import Counter
from pathlib import Path

from dagsearch.errors import JournalError
from dagsearch.journal.journal import has_begun, read_events
from dagsearch.journal.lines import Event
from tests.durable.crashes.workloads import Workload


def sweep(workload: Workload, folder: Path, every: int) -> Counter[str]:
    """Change one of ``every`` bytes, cut the file off there, and count where events are lost in silence."""
    journal, image = folder / "damage.db", folder / "damaged.db"
    workload.run(journal, folder / "damage.log")
    content, events, found = journal.read_bytes(), read_events(journal), Counter[str]()
    for position in range(0, len(content), every):
        other = bytes([content[position] ^ 1])
        image.write_bytes(content[:position] + other + content[position + 1 :])
        found["damage: changed bytes"] += 1
        found["damage: changes that lose events in silence"] += int(_loses(image, events))
        if position > 0:  # an empty file is the same as a new one
            image.write_bytes(content[:position])
            found["damage: truncations"] += 1
            found["damage: truncations that lose events in silence"] += int(_loses(image, events))
    return found


def _loses(journal: Path, events: list[Event]) -> bool:
    """Whether a search would begin anew, or continue from other events, without an error."""
    if not has_begun(journal):
        return True
    try:
        return read_events(journal) != events
    except JournalError:
        return False
