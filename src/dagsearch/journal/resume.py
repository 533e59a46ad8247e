"""Starting a journal, and resuming a search from one."""

import json
from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from dagsearch._internal.threads import one_thread
from dagsearch.errors import JournalError
from dagsearch.journal.fingerprint import check_same, generator_like, settings_of
from dagsearch.journal.journal import Journal
from dagsearch.journal.recorder import JournalRecorder
from dagsearch.journal.replay import Replay
from dagsearch.problem import Problem

if TYPE_CHECKING:
    from dagsearch.search import Search


def start_journal(
    search: "Search", path: str | PathLike[str] | None, made_by: str, arguments: Mapping[str, Any]
) -> None:
    """Record a new search in a new journal; does nothing without a path.

    Parameters
    ----------
    search : Search
        The search whose events are recorded from now on.
    path : path, optional
        The file, which must not exist yet.
    made_by : str
        Name of the constructor that made the search.
    arguments : mapping
        Arguments of the constructor, without the problem, the seed and the journal.
    """
    if path is not None:
        with one_thread():
            settings = settings_of(search, made_by, arguments)
        journal = Journal.create(path, settings)
        search.record_with(JournalRecorder(journal, search))


@one_thread()  # as in the run itself
def resume_search(
    kind: type["Search"], path: str | PathLike[str], problem: Problem, given: Mapping[str, Any]
) -> "Search":
    """The search that wrote a journal, as it was after the last event; it continues to write there."""
    journal, events = Journal.resume(path)
    try:
        search = recompose(kind, events[0].content, problem, given)
        check_same(events[0].content, search, path)
        replay = Replay(search, events[1:])
        replay.run()
        recorder = JournalRecorder(journal, search, events)
        if replay.unrecorded is not None:
            # Now, because only the event after a reward says what was learnt from it.
            recorder.learnt(*replay.unrecorded)
    except BaseException:
        journal.close()
        raise
    search.outstanding.offer(search.pending)
    search.outstanding.fruitless_runs = replay.fruitless_runs
    search.data.continue_clock()
    search.record_with(recorder)
    return search


def recompose(
    kind: type["Search"], settings: Mapping[str, Any], problem: Problem, given: Mapping[str, Any]
) -> "Search":
    """A new search with the composition that a journal's settings describe."""
    from dagsearch import __version__

    if settings["dagsearch"] != __version__:
        raise JournalError(
            f"the journal was written by dagsearch {settings['dagsearch']!r}, this is {__version__!r}: "
            "another version may decide differently. Install that version to continue"
        )
    makers: dict[str, Callable[..., Search]] = {
        "Search": kind,
        "Search.paper": kind.paper,
        "Search.default": kind.default,
    }
    known = settings["arguments"]
    missing = sorted(set(settings["given"]) - set(given))
    if missing:
        raise JournalError(
            f"the search was made with {', '.join(missing)}, which a journal cannot hold: pass the same "
            "to resume"
        )
    for name in sorted(set(known) & set(given)):
        if known[name] != json.loads(json.dumps(given[name], default=repr)):
            raise JournalError(
                f"the search was made with {name}={known[name]!r}, not {given[name]!r}: pass the same "
                "value to resume, or none"
            )
    arguments = {**known, **given, "seed": generator_like(settings["generators"][0])}
    if settings["made_by"] not in makers:
        raise JournalError(f"the journal was written by {settings['made_by']!r}, which is not known here")
    try:
        return makers[settings["made_by"]](problem, **arguments)
    except TypeError as error:
        raise JournalError(
            f"the search was made by {settings['made_by']}(...): pass the same arguments to resume ({error})"
        ) from error
