"""What identifies a search in its run, so that only an equal search continues it."""

import hashlib
import json
import logging
import platform
import re
from collections.abc import Mapping
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

# Number of random paths by which problems are compared.
_WALKS = 8
# A digest within a text.
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b")


def settings_of(search: "Search", made_by: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """How a search is composed: what must be equal in a search that continues its run."""
    arguments = {name: _without_numpy(value) for name, value in arguments.items()}
    return {
        "versions": versions(),
        "made_by": made_by,
        "arguments": {name: value for name, value in arguments.items() if _is_plain(value)},
        "given": sorted(name for name, value in arguments.items() if not _is_plain(value)),
        "parts": parts_of(search),
        "seed": search.seed,
        "leaves": leaf_form(search.problem),
    }


def versions() -> dict[str, str]:
    """Versions and machine, on which the last digits of computed numbers depend."""
    return {"numpy": np.__version__, "scipy": scipy.__version__, "machine": platform.machine()}


def _without_numpy(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    """Whether an argument can be stored."""
    if isinstance(value, (tuple, list)):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, (bool, int, float, str))


def fingerprint(space: Space) -> dict[str, Any]:
    """What distinguishes a problem: its type, its own identity if it has one, and a digest of some states."""
    codec, problem, seen = StateCodec(space), space.problem, list[Any]()
    rng = shape_rng()  # the same in every process
    for _ in range(0 if has_costly_steps(problem) else _WALKS):
        leaf, actions = space.walk(problem.root(), rng)
        state = problem.root()
        for action in actions:
            seen.append([codec.encode(state), len(problem.actions(state)), space.player(state)])
            state = problem.step(state, action)
        seen.append(codec.encode(leaf))
    if has_costly_steps(problem):  # of which only the root is known
        seen.append(codec.encode(known_states(space)[0]))
    identity = space.identity
    return {
        "type": type(space.problem).__name__,
        "identity": None if identity is None else str(identity()) or None,
        "states": hashlib.sha256(json.dumps(seen).encode()).hexdigest(),
    }


def parts_of(search: "Search") -> dict[str, str]:
    """The composition as text, without memory addresses, which differ between processes."""
    if has_costly_steps(search.problem):
        return {}
    scores = search.index.scores
    described: dict[str, Any] = {"repeats": search.repeats, "evidence": search.posterior.evidence}
    descent = search.portfolio.descent
    if descent is not None:
        described |= {"policy": descent.policy, "rollout": descent.rollout, "expansion": descent.expansion}
        described["backup"] = search.values.backup
    if descent is None or len(search.portfolio.proposers) > 1:
        described["proposers"] = search.portfolio
    words = {name: repr(part) for name, part in described.items()}
    noise = getattr(scores, "noise", None)
    words["scores"] = f"{type(scores).__name__}({scores.covariance!r}, {noise!r})"
    if scores.covariance is not None:  # whose text may not show all of its numbers
        numbers = [f"{parameter.value:.6g}" for parameter in scores.covariance.hyperparameters]
        words["hyperparameters of the covariance"] = ", ".join(numbers)
    return {name: without_addresses(text) for name, text in words.items()}


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
    changed = [name for name in now if name in then and then[name] != now[name]]
    if changed:
        details = _difference(changed[0], then.get(changed[0]), now[changed[0]])
        raise StorageError(
            f"{where} is the run of another {what} ({details}). Continue it with the same {what}. It was not "
            "changed"
        )


def _difference(name: str, then: Any, now: Any) -> str:
    """What differs, in words; digests say nothing to a reader."""
    if name == "states":
        return "its states, actions or leaves differ"
    words = [_DIGEST.sub("", str(one or "")).strip() for one in (then, now)]
    if words[0] == words[1]:
        return "its choices or its data differ"
    return f"its {name} was {words[0] or 'not stated'}, and is {words[1] or 'not stated'}"
