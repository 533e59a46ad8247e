"""What tests of journals compare, cut and replay."""

import json

from dagsearch.journal.journal import read_events
from dagsearch.journal.lines import LENGTH, Head, encode_event
from dagsearch.journal.resume import Replay, start_journal


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


def kept(search, path):
    """A search that keeps a journal, though its maker takes none."""
    start_journal(search, path, "Search", {})
    return search


def replayed(make, path):
    """A new search that a journal was replayed to."""
    search = make()
    Replay(search, read_events(path)[1:]).run()
    return search


def cut_off(journal, events, copy):
    """A copy of the file as it was after a number of events."""
    return rewritten(journal, lambda kept: kept[:events], copy)


def rewritten(journal, change, copy):
    """A copy with other events, as if they had been written: each is given as [kind, time, content]."""
    events = change([[event.kind, event.at, event.content] for event in read_events(journal)])
    return written(copy, [(kind, at, json.dumps(content)) for kind, at, content in events])


def written(path, events):
    """A file with events, each given by its kind, time and content as JSON; they are not checked."""
    lines, digest = [], ""
    for number, event in enumerate(events):
        line, digest = encode_event(digest, number, *event)
        lines.append(line)
    data = b"".join(lines)
    path.write_bytes(2 * Head(len(lines), LENGTH + len(data), digest).encode() + data)
    return path
