"""Beginning a run, or continuing one: a search is attached to a run, and repeats its events.

A run stores the composition of its search as JSON. Only an equal search continues it.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch.errors import StorageError
from dagsearch.problem import Problem, has_costly_steps
from dagsearch.storage.database import Header, database_of
from dagsearch.storage.encoding import StateCodec, leaf_form
from dagsearch.storage.log import RunLog

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

Storage = str | PathLike[str]
"""A path, or a URL ``postgresql://…``."""


def attach(
    search: "Search", storage: Storage | None, name: str | None, made_by: str, arguments: Mapping[str, Any]
) -> None:
    """Log a new search in a run; if the run exists, the search joins it. Does nothing without storage.

    ``made_by`` names the constructor that made the search, and ``arguments`` are its own, without the
    problem, the seed and the storage.
    """
    from dagsearch import __version__

    if storage is None:
        if name is not None:
            raise ValueError("name= selects a run of a database: give storage=, too")
        return
    space, codec = search.space, StateCodec(search.space)
    problem = {
        "type": type(space.problem).__name__,
        "identity": None if space.identity is None else str(space.identity()) or None,
        "leaves": codec.digest,
    }
    settings = {
        "made_by": made_by,
        "arguments": _plain(arguments),
        "parts": _parts_of(search),
        "leaves": leaf_form(space),
        "seed": search.seed,
    }
    now, database = Header("", 0.0, __version__, problem, settings), database_of(storage, write=True)
    try:
        header = database.begin(name, now)
        _check_same(header, now, database.where)
        search.seed = header.settings["seed"]
        log = RunLog(search, database, header.name, codec)
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


def resume(
    kind: type["Search"], storage: Storage, problem: Problem, name: str | None, given: Mapping[str, Any]
) -> "Search":
    """The search of a run, composed as it was, after all events of the run."""
    with closing(database_of(storage)) as database:
        header = database.run(name)
    made_by, known = header.settings["made_by"], header.settings["arguments"]
    makers: dict[str, Callable[..., Search]] = {kind.__name__: kind}
    if not has_costly_steps(problem):
        makers |= {"Search.paper": kind.paper, "Search.default": kind.default}
    if made_by not in makers:
        raise StorageError(f"the run was begun by {made_by!r}, which is unknown here")
    arguments = {**known, **given, "seed": header.settings["seed"], "storage": storage, "name": header.name}
    try:
        return makers[made_by](problem, **arguments)
    except TypeError as error:
        raise StorageError(
            f"the search was made by {made_by}(...): pass the same arguments to resume ({error})"
        ) from error


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that JSON can hold, as it holds them; NumPy's numbers are plain ones."""
    found = dict[str, Any]()
    for name, value in arguments.items():
        with suppress(TypeError, ValueError):
            found[name] = json.loads(json.dumps(value, default=np.generic.item))
    return found


def _parts_of(search: "Search") -> dict[str, str]:
    """The composition as text, without memory addresses, which differ between processes."""
    if has_costly_steps(search.problem):
        return {}
    scores, covariance = search.index.scores, search.index.scores.covariance
    learnable = () if covariance is None else covariance.hyperparameters
    parts = {
        "repeats": search.repeats,
        "evidence": search.posterior.evidence,
        "proposers": search.portfolio,
        "backup": None if search.explored is None else search.values.backup,
        "model": [type(scores).__name__, covariance, getattr(scores, "noise", None)],
        # The text of a covariance may not show all of its numbers.
        "hyperparameters": [f"{one.value:.6g}" for one in learnable],
    }
    return {name: without_addresses(repr(part)) for name, part in parts.items()}


def without_addresses(text: str) -> str:
    """A ``repr`` without memory addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _check_same(then: Header, now: Header, where: str) -> None:
    """Raise unless a search is the one that began a run, by a version that is not of a later series."""
    begun, this = (int(one.version.partition(".")[0]) for one in (then, now))
    if begun > this:
        raise StorageError(
            f"{where} was written by dagsearch {then.version}, this is {now.version}: continue it with that "
            "version, or export its rewards with 'dagsearch export'"
        )
    before, after = then.settings, now.settings
    if before["leaves"]["minimize"] != (minimize := after["leaves"]["minimize"]):
        maker = "maximize" if minimize else "minimize"
        raise StorageError(f"{where}: continue it by ds.{maker}, as it was begun")
    compared = [("problem", then.problem, now.problem), ("search", before["arguments"], after["arguments"])]
    if then.version == now.version:  # other versions may describe parts differently
        compared.append(("search", before["parts"], after["parts"]))
    else:
        logger.warning(
            "%s was begun with dagsearch %s, this is %s: the last digits of beliefs may differ, and "
            "eventually the proposals, too",
            *(where, then.version, now.version),
        )
    for what, begun_with, given in compared:
        for name, value in given.items():
            if begun_with.get(name, value) != value:
                both = begun_with[name], value
                was, found = (re.sub(r"\b[0-9a-f]{16,}\b", "", str(one)).strip() for one in both)
                differs = f"its {name} was {was}, and is {found}"
                if was == found:  # digests say nothing to a reader
                    differs = "its choices or its data differ"
                raise StorageError(
                    f"{where} is the run of another {what} ({differs}). Continue it with the same {what}, "
                    "made with the same arguments, or begin a new run in another file or under another "
                    "name=. It was not changed"
                )
