"""Export and import of runs as lines of JSON."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from os import PathLike

from dagsearch.errors import StorageError
from dagsearch.storage.database import Database, Event, Header, database_of


def exported(database: Database, header: Header) -> Iterator[str]:
    """A run, one line for its header and one for each event; every event is checked."""
    yield json.dumps({"run": header._asdict()})
    for event in database.events(header.name):
        yield json.dumps(event._asdict())


def imported(
    storage: str | PathLike[str], lines: Iterable[str], name: str | None = None
) -> tuple[Header, int, str]:
    """Write exported lines to a new run, named as before or as ``name`` says.

    Returns the run, its number of events, and the name of its database. Nothing is written, and no database
    created, unless all lines are well-formed.
    """
    try:
        rows = [json.loads(line) for line in lines if line.strip()]
        header = Header(**rows[0]["run"])
        header.digest()
        events = [Event(**row) for row in rows[1:]]
        for number, event in enumerate(events, start=1):
            event.row(header.name)
            if event.number != number:
                raise ValueError("events are missing, or in another order")
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"this is not an exported run ({type(error).__name__}: {error})") from error
    header = header._replace(name=header.name if name is None else name)
    with closing(database_of(storage, write=True)) as database:
        database.restore(header, events)
    return header, len(events), database.where
