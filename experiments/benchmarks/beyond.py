"""The default search beside the paper's method and variants of itself, on the paper's problems."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dagsearch import baselines
from dagsearch.covariances import SetKernel
from dagsearch.methods import default_initial, default_parts
from dagsearch.problem import Problem
from dagsearch.problems import DigitsPixels, Subsets, TicTacToe
from dagsearch.proposers import Descent, Portfolio
from dagsearch.proposers.expansions import OneChild
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Greedy
from dagsearch.search import Search
from experiments.harness.drawing import curves_figure
from experiments.harness.markdown import table
from experiments.harness.runner import Curve, Outcome, Row, curves, read_rows, recorded_steps, run_rounds
from experiments.paper import mnist as pixels
from experiments.paper import tictactoe as game
from experiments.paper.methods import PIXELS, TICTACTOE

OURS = "dagsearch"
DIGITS_BUDGET = 200
GAME_STEPS = (25, 50, 75, 100, 150, 200)
BATCH = 8
"""Number of evaluations at once."""


def changed(problem: Problem, seed: int, initial: int, **changes: Any) -> Search:
    """The default search with some of its parts changed."""
    covariance = changes.pop("covariance", None)
    parts: dict[str, Any] = {**default_parts(problem, covariance, initial=initial), **changes}
    return Search(problem, **parts, seed=seed)


def descending(problem: Problem, seed: int, initial: int) -> Search:
    """The default search in which all leaves come from descents."""
    descent = Descent(UpperConfidence(0.5), Greedy(1.0), OneChild())
    return changed(problem, seed, initial, proposers=Portfolio([descent], initial=initial))


METHODS: dict[str, Callable[[Any, int, int], Search]] = {
    OURS: changed,
    "descents only": descending,
    "no evidence": lambda p, s, i: changed(p, s, i, evidence=None),
    "items all unlike": lambda p, s, i: changed(p, s, i, covariance=SetKernel()),
    "paper's method, digits": lambda p, s, i: PIXELS["probabilistic DAG"](p, s),
    "paper's method, game": lambda p, s, i: TICTACTOE["probabilistic DAG"](p, s),
    "UCT": lambda p, s, i: baselines.uct(p, seed=s),
}
"""``make(problem, seed, initial)`` of every method; a search begins with ``initial`` uniform roll-outs."""


def digits(quick: bool, jobs: int) -> Outcome:
    """Best accuracy with 10 of the 64 pixels of scikit-learn's digits, on three splits."""
    methods = (OURS, "descents only", "no evidence", "items all unlike", "paper's method, digits")
    runs, splits, budget = (2, 1, 40) if quick else (10, 3, DIGITS_BUDGET)
    tasks = [(m, 1, split, n, budget) for m in methods for split in range(splits) for n in range(runs)]
    rows = run_rounds(one_of_digits, tasks, jobs)
    return Outcome("digits", rows, {"runs": runs, "splits": splits, "budget": budget}, drawn(rows))


def drawn(rows: Sequence[Row]) -> dict[str, Any]:
    """The picture of the digits."""
    first = [row for row in rows if row.setting == "split 0"]
    title = "10 of 64 pixels of the digits, LDA, demo's split"
    return {"digits": curves_figure(first, "best accuracy so far", title)}


def one_of_digits(method: str, batch: int, split: int, number: int, budget: int) -> list[Row]:
    """One search that asks for ``batch`` leaves at a time."""
    problem = DigitsPixels(split=split)
    search = METHODS[method](problem, number, default_initial(budget))
    while len(search.history) < budget:
        for proposal in search.ask(min(batch, budget - len(search.history))):
            search.tell(proposal, problem.reward(proposal.leaf))
    best = [evaluation.best_reward for evaluation in search.history]
    steps = sorted({*recorded_steps(budget, 1.1), 4 * budget // 5})
    named = method.partition(",")[0] if batch == 1 else f"batches of {batch}"
    return [Row(named, f"split {split}", number, step, best[step - 1]) for step in steps]


def batches(quick: bool, jobs: int) -> Outcome:
    """What batches cost in accuracy on the digits."""
    runs, splits, budget = (2, 1, 40) if quick else (10, 3, DIGITS_BUDGET)
    tasks = [
        (OURS, batch, split, number, budget)
        for batch in (1, BATCH)
        for split in range(splits)
        for number in range(runs)
    ]
    rows = run_rounds(one_of_digits, tasks, jobs)
    rows = [row._replace(method="one at a time") if row.method == OURS else row for row in rows]
    return Outcome("batches", rows, {"runs": runs, "batch": BATCH})


def tictactoe(quick: bool, jobs: int) -> Outcome:
    """Mean reward of the MAX player against a perfect opponent, by method and step."""
    methods, runs = (OURS, "paper's method, game", "UCT"), 3 if quick else 100
    rows = run_rounds(one_game, [(m, number) for m in methods for number in range(runs)], jobs)
    measured = "mean reward of 10 games against a perfect opponent; a search ends when all leaves are known"
    return Outcome("tictactoe", rows, {"runs": runs, "measured": measured})


def one_game(method: str, number: int) -> list[Row]:
    """The strength of one search after some numbers of steps."""
    played = TicTacToe()
    search = METHODS[method](played, number, 20)
    found: dict[int, float] = {}
    for step, _ in enumerate(search.steps(max(GAME_STEPS)), start=1):
        if step in GAME_STEPS:
            found[step] = _strength(search, played)
    last = _strength(search, played)
    named = method.partition(",")[0]
    return [Row(named, "", number, step, found.get(step, last)) for step in GAME_STEPS]


def _strength(search: Search, played: TicTacToe) -> float:
    games = [game.play(search, played, np.random.default_rng([number, 2])) for number in range(10)]
    return float(np.mean(games))


def mnist(
    quick: bool, jobs: int, data: Path | None = None, weights: Path | None = None, device: str = "cpu"
) -> Outcome:
    """Best validation accuracy with 10 of the 784 pixels of MNIST."""
    settings = pixels.Settings(2, 60, 1) if quick else pixels.Settings(rounds=20)
    methods = (OURS, "probabilistic DAG", "UCT-RAVE", "random")
    runs = pixels.run_on_network(methods, settings, jobs, data, weights, device, make=_composed)
    rows = [row for run in runs for row in run.rows]
    about = {"runs": settings.rounds, "steps": settings.steps, "weights": "given" if weights else "trained"}
    drawn = curves_figure(rows, "best validation accuracy so far", "10 of 784 pixels of MNIST", band=True)
    return Outcome("mnist", rows, about, {"mnist": drawn})


def _composed(method: str, problem: Subsets, number: int) -> Search:
    if method in PIXELS:
        return PIXELS[method](problem, number)
    return METHODS[method](problem, number, 20)


# The tables of the pages --------------------------------------------------------------------------------


def tables(folder: Path) -> dict[str, str]:
    """Mean of every method after some numbers of evaluations; over all splits of the digits."""
    rows = {
        name: read_rows(folder / f"{name}.csv.gz") for name in ("digits", "tictactoe", "mnist", "batches")
    }
    rows["batches"] = [row for row in rows["batches"] if row.setting.startswith("split")]
    return {
        "digits": means(rows["digits"], (50, 100, 200), 4),
        "tictactoe": means(rows["tictactoe"], (50, 75, 100, 150, 200), 3),
        "mnist": means(rows["mnist"], (100, 200, 400, 800, 1200), 3),
        "batches": means(rows["batches"], (50, 100, 160, 200), 4),
    }


def means(rows: Sequence[Row], steps: Sequence[int], digits: int) -> str:
    """One of these tables."""
    found: dict[str, list[Curve]] = {}
    for (method, _), curve in curves(rows).items():
        found.setdefault(method, []).append(curve)
    lines = []
    for method, each in found.items():
        at = (np.mean([curve.mean[curve.at(step)] for curve in each]) for step in steps)
        lines.append([method, *(f"{value:.{digits}f}" for value in at)])
    return table(["method", *(f"at {step}" for step in steps)], lines)
