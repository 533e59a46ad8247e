"""Clocks: whole steps by ask and tell, and parts of a step by timed methods.

A split replaces methods of the parts' classes during the measurement and restores them afterwards.
"""

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.proposers.climb import Climb
from dagsearch.proposers.rollouts import Uniform
from dagsearch.search import Search

Reward = Callable[[Any], float]

clock = time.process_time
"""CPU seconds of this process; the time of other processes does not count."""

# Number of steps averaged before a median is taken: proposers take turns.
BLOCK = 12

# Part of a step, kind of a search's part, and the methods that are timed.
_METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "roll-out": {"rollout": ("finish",)},
    "climb": {"climb": ("propose",)},
    "preview": {"scores": ("predict_children",)},
    "track": {"scores": ("track",)},
    "condition": {"scores": ("condition", "condition_all", "fantasised")},
    "evidence": {"evidence": ("maximise",)},
    "back-up": {"backup": ("back_up",)},
}
PARTS = ("descent", *_METHODS, "book-keeping")
"""``descent`` is the rest of an ask, also where there is none; ``book-keeping`` is the rest of a tell."""


def timed_steps(search: Search, steps: int, reward: Reward | None = None) -> FloatArray:
    """Seconds of every ask and its tell, without the reward."""
    reward = reward or search.problem.reward
    seconds = np.empty(steps)
    for step in range(steps):
        asked = clock()
        proposal = search.ask()
        seconds[step] = clock() - asked
        value = reward(proposal.leaf)
        told = clock()
        search.tell(proposal, value)
        seconds[step] += clock() - told
    return seconds


def typical(seconds: FloatArray) -> float:
    """Median over blocks of the mean within a block: robust to interruptions, but not blind to slow steps."""
    blocks = max(1, len(seconds) // BLOCK)
    return float(np.median([block.mean() for block in np.array_split(seconds, blocks)]))


def median_of(measure: Callable[[], float], repeats: int) -> float:
    """Median of several measurements."""
    return statistics.median(measure() for _ in range(repeats))


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds of one call: median over five repeats, each of at least 20 ms."""
    call()  # warm up
    began = clock()
    call()
    calls = max(1, math.ceil(0.02 / max(clock() - began, 1e-7)))

    def measure() -> float:
        began = clock()
        for _ in range(calls):
            call()
        return (clock() - began) / calls

    return median_of(measure, 5)


class Split:
    """Seconds by part. If a part runs inside another one, only the outer one counts."""

    def __init__(self, clock: Callable[[], float] = clock) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = defaultdict(float)
        self._busy = False
        self._in_parts = 0.0  # seconds of parts since the current ask or tell began

    def timed(self, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, timed as ``part``."""

        @wraps(method)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._busy:
                return method(*args, **kwargs)
            self._busy, began = True, self._clock()
            try:
                return method(*args, **kwargs)
            finally:
                spent = self._clock() - began
                self._busy = False
                self.seconds[part] += spent
                self._in_parts += spent

        return timed

    @contextmanager
    def rest(self, part: str) -> Iterator[None]:
        """While entered, time that no other part uses counts for ``part``."""
        self._in_parts, began = 0.0, self._clock()
        yield
        self.seconds[part] += self._clock() - began - self._in_parts

    def per_step(self, steps: int) -> dict[str, float]:
        """Milliseconds per step, by part."""
        return {part: 1e3 * self.seconds[part] / steps for part in PARTS if self.seconds[part] > 0.0}


def split_steps(search: Search, steps: int, reward: Reward | None = None) -> dict[str, float]:
    """Milliseconds per step by part; reading the clock adds a microsecond per call of a part."""
    reward = reward or search.problem.reward
    split = Split()
    with _instrumented(search, split):
        for _ in range(steps):
            with split.rest("descent"):
                proposal = search.ask()
            value = reward(proposal.leaf)
            with split.rest("book-keeping"):
                search.tell(proposal, value)
    return split.per_step(steps)


@contextmanager
def _instrumented(search: Search, split: Split) -> Iterator[None]:
    """Time the methods on the classes of a search's parts, so that the parts keep their types."""
    patched: list[tuple[type, str, Any]] = []
    try:
        for part, methods in _METHODS.items():
            for owner, name in _owners(search, methods):
                patched.append((owner, name, owner.__dict__[name]))
                setattr(owner, name, split.timed(part, owner.__dict__[name]))
        yield
    finally:
        for owner, name, method in reversed(patched):
            setattr(owner, name, method)


def _owners(search: Search, methods: Mapping[str, tuple[str, ...]]) -> set[tuple[type, str]]:
    """The classes that define some methods of a search's parts."""
    found = set()
    for kind, names in methods.items():
        for part in _parts(search, kind):
            for name in names:
                owners = (owner for owner in type(part).__mro__ if name in owner.__dict__)
                owner = next(owners, None)
                if owner is not None:
                    found.add((owner, name))
    return found


def _parts(search: Search, kind: str) -> tuple[Any, ...]:
    if kind == "scores":
        return (search.index.scores,)
    if kind == "evidence":
        return (search.posterior.evidence,)
    if kind == "backup":
        return () if search.explored is None else (search.explored.backup,)
    if kind == "climb":
        return tuple(one for one in search.portfolio.proposers if isinstance(one, Climb))
    descent = search.portfolio.descent  # the rest is "rollout"; the initial leaves are by uniform ones
    return (Uniform(),) if descent is None else (descent.rollout, Uniform())
