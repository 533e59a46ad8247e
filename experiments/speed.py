"""``python -m experiments benchmark speed``: the cost of a step, as ratios of times measured in one run.

Times depend on the machine, their ratios hardly. Both sides of a ratio are CPU seconds of this process,
measured in turns.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

from dagsearch import baselines
from dagsearch._internal.threads import one_thread
from dagsearch.covariances import Overlap
from dagsearch.games.openspiel import load_pyspiel
from dagsearch.problems import DigitsPixels, Subsets, TicTacToe
from dagsearch.search import Search
from experiments.arena import openspiels_player
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Outcome, Row

SEED = 0
WINDOW = 60
"""Number of timed steps at every size."""


class Figure(NamedTuple):
    """A ratio of times with its target."""

    what: str
    unit: str
    target: float
    """Target: at most this, or at least this for ``uct``."""


FIGURES = {
    "subsets": Figure("784 choose 10, paper's method", "× (dsyr + dsymv of size 785)", 3.0),
    "growth": Figure("step at 3,000 rewards, feature map", "× the step at 300 rewards", 3.0),
    "kernel": Figure("step at 3,000 rewards, default method", "× the step at 300 rewards", 5.0),
    "digits": Figure("10 of 64 pixels, default method", "× the evaluation, LDA on 1,000 rows", 1.0),
    "resume": Figure("resuming 500 evaluations, default method", "× making them", 1.0),
    "uct": Figure("UCT, Tic-Tac-Toe, simulations a second", "× OpenSpiel's (at least)", 1.0),
}


def run(quick: bool = False, jobs: int = 1) -> Outcome:
    """Take all measurements, in one process; ``jobs`` is not used."""
    measurements = {"subsets": subsets, "growth": growth, "kernel": kernel}
    measurements |= {"digits": digits, "resume": resume, "uct": uct}
    repeats = 1 if quick else 3
    rows = []
    with one_thread:
        for search in (Search.paper(cheap_subsets(9, 3)), Search.default(cheap_subsets(64, 10))):
            step_seconds(search, 60)  # compiles
        for name, measure in measurements.items():
            values = [measure(quick) for _ in range(repeats if name not in ("growth", "kernel") else 1)]
            rows += [Row(name, "ratio", number, 0, value) for number, value in enumerate(values)]
    return Outcome("speed", rows, {"quick": quick, "clock": "CPU seconds of one thread"})


def figures(rows: list[Row]) -> str:
    """Every ratio with its target: the median over repeats, with the range."""
    lines = []
    for name, figure in FIGURES.items():
        values = [row.value for row in rows if row.method == name]
        if values:
            shown = f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
            lines.append([f"`{name}`", figure.what, shown, f"{figure.target:g} {figure.unit}"])
    return table(["measurement", "what", "median (range)", "target"], lines)


def summary(outcome: Outcome) -> str:
    """The figures for a terminal."""
    return aligned(figures(list(outcome.rows)))


# Measurements ------------------------------------------------------------------------------------------


def cheap_subsets(n: int, k: int) -> Subsets:
    """Subsets with a cheap reward: a sum of weights and a small term that depends on the whole subset."""
    weights = np.random.default_rng(SEED).normal(size=n).tolist()

    def reward(chosen: frozenset[int]) -> float:
        total = float(sum(weights[feature] for feature in chosen))
        return total + 0.01 * (hash(tuple(sorted(chosen))) % 97) / 97.0

    return Subsets(n, k, reward)


def seconds_of(call: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def step_seconds(search: Search, steps: int) -> float:
    """Mean CPU seconds of an ask and its tell, without the reward."""
    total = 0.0
    for _ in range(steps):
        began = time.process_time()
        proposal = search.ask()
        total += time.process_time() - began
        reward = search.problem.reward(proposal.leaf)
        total += seconds_of(lambda p=proposal, r=reward: search.tell(p, r))  # type: ignore[misc]
    return total / steps


def subsets(quick: bool) -> float:
    """The paper's method with the settings of section 4.3, over the linear algebra of a step."""
    problem = cheap_subsets(784, 10)
    matrix, vector = np.asfortranarray(np.eye(785)), np.ones(785)
    floor = seconds_of(
        lambda: [dsyr(-1e-9, dsymv(1.0, matrix, vector), a=matrix, overwrite_a=True) for _ in range(200)]
    )
    search = Search.paper(problem, beta=0.5, noise=1e-4, standardize=20, seed=SEED)
    return step_seconds(search, 60 if quick else 600) / (floor / 200)


def growth(quick: bool) -> float:
    """A step with a feature map, as rewards grow by a factor of 10."""
    problem = cheap_subsets(100, 10)
    search = Search.paper(problem, covariance=Overlap.of(problem), seed=SEED)
    return _grown(search, *((30, 60) if quick else (300, 3_000)))


def kernel(quick: bool) -> float:
    """A step of the default search, as rewards grow by a factor of 10."""
    search = Search.default(cheap_subsets(100, 10), seed=SEED)
    return _grown(search, *((30, 60) if quick else (300, 3_000)))


def _grown(search: Search, small: int, large: int) -> float:
    """Time of a step after ``large`` rewards over that after ``small``; most are rewards of random leaves."""
    rng, found = np.random.default_rng(SEED), []
    for size in (small, large):
        while len(search.history) < size:
            leaf, _ = search.space.walk(search.problem.root(), rng)
            search.tell(leaf, search.problem.reward(leaf))
        step_seconds(search, 2)  # does postponed computations
        found.append(step_seconds(search, 12 if small < 100 else WINDOW))
    return found[1] / found[0]


def digits(quick: bool) -> float:
    """A step of the default search over an evaluation, LDA with ten pixels."""
    problem = DigitsPixels()
    search = Search.default(problem, seed=SEED)
    own = step_seconds(search, 40 if quick else 200)
    leaves = [evaluation.leaf for evaluation in search.history]
    fresh = DigitsPixels()  # without cached scores
    return own / (seconds_of(lambda: [fresh.reward(leaf) for leaf in leaves]) / len(leaves))


def resume(quick: bool) -> float:
    """Resuming a stored run over making it."""
    problem = cheap_subsets(64, 10)
    with tempfile.TemporaryDirectory() as folder:
        path, count = Path(folder, "run.db"), 50 if quick else 500
        search = Search.default(problem, seed=SEED, storage=path)
        made = seconds_of(lambda: search.run(count))
        search.close()
        return seconds_of(lambda: Search.resume(path, problem).close()) / made


def uct(quick: bool) -> float:
    """Simulations per second of UCT on Tic-Tac-Toe without symmetries, relative to OpenSpiel's in Python."""
    steps = 100 if quick else 2_000
    game = load_pyspiel().load_game("tic_tac_toe")
    bot = openspiels_player(game, steps, SEED)
    search = baselines.uct(TicTacToe(symmetric=False), seed=SEED)
    search.run(60)  # compiles
    ours = seconds_of(lambda: search.run(60 + steps))
    return seconds_of(lambda: bot.mcts_search(game.new_initial_state())) / ours
