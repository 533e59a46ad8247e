"""A search out of its journal: the events again, in their order, without deciding anything anew.

What a search knows follows from what happened to it: which nodes a descent added, which leaf it asked for,
which reward came. An event holds just that, so that a replay needs neither descents nor roll-outs nor the
evidence, and ends with the very numbers of the search that wrote it.
"""

import hashlib
import json
import logging
import math
import platform
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dagsearch._internal.walks import random_leaves, random_walk, shape_rng, walked
from dagsearch.durable.encoding import StateCodec
from dagsearch.durable.journal import Event, JournalError
from dagsearch.problem import Problem, State, player_at
from dagsearch.results import Proposal

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# Paths of a problem that are walked to tell it from others.
_WALKS = 8
# Leaves by which covariances are compared.
_LEAVES = 6
_PARTS = ("policy", "rollout", "backup", "expansion", "refinements", "repeats")
# Parts whose names have changed since the first journals: then, now.
_RENAMED = {"Always()": "Eager()", "OnDemand(": "Lazy("}
# Beliefs that differ by more than this, relatively, are no rounding.
_ROUNDING = 1e-6


def settings_of(search: "Search", made_by: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for a journal to go on: the first event."""
    from dagsearch import __version__

    arguments = {name: _without_numpy(value) for name, value in arguments.items()}
    return {
        "dagsearch": __version__,
        "versions": versions(),
        "problem": fingerprint(search.problem),
        "made_by": made_by,
        "arguments": {name: value for name, value in arguments.items() if _is_plain(value)},
        "given": sorted(name for name, value in arguments.items() if not _is_plain(value)),
        "parts": parts_of(search),
        "covariance": covariance_of(search),
        "generators": generator_states(search),
    }


def versions() -> dict[str, str]:
    """On what the last digits of every number depend."""
    return {"numpy": np.__version__, "scipy": scipy.__version__, "machine": platform.machine()}


def _without_numpy(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    """Whether an argument can stand in a journal."""
    if isinstance(value, (tuple, list)):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, (bool, int, float, str))


def fingerprint(problem: Problem) -> dict[str, Any]:
    """What tells a problem from others: its name, its own identity if it has one, and some of its states."""
    codec, rng = StateCodec(problem), shape_rng()
    seen = []
    for _ in range(_WALKS):
        leaf, actions = random_walk(problem, problem.root(), rng)
        state = problem.root()
        for action in actions:
            seen.append([codec.encode(state), len(problem.actions(state)), player_at(problem, state)])
            state = problem.step(state, action)
        seen.append(codec.encode(leaf))
    identity = getattr(problem, "identity", None)
    return {
        "type": type(problem).__name__,
        "identity": None if identity is None else str(identity()),
        "states": hashlib.sha256(json.dumps(seen).encode()).hexdigest(),
    }


def covariance_of(search: "Search") -> list[list[float]]:
    """Between a few random leaves; covariances of one name may differ in their numbers."""
    covariance = search.explored.scores.covariance
    if covariance is None:
        return []
    matrix: list[list[float]] = covariance(random_leaves(search.problem)[:_LEAVES]).tolist()
    return matrix


def parts_of(search: "Search") -> dict[str, str]:
    """The composition in words, without what changes from process to process."""
    scores, evidence = search.explored.scores, search.evidence
    described = {name: repr(getattr(search, name)) for name in _PARTS}
    described["scores"] = (
        f"{type(scores).__name__}({scores.covariance!r}, {getattr(scores, 'noise', None)!r})"
    )
    described["evidence"] = repr(evidence)
    described["freshness"] = repr(search.refresh)
    return {name: without_addresses(text) for name, text in described.items()}


def without_addresses(text: str) -> str:
    """What ``repr`` says, but where in memory something is."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _as_named_now(described: Any) -> Any:
    """Parts in a journal from before their classes were renamed."""
    for old, new in _RENAMED.items():
        described = described.replace(old, new) if isinstance(described, str) else described
    return described


def check_same(settings: Mapping[str, Any], search: "Search", path: Any) -> None:
    """Raise unless a search made anew is the one that began the journal."""
    for what, then, now in (
        ("problem", settings["problem"], fingerprint(search.problem)),
        ("search", settings["parts"], parts_of(search)),
    ):
        changed = sorted(name for name in then if _as_named_now(then[name]) != now[name])
        if changed:
            details = "; ".join(f"{name}: {then[name]} then, {now[name]} now" for name in changed)
            raise JournalError(f"{path} is of another {what} ({details}). It was left as it is")
    if not np.allclose(settings["covariance"], covariance_of(search), rtol=1e-6, atol=1e-9):
        raise JournalError(f"{path} is of a search with another covariance. It was left as it is")
    if settings["versions"] != versions():
        logger.warning(
            "%s was begun with %s, this is %s: the last digits of beliefs may differ, and with them, in the "
            "end, what is asked for",
            path,
            settings["versions"],
            versions(),
        )


# Random numbers ---------------------------------------------------------------------------------


def _generators(search: "Search") -> list[np.random.Generator]:
    """The search's own, and those of parts that draw for themselves."""
    parts = [search.policy, search.rollout, search.backup, search.expansion, *search.refinements]
    held = [value for part in parts for value in getattr(part, "__dict__", {}).values()]
    return [search.rng, *(value for value in held if isinstance(value, np.random.Generator))]


def generator_states(search: "Search") -> list[Any]:
    """Where all generators stand."""
    return [
        json.loads(json.dumps(g.bit_generator.state, default=np.ndarray.tolist)) for g in _generators(search)
    ]


def set_generators(search: "Search", states: Sequence[Any]) -> None:
    """Let all generators stand where they stood."""
    for generator, state in zip(_generators(search), states, strict=True):
        generator.bit_generator.state = state


def generator_like(state: Mapping[str, Any]) -> np.random.Generator:
    """A generator of NumPy's own kinds, by name."""
    name = str(state["bit_generator"])
    if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        raise JournalError(f"the journal was written with a random generator {name!r} that is not NumPy's")
    generator = np.random.Generator(getattr(np.random, name)())
    generator.bit_generator.state = dict(state)
    return generator


# Events -------------------------------------------------------------------------------------------


class Replay:
    """Lets a fresh search go through what happened to another.

    Parameters
    ----------
    search : Search
        Composed as the other was, without a journal.
    events : sequence of Event
        Of the other, after its settings.
    """

    def __init__(self, search: "Search", events: Sequence[Event]) -> None:
        self._search, self._events = search, events
        self._codec = StateCodec(search.problem)
        self._farthest = 0.0  # distance of beliefs from what was recorded, relative

    def run(self) -> None:
        """Through all events."""
        search = self._search
        followers = (*self._events, None)[1:]
        # Values follow from all that is there; only what came after the last reward can be seen in them.
        tells = [number for number, event in enumerate(self._events) if event.kind == "tell"]
        shown_from = tells[-1] if tells else 0
        for number, (event, follower) in enumerate(zip(self._events, followers, strict=True)):
            search.fast_forward = number < shown_from
            try:
                self._repeat(event, follower)
            except JournalError:
                raise
            except Exception as error:
                raise JournalError(
                    f"event {event.number} ({event.kind}) cannot be repeated ({type(error).__name__}: "
                    f"{error}); the journal is of another problem, or of another version of it"
                ) from error
        if self._farthest > 0.0:
            logger.warning(
                "beliefs differ from the recorded ones by %.1g of their size: this machine computes "
                "otherwise than the one that wrote the journal. The search goes on, but may decide otherwise",
                self._farthest,
            )

    def _repeat(self, event: Event, follower: Event | None) -> None:
        search, content = self._search, event.content
        if event.kind == "ask":
            search.pretend_pending()
        for change in content.get("changes", ()):
            search.explored.repeat(change) if change[0] != "back up" else search.back_up([])
        if event.kind == "ask":
            self._ask(content)
        elif event.kind == "propose":
            leaf, actions = walked(search.problem, content["actions"])
            search.propose(leaf, actions)
        elif event.kind == "tell":
            search.release_pending()
            set_generators(search, content["generators"])
            learnt = follower.content if follower is not None and follower.kind == "learn" else None
            self._tell(content, learnt)
        elif event.kind == "forget":
            search.forget(search.pending[content["pending"]], again=content["again"])
        elif event.kind == "reroot":
            search.reroot(self._codec.decode(content["state"]))
        elif event.kind == "settle":
            set_generators(search, content["generators"])
            search.settle()
        elif event.kind not in ("learn", "run", "note"):
            raise JournalError(f"event {event.number} is of an unknown kind, {event.kind!r}")
        if "generators" in content and event.kind not in ("tell", "settle"):  # learning may draw
            set_generators(search, content["generators"])
        if content.get("nodes", len(search.explored.graph)) != len(search.explored.graph):
            raise JournalError(
                f"event {event.number} left {content['nodes']} states explored, its repetition "
                f"{len(search.explored.graph)}; the journal is of another problem, or of another version"
            )

    def _ask(self, content: Mapping[str, Any]) -> None:
        """A descent and its roll-out, of which only the traces are left."""
        search = self._search
        leaf, actions = walked(search.problem, content["actions"])
        search.asked(leaf, actions, tuple(content["path"]), *content["turn"])

    def _tell(self, content: Mapping[str, Any], learnt: Mapping[str, Any] | None) -> None:
        search = self._search
        evaluated: Proposal | State = self._codec.decode(content["leaf"])
        if content["pending"] is not None and content["actions"] is not None:
            evaluated = search.pending[content["pending"]]
        elif content["actions"] is not None:
            leaf, actions = walked(search.problem, content["actions"])
            evaluated = Proposal(leaf, actions, tuple(content["path"]))
        self._compare(content["expected"], search.relearn(evaluated, content, learnt))

    def _compare(self, recorded: Sequence[float], now: Sequence[float]) -> None:
        """Beliefs just before a reward; they are the same, unless numbers are computed otherwise here."""
        size = abs(recorded[0]) + math.sqrt(recorded[1]) + 1e-9
        off = abs(recorded[0] - now[0]) / size
        off = max(off, abs(recorded[1] - now[1]) / (recorded[1] + 1e-6))
        if off > _ROUNDING:
            raise JournalError(
                f"replayed beliefs differ from the recorded ones ({list(now)} instead of {list(recorded)}): "
                "the journal is of another problem, covariance or version"
            )
        self._farthest = max(self._farthest, off)
