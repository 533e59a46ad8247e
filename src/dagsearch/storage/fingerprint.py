"""What identifies a search in its run, so that only an equal search continues it."""

import hashlib
import json
import logging
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dagsearch.errors import StorageError
from dagsearch.problem import has_costly_steps, is_minimized
from dagsearch.space import Space
from dagsearch.space.walks import shape_rng
from dagsearch.storage.database import Header
from dagsearch.storage.encoding import StateCodec, known_states, leaf_form

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# A digest within a text.
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b")

# Number of random leaves by which problems are compared.
_LEAVES = 8


def settings_of(search: "Search", made_by: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """How a search is composed: what must be equal in a search that continues its run."""
    stored = plain_arguments(arguments)
    return {
        "versions": versions(),
        "made_by": made_by,
        "arguments": stored,
        "given": sorted(arguments.keys() - stored.keys()),
        "parts": parts_of(search),
        "seed": search.seed,
        "leaves": leaf_form(search.problem),
    }


def versions() -> dict[str, str]:
    """Versions and machine, on which the last digits of computed numbers depend."""
    return {"numpy": np.__version__, "scipy": scipy.__version__, "machine": platform.machine()}


def plain_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that JSON can hold, as it holds them; NumPy's numbers are plain ones."""
    found = dict[str, Any]()
    for name, value in arguments.items():
        with suppress(TypeError, ValueError):
            found[name] = json.loads(json.dumps(value, default=np.generic.item))
    return found


def fingerprint(space: Space) -> dict[str, Any]:
    """What distinguishes a problem: its type, its own identity if it has one, and a digest of some states."""
    codec, problem, rng = StateCodec(space), space.problem, shape_rng()  # the same in every process
    states = known_states(space)[:1]
    if not has_costly_steps(problem):
        states += [space.walk(problem.root(), rng)[0] for _ in range(_LEAVES)]
    encoded = json.dumps([codec.encode(state) for state in states])
    return {
        "type": type(problem).__name__,
        "identity": None if space.identity is None else str(space.identity()) or None,
        "leaves": hashlib.sha256(encoded.encode()).hexdigest(),
    }


def parts_of(search: "Search") -> dict[str, str]:
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


def check_same(header: Header, search: "Search", where: str) -> None:
    """Raise unless a search is composed like the one that began a run, by this or an earlier 1.x version."""
    from dagsearch import __version__

    if header.version.partition(".")[0] != __version__.partition(".")[0]:
        raise StorageError(
            f"{where} was written by dagsearch {header.version}, this is {__version__}: continue it with "
            "that version, or take its rewards over by 'dagsearch export'"
        )
    settings = header.settings
    _check_equal("problem", header.problem, fingerprint(search.space), where)
    minimized = bool(settings["leaves"].get("minimize"))
    if minimized != is_minimized(search.problem):
        way = "minimis" if minimized else "maximis"
        raise StorageError(
            f"{where} is the run of a reward that is {way}ed: continue it by ds.{way[:-1]}ze. It was not "
            "changed"
        )
    if header.version == __version__:  # parts of another version may describe themselves in other words
        _check_equal("search", settings["parts"], parts_of(search), where)
    if (header.version, settings["versions"]) != (__version__, versions()):
        logger.warning(
            "%s was begun with dagsearch %s and %s, this is %s and %s: the last digits of beliefs may "
            "differ, and so may, eventually, the leaves that are asked for",
            *(where, header.version, settings["versions"], __version__, versions()),
        )


def _check_equal(what: str, then: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    for name in now:
        if name in then and then[name] != now[name]:
            was, found = (_DIGEST.sub("", str(one or "")).strip() for one in (then[name], now[name]))
            details = f"its {name} was {was or 'not stated'}, and is {found or 'not stated'}"
            if was == found:  # digests say nothing to a reader
                details = "its choices or its data differ"
            raise StorageError(
                f"{where} is the run of another {what} ({details}). Continue it with the same {what}. It was "
                "not changed"
            )
