"""Beginning a run, or continuing one: a search is attached to a run, and repeats its events."""

from collections.abc import Callable, Mapping
from contextlib import closing
from os import PathLike
from typing import TYPE_CHECKING, Any

from dagsearch._internal.threads import one_thread
from dagsearch.errors import StorageError
from dagsearch.problem import Problem, has_costly_steps
from dagsearch.storage.database import database_of
from dagsearch.storage.fingerprint import check_same, fingerprint, plain_arguments, settings_of
from dagsearch.storage.log import RunLog

if TYPE_CHECKING:
    from dagsearch.search import Search

Storage = str | PathLike[str]
"""A path, or a URL ``postgresql://…``."""


@one_thread()  # as in the run itself
def attach(
    search: "Search", storage: Storage | None, name: str | None, made_by: str, arguments: Mapping[str, Any]
) -> None:
    """Log a new search in a run; if the run exists, the search joins it. Does nothing without storage.

    Parameters
    ----------
    search : Search
        A new search.
    storage : path or URL, optional
        The database.
    name : str, optional
        The run's name; by default the database has one run.
    made_by : str
        Name of the constructor that made the search.
    arguments : mapping
        Arguments of the constructor, without the problem, the seed and the storage.
    """
    from dagsearch import __version__

    if storage is None:
        if name is not None:
            raise ValueError("name= picks a run of a database: give storage=, too")
        return
    settings, problem = settings_of(search, made_by, arguments), fingerprint(search.space)
    database = database_of(storage, write=True)
    try:
        header = database.begin(name, __version__, problem, settings)
        check_same(header, search, database.where)
        search.seed = header.settings["seed"]
        log = RunLog(search, database, header)
        search.log_with(log)
        log.catch_up()
    except BaseException:
        search.close()
        database.close()
        raise
    search.data.continue_clock()


def has_begun(storage: Storage, name: str | None = None) -> bool:
    """Whether storage has the run."""
    with closing(database_of(storage, write=True)) as database:
        return database.find(name) is not None


@one_thread()
def resume(
    kind: type["Search"], storage: Storage, problem: Problem, name: str | None, given: Mapping[str, Any]
) -> "Search":
    """The search of a run, composed as it was, after all events of the run."""
    with closing(database_of(storage)) as database:
        header = database.run(name)
    settings = header.settings
    makers: dict[str, Callable[..., Search]] = {kind.__name__: kind}
    if not has_costly_steps(problem):
        makers |= {"Search.paper": kind.paper, "Search.default": kind.default}
    if settings["made_by"] not in makers:
        raise StorageError(f"the run was begun by {settings['made_by']!r}, which is unknown here")
    known, plain = settings["arguments"], plain_arguments(given)
    if missing := sorted(set(settings["given"]) - set(given)):
        raise StorageError(
            f"the search was made with {', '.join(missing)}, which cannot be stored: pass the same to resume"
        )
    for argument in sorted(set(known) & set(given)):
        if argument not in plain or known[argument] != plain[argument]:
            raise StorageError(
                f"the search was made with {argument}={known[argument]!r}, not {given[argument]!r}: pass the "
                "same value to resume, or none"
            )
    arguments = {**known, **given, "seed": settings["seed"], "storage": storage, "name": header.name}
    try:
        return makers[settings["made_by"]](problem, **arguments)
    except TypeError as error:
        raise StorageError(
            f"the search was made by {settings['made_by']}(...): pass the same arguments to resume ({error})"
        ) from error
