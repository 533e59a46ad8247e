"""A journal in which a byte was changed, that was cut off, or of which a part is zeros."""

from collections import Counter
from pathlib import Path

from dagsearch.errors import JournalError
from dagsearch.journal.journal import has_begun, read_events
from dagsearch.journal.lines import Event
from tests.durable.crashes.workloads import Workload


def sweep(workload: Workload, folder: Path, every: int) -> Counter[str]:
    """Change one of ``every`` bytes, cut the file off there, or let zeros take the place of what is before or
    behind, and count where events are lost in silence."""
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
        if position // every % 8:  # zeros come in sectors, so that a part of the places will do
            continue
        zeros = bytes(position + 1), bytes(len(content) - position)
        for zeroed in (zeros[0] + content[position + 1 :], content[:position] + zeros[1], zeros[0]):
            image.write_bytes(zeroed)
            found["damage: parts of zeros"] += 1
            found["damage: zeros that lose events in silence"] += int(_loses(image, events))
    return found


def _loses(journal: Path, events: list[Event]) -> bool:
    """Whether a search would begin anew, or continue from other events, without an error."""
    if not has_begun(journal):
        return True
    try:
        return read_events(journal) != events
    except JournalError:
        return False
