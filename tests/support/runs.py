"""What tests of stored runs read, copy, cut and compare."""

import json
from contextlib import closing

from dagsearch.storage.database import database_of, exported, imported
from dagsearch.storage.log import attach
from dagsearch.storage.record import Record


def events(storage, *kinds, name=None):
    """The events of a run, or those of some kinds."""
    with closing(database_of(storage)) as database:
        found = list(database.events(database.run(name).name))
    return [event for event in found if not kinds or event.kind in kinds]


def record(storage, name=None, kind=Record):
    """What a reader of a run knows."""
    with closing(database_of(storage)) as database:
        return kind.of(database, database.run(name))


def lines_of(storage, name=None):
    """A run as it is exported."""
    with closing(database_of(storage)) as database:
        return list(exported(database, database.run(name)))


def restored(lines, copy, name=None):
    """Storage with an exported run."""
    imported(copy, lines, name)
    return copy


def cut_off(storage, count, copy):
    """A copy of a run as it was after a number of events, as if its process had died; all if ``None``."""
    lines = lines_of(storage)
    return restored(lines if count is None else lines[: count + 1], copy)


def rewritten(storage, change, copy):
    """A copy with other events, or another header, as if it had been written so."""
    rows = [json.loads(line) for line in lines_of(storage)]
    rows[0]["run"]["settings"].pop("digest", None)
    change(rows)
    for number, row in enumerate(rows[1:], start=1):
        row["number"] = number
    return restored(map(json.dumps, rows), copy)


def logged(search, storage):
    """A search with storage, though its maker takes none."""
    attach(search, storage, None, "Search", {})
    return search


def history(search):
    """What was told, without the seconds."""
    return [(e.leaf, e.actions, e.reward, e.best_reward) for e in search.history]


def knowledge(search):
    """All that decides what a search of leaves does next, to the last bit; looking changes nothing."""
    search.belief(search.problem.root())  # pending leaves are left out of the belief
    index = search.index
    arrays = [index.table.closed]
    if search.explored is not None:
        search.explored.outdated()  # as before the next decision: new leaves may prove values
        graph = search.values.graph
        arrays += [graph.level, graph.visits, graph.count, graph.v_mean, graph.v_var]
    index.scores.refresh()
    arrays += index.scores.moments()
    return [
        history(search),
        list(search.pending),
        index.states,
        *(array[: len(index.states)].tolist() for array in arrays),
        search.turn,
        tuple(search.posterior.units),
        search.asked,
        search.spent,
    ]
