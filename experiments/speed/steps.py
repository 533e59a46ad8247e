"""Time of a step on several problems."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dagsearch import baselines
from dagsearch.problems import DigitsPixels, Subsets, TicTacToe
from dagsearch.search import Search
from experiments.harness.peers import import_peer
from experiments.speed import floors
from experiments.speed.measure import clock, split_steps, timed_steps, typical
from experiments.speed.results import SEED, Figure, Measurement

# 785 features: one for every pixel, and one that all subsets share.
PIXELS, CHOSEN = 784, 10


def subsets(quick: bool) -> Measurement:
    """784 choose 10 with the settings of section 4.3, as a multiple of a step's linear algebra."""
    steps, repeats = (60, 2) if quick else (1_200, 5)

    def make() -> Search:
        return Search.paper(cheap_subsets(PIXELS, CHOSEN), beta=0.5, noise=1e-4, standardize=20, seed=SEED)

    measured = step_times(make, steps, repeats, lambda search: floors.weights(PIXELS + 1))
    what, unit = "784 choose 10, paper's method, 1,200 steps", "× (dsyr + dsymv of size 785)"
    return Measurement("subsets", [Figure(what, measured["ratio"], unit, 3.0)], measured, quick)


def tictactoe(quick: bool) -> Measurement:
    """Tic-Tac-Toe with the settings of section 4.2."""
    steps, repeats = (60, 2) if quick else (300, 9)

    def make() -> Search:
        return Search.paper(TicTacToe(), c=0.5, noise=0.1, beta=1.0, seed=SEED)

    measured = step_times(make, steps, repeats, lambda search: floors.weights(features_of(search) or 1))
    figure = Figure("Tic-Tac-Toe, paper's method, 300 steps", measured["ms"], "ms a step", 0.2)
    return Measurement("tictactoe", [figure], measured, quick)


def digits(quick: bool) -> Measurement:
    """``ds.search`` on the digits, without the evaluations."""
    steps, repeats = (40, 1) if quick else (200, 5)
    problem = DigitsPixels()
    known: dict[Any, float] = {}

    def reward(leaf: Any) -> float:
        if leaf not in known:
            known[leaf] = problem.reward(leaf)
        return known[leaf]

    def make() -> Search:
        return Search.default(problem, seed=SEED)

    measured = step_times(
        make, steps, repeats, lambda search: floors.kernel(steps, size_of(search)[0]), reward
    )
    figure = Figure("digits, 10 of 64, default method, 200 evaluations", measured["ms"], "ms a step", 2.0)
    return Measurement("digits", [figure], measured, quick)


def uct(quick: bool) -> Measurement:
    """Simulations per second of UCT on Tic-Tac-Toe without symmetries, relative to OpenSpiel's in Python."""
    steps, repeats = (200, 2) if quick else (2_000, 7)

    def make() -> Search:
        return baselines.uct(TicTacToe(symmetric=False), seed=SEED)

    measured = step_times(make, steps, 1, lambda search: floors.back_up(*size_of(search)))
    what, unit = "UCT, Tic-Tac-Toe, simulations a second", "× OpenSpiel's"
    try:
        theirs = _openspiel()
    except ModuleNotFoundError as error:
        missing = Figure(what, None, unit, 1.0, at_least=True, note=str(error))
        return Measurement("uct", [missing], measured, quick)
    theirs(steps)  # warm up, as ours did
    rates = [
        (_rate(lambda: make().run(steps), steps), _rate(lambda: theirs(steps), steps)) for _ in range(repeats)
    ]
    ours, others = (float(np.median(column)) for column in zip(*rates, strict=True))
    measured |= {"ours_per_second": ours, "openspiel_per_second": others}
    return Measurement("uct", [Figure(what, ours / others, unit, 1.0, at_least=True)], measured, quick)


def cheap_subsets(n: int, k: int) -> Subsets:
    """Subsets with a cheap reward: a sum of weights and a small term that depends on the whole subset."""
    weights = np.random.default_rng(SEED).normal(size=n).tolist()

    def reward(chosen: frozenset[int]) -> float:
        total = float(sum(weights[feature] for feature in chosen))
        return total + 0.01 * (hash(tuple(sorted(chosen))) % 97) / 97.0

    return Subsets(n, k, reward)


def step_times(
    make: Callable[[], Search],
    steps: int,
    repeats: int,
    floor: Callable[[Search], float],
    reward: Callable[[Any], float] | None = None,
) -> dict[str, Any]:
    """Milliseconds of a step over whole runs, their parts, and the final size of the search.

    The floor is measured after every run, so that other load on the machine slows down both.
    """
    timed_steps(make(), min(steps, 60), reward)  # compile and fill caches
    runs, least = [], []
    for _ in range(repeats):
        search = make()
        runs.append(timed_steps(search, steps, reward))
        least.append(floor(search))
    splits = [split_steps(search := make(), steps, reward) for _ in range(min(repeats, 3))]
    parts = sorted(splits, key=lambda split: sum(split.values()))[len(splits) // 2]
    nodes, edges = size_of(search)
    return {
        "steps": steps,
        "ms": 1e3 * float(np.median([run.mean() for run in runs])),
        "ms_by_repeat": [1e3 * float(run.mean()) for run in runs],
        "ms_typical": 1e3 * float(np.median([typical(run) for run in runs])),
        "ms_slowest": 1e3 * float(np.median([run.max() for run in runs])),
        "floor_ms": 1e3 * float(np.median(least)),
        "ratio": float(np.median([run.mean() / low for run, low in zip(runs, least, strict=True)])),
        "parts_ms": parts,
        "back_up_floor_ms": 1e3 * floors.back_up(nodes, max(edges, 1)),
        "nodes": nodes,
        "edges": edges,
        "features": features_of(search),
    }


def size_of(search: Search) -> tuple[int, int]:
    """Nodes and edges; a search that does not descend has leaves and no edges."""
    if search.explored is None:
        return len(search.index.states), 0
    graph = search.explored.graph
    return len(graph), int(graph.count[: len(graph)].sum())


def features_of(search: Search) -> int | None:
    """Current number of features; ``None`` for a covariance without a feature map."""
    dimension = getattr(search.index.scores.covariance, "dimension", None)
    return None if dimension is None else int(dimension)


def _rate(run: Callable[[], Any], steps: int) -> float:
    began = clock()
    run()
    return steps / (clock() - began)


def _openspiel() -> Callable[[int], Any]:
    """A function that runs a number of simulations of OpenSpiel's MCTS in Python."""
    pyspiel = import_peer("pyspiel")
    mcts = import_peer("open_spiel.python.algorithms.mcts")
    game = pyspiel.load_game("tic_tac_toe")

    def search(simulations: int) -> Any:
        rng = np.random.RandomState(SEED)
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        bot = mcts.MCTSBot(game, 2.0**0.5, simulations, evaluator, solve=False, random_state=rng)
        return bot.mcts_search(game.new_initial_state())

    return search
