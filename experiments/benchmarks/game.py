"""Tic-Tac-Toe against a perfect opponent."""

import numpy as np

from dagsearch import baselines
from dagsearch.problems import TicTacToe
from dagsearch.proposers.rollouts import Uniform
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching
from experiments.benchmarks.variants import OURS, Composed, changed, descending
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper import tictactoe

STEPS = (25, 50, 75, 100, 150, 200)
METHODS: dict[str, Composed] = {
    OURS: changed,
    "uniform roll-outs": lambda p, s, i: descending(p, s, i, rollout=Uniform()),
    "prior on the maximum": lambda p, s, i: changed(p, s, i, backup=MomentMatching(prior=(0.0, 1.0))),
    "paper's method": lambda p, s, i: tictactoe.METHODS["probabilistic DAG"](p, s),
    "UCT": lambda p, s, i: baselines.uct(p, seed=s),
}


def run(runs: int, jobs: int, progress: bool) -> Outcome:
    """Mean reward of the MAX player, by method and step."""
    tasks = [(method, number) for method in METHODS for number in range(runs)]
    rows = run_rounds(one_run, tasks, jobs, progress)
    drawn = curves_figure(rows, "reward against a perfect opponent", "Tic-Tac-Toe")
    drawn.axes[0].axhline(0.0, color="black", linestyle=":", linewidth=1.0)
    measured = "mean reward of 10 games against a perfect opponent; a search ends when all leaves are known"
    return Outcome("tictactoe", rows, {"runs": runs, "measured": measured}, {"tictactoe": drawn})


def one_run(method: str, number: int) -> list[Row]:
    """One search, which plays games after some of its steps."""
    game = TicTacToe()
    search = METHODS[method](game, number, 20)
    found: dict[int, float] = {}
    for step, _ in enumerate(search.steps(max(STEPS)), start=1):
        if step in STEPS:
            found[step] = _strength(search, game)
    last = _strength(search, game)
    return [Row(method, "", number, step, found.get(step, last)) for step in STEPS]


def _strength(search: Search, game: TicTacToe) -> float:
    games = [tictactoe.play(search, game, np.random.default_rng([number, 2])) for number in range(10)]
    return float(np.mean(games))
