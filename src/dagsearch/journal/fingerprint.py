"""What identifies a search in its journal, so that only an equal search continues it."""

import hashlib
import json
import logging
import platform
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dagsearch.errors import JournalError
from dagsearch.journal.encoding import StateCodec, known_states, leaf_form
from dagsearch.problem import has_costly_steps
from dagsearch.space import Space
from dagsearch.space.walks import Walk, shape_rng

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# Number of random paths by which problems are compared.
_WALKS = 8
# Number of random leaves by which covariances are compared.
_LEAVES = 6
# A digest within a text.
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b")


def settings_of(search: "Search", made_by: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The first event of a journal: what must be equal in a search that continues it."""
    from dagsearch import __version__

    arguments = {name: _without_numpy(value) for name, value in arguments.items()}
    return {
        "dagsearch": __version__,
        "versions": versions(),
        "problem": fingerprint(search.space),
        "made_by": made_by,
        "arguments": {name: value for name, value in arguments.items() if _is_plain(value)},
        "given": sorted(name for name, value in arguments.items() if not _is_plain(value)),
        "parts": parts_of(search),
        "covariance": covariance_of(search),
        "seed": search.seed,
        "leaves": leaf_form(search.problem),
    }


def versions() -> dict[str, str]:
    """Versions and machine, on which the last digits of computed numbers depend."""
    return {"numpy": np.__version__, "scipy": scipy.__version__, "machine": platform.machine()}


def _without_numpy(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    """Whether a journal can hold an argument."""
    if isinstance(value, (tuple, list)):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, (bool, int, float, str))


def fingerprint(space: Space) -> dict[str, Any]:
    """What distinguishes a problem: its type, its own identity if it has one, and a digest of some states."""
    codec, problem, seen = StateCodec(space), space.problem, list[Any]()
    for leaf, actions in () if has_costly_steps(problem) else _walks(space):
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


def _walks(space: Space) -> list[Walk]:
    """Walks by which problems and covariances are compared; the same in every process."""
    rng = shape_rng()
    return [space.walk(space.problem.root(), rng) for _ in range(_WALKS)]


def covariance_of(search: "Search") -> list[list[float]]:
    """The covariance of a few random leaves: two covariances of the same type may differ in their numbers."""
    if has_costly_steps(search.problem) or (covariance := search.index.scores.covariance) is None:
        return []
    matrix: list[list[float]] = covariance([leaf for leaf, _ in _walks(search.space)[:_LEAVES]]).tolist()
    return matrix


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
    return {name: without_addresses(text) for name, text in words.items()}


def without_addresses(text: str) -> str:
    """A ``repr`` without memory addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def check_same_problem(settings: Mapping[str, Any], space: Space, path: Any) -> None:
    """Raise unless a problem is that of the search that began the journal."""
    _check_equal("problem", settings["problem"], fingerprint(space), path)
    minimized = bool(settings["leaves"].get("minimize"))
    if minimized != leaf_form(space.problem)["minimize"]:
        way = "minimise" if minimized else "maximise"
        raise JournalError(
            f"{path} is the journal of a function that is {way}d: continue it by ds.{way.replace('s', 'z')}, "
            f"or with FunctionProblem(function, minimize={minimized}). The file was not changed"
        )


def _check_equal(what: str, then: Mapping[str, Any], now: Mapping[str, Any], path: Any) -> None:
    changed = [name for name in now if then.get(name) != now[name]]
    if changed:
        details = _difference(changed[0], then.get(changed[0]), now[changed[0]])
        raise JournalError(
            f"{path} is the journal of another {what} ({details}). Resume it with the same {what}. "
            "The file was not changed"
        )


def check_same(settings: Mapping[str, Any], search: "Search", path: Any) -> None:
    """Raise unless a search is composed like the one that began the journal."""
    check_same_problem(settings, search.space, path)
    _check_equal("search", settings["parts"], parts_of(search), path)
    if not _is_close(settings["covariance"], covariance_of(search)):
        raise JournalError(
            f"{path} is the journal of a search with another covariance. Resume it with the same one. "
            "The file was not changed"
        )
    if settings["versions"] != versions():
        logger.warning(
            "%s was written with %s, this is %s: the last digits of beliefs may differ, and so may, "
            "eventually, the leaves that are asked for",
            path,
            settings["versions"],
            versions(),
        )


def _difference(name: str, then: Any, now: Any) -> str:
    """What differs, in words; digests say nothing to a reader."""
    if name == "states":
        return "its states, actions or leaves differ"
    words = [_DIGEST.sub("", str(one or "")).strip() for one in (then, now)]
    if words[0] == words[1]:
        return "its choices or its data differ"
    return f"its {name} was {words[0] or 'not stated'}, and is {words[1] or 'not stated'}"


def _is_close(then: Any, now: list[list[float]]) -> bool:
    try:
        return np.shape(then) == np.shape(now) and np.allclose(then, now, rtol=1e-6, atol=1e-9)
    except (TypeError, ValueError):  # not a matrix of numbers
        return False
