"""How a step's time grows: with rewards and nodes in a long run, and with features and branching."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch.covariances import Covariance, Overlap
from dagsearch.problems import Subsets
from dagsearch.proposers.descent import follow
from dagsearch.search import Search
from experiments.speed import floors
from experiments.speed.measure import BLOCK, split_steps, timed_steps, typical
from experiments.speed.results import SEED, Figure, Measurement
from experiments.speed.steps import cheap_subsets, features_of, size_of

# Number of steps timed at every size.
_WINDOW = 5 * BLOCK
# Seconds after which a run is stopped.
_PATIENCE = 150.0


class Size(NamedTuple):
    """Size of a search."""

    rewards: int
    nodes: int


def growth(quick: bool) -> Measurement:
    """A step with a feature map, as rewards grow by a factor of 100."""
    sizes = [Size(rewards, 0) for rewards in ((60, 200) if quick else (200, 2_000, 20_000))]
    problem = cheap_subsets(100, 10)
    found = _follow(problem, Overlap.of(problem), sizes, lambda size: floors.weights(101))
    what = "step at 20,000 rewards, feature map"
    figure = _figure(what, found, sizes, "× the step at 200 rewards", 3.0)
    return Measurement("growth", [figure], {"sizes": found}, quick)


def kernel(quick: bool) -> Measurement:
    """A step with the default covariance of subsets, as rewards grow by a factor of 10."""
    sizes = [Size(rewards, 0) for rewards in ((60, 150) if quick else (1_000, 3_000, 10_000))]
    problem = cheap_subsets(100, 10)
    # The floor's two largest matrices would take 2 GB: measured at a fifth of both sides, then scaled.
    part = 1 if quick else 5
    found = _follow(
        problem, None, sizes, lambda size: part**2 * floors.kernel(size.rewards // part, size.nodes // part)
    )
    figure = _figure("step at 10,000 rewards, kernel", found, sizes, "× the step at 1,000 rewards", 5.0)
    return Measurement("kernel", [figure], {"sizes": found}, quick)


def _figure(
    what: str, found: Sequence[dict[str, Any]], sizes: Sequence[Size], unit: str, target: float
) -> Figure:
    reached = found[-1]["rewards"]
    complete = reached >= sizes[-1].rewards
    note = "" if complete else f"not followed beyond {reached:,} rewards: that took {_PATIENCE:.0f} seconds"
    value = found[-1]["ms"] / found[0]["ms"] if complete and len(found) > 1 else None
    return Figure(what, value, unit, target, note=note)


def _follow(
    problem: Subsets, covariance: Covariance | None, sizes: Sequence[Size], floor: Callable[[Size], float]
) -> list[dict[str, Any]]:
    """Milliseconds of a step at the sizes that one search reaches in time."""
    search = Search.default(problem, covariance=covariance, seed=SEED)
    timed_steps(search, 2 * BLOCK)  # compile
    rng = np.random.default_rng(SEED)
    began = time.perf_counter()
    found = []
    for size in sizes:
        complete = grow(search, size, rng, began + _PATIENCE)
        seconds = timed_steps(search, _WINDOW if complete else 2 * BLOCK)
        nodes, edges = size_of(search)
        now = Size(len(search.history), nodes)
        found.append(
            {
                **now._asdict(),
                "ms": 1e3 * typical(seconds),
                "parts_ms": split_steps(search, 3 * BLOCK if complete else BLOCK),
                "floor_ms": 1e3 * floor(now),
                "back_up_floor_ms": 1e3 * floors.back_up(nodes, edges),
                "seconds_until_here": time.perf_counter() - began,
            }
        )
        if not complete:
            break
    return found


def grow(search: Search, size: Size, rng: np.random.Generator, until: float) -> bool:
    """Bring a search to a size by rewards of random leaves and by random paths; False if time was up.

    Asking for every leaf would take longer and give steps of the same cost.
    """
    problem, descent = search.problem, search.portfolio.descent
    while len(search.history) < size.rewards - _WINDOW // 2:
        if time.perf_counter() > until:
            return False
        leaf, _ = search.space.walk(problem.root(), rng)
        search.tell(leaf, problem.reward(leaf))
        ahead = size.nodes * len(search.history) / size.rewards
        while descent is not None and search.explored is not None and len(search.explored.graph) < ahead:
            follow(search.explored, descent.expansion, search.space.walk(problem.root(), rng)[1])
    return True


# Features and branching ------------------------------------------------------------------------------


class Codes:
    """Sequences of six choices; the number of features is independent of the branching."""

    depth = 6

    def __init__(self, branching: int, features: int) -> None:
        self.branching_factor, self.features = branching, features

    def root(self) -> tuple[int, ...]:
        """Nothing chosen."""
        return ()

    def actions(self, state: tuple[int, ...]) -> range:
        """The choices at the next place."""
        return range(self.branching_factor if len(state) < self.depth else 0)

    def step(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
        """One more choice."""
        return (*state, action)

    def items(self, state: tuple[int, ...]) -> list[int]:
        """One feature for every prefix of the sequence, out of ``features``."""
        found, code = [], 0
        for choice in state:
            code = code * self.branching_factor + choice + 1
            found.append(code % self.features)
        return found

    def reward(self, leaf: tuple[int, ...]) -> float:
        """Cheap."""
        return float(sum(choice % 7 for choice in leaf)) / len(leaf)


def scaling(quick: bool) -> Measurement:
    """The paper's method with more features at equal branching, and more branching at equal features."""
    steps = 24 if quick else 240
    by_features = [(8, features) for features in ((48, 192) if quick else (48, 192, 768, 1_536))]
    by_branching = [(branching, 48) for branching in ((8, 32) if quick else (8, 32, 128, 512))]
    measured = {
        "features": [_scaled(*size, steps) for size in by_features],
        "branching": [_scaled(*size, steps) for size in by_branching],
    }
    return Measurement("scaling", [], measured, quick)


def _scaled(branching: int, features: int, steps: int) -> dict[str, Any]:
    search = Search.paper(Codes(branching, features), seed=SEED)
    timed_steps(search, BLOCK)
    milliseconds = 1e3 * typical(timed_steps(search, steps))
    seen, nodes = features_of(search), size_of(search)[0]
    return {"branching": branching, "features": features, "seen": seen, "nodes": nodes, "ms": milliseconds}
