"""What tests of stored runs read, compare and cut."""

from dagsearch.storage.database import database_of


def events_of(storage):
    """All events of a run, in order."""
    database = database_of(storage)
    try:
        return list(database.events(database.run().name))
    finally:
        database.close()


def history(search):
    """What was told, without the seconds."""
    return [(e.leaf, e.actions, e.reward, e.best_reward) for e in search.history]


def state(search):
    """All that decides what happens next."""
    index, count, arrays = search.index, len(search.index.states), [search.index.table.closed]
    if search.explored is not None:
        graph = search.explored.graph
        arrays += [graph.level, graph.visits, graph.count, graph.v_mean, graph.v_var]
    return [
        *[array[:count].tolist() for array in arrays],
        index.scores.mean.tolist(),
        index.scores.variance.tolist(),
        index.states,
        search.pending,
        search.asked,
    ]


def cut_off(storage, count, copy):
    """A copy of a run as it was after a number of events."""
    database, fresh = database_of(storage), database_of(copy, write=True)
    fresh.restore(database.run(), [tuple(event) for event in events_of(storage)[:count]])
    database.close()
    fresh.close()
    return copy
