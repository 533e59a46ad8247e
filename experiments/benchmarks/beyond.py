"""The default search on the paper's problems, compared with the paper's methods; and in batches."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dagsearch import baselines
from dagsearch.methods import default_initial
from dagsearch.problems import DigitsPixels, TicTacToe
from dagsearch.search import Search
from experiments.harness.curves import best_rewards, means
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Row, kept, read_rows, run_rounds
from experiments.paper import mnist as pixels
from experiments.paper import tictactoe as game
from experiments.paper.methods import OURS as PAPER
from experiments.paper.methods import PIXELS, TICTACTOE

OURS = "dagsearch"
DIGITS_BUDGET = 200
GAME_STEPS = (25, 50, 75, 100, 150, 200)
BATCH = 8
"""Number of evaluations at once."""


def default(problem: Any, seed: int) -> Search:
    """The default search."""
    return Search.default(problem, initial=20, seed=seed)


# Batches -----------------------------------------------------------------------------------------------


def batches(quick: bool, jobs: int) -> Outcome:
    """The accuracy lost by batches, with 10 of the 64 pixels of scikit-learn's digits, on three splits."""
    runs, splits, budget = (2, 1, 40) if quick else (10, 3, DIGITS_BUDGET)
    tasks = [
        (batch, split, n, budget) for batch in (1, BATCH) for split in range(splits) for n in range(runs)
    ]
    return Outcome("batches", run_rounds(one_of_digits, tasks, jobs), {"runs": runs, "batch": BATCH})


def one_of_digits(batch: int, split: int, number: int, budget: int) -> list[Row]:
    """One search that asks for ``batch`` leaves at a time."""
    problem = DigitsPixels(split=split)
    search = Search.default(problem, initial=default_initial(budget), seed=number)
    while len(search.history) < budget:
        for proposal in search.ask(min(batch, budget - len(search.history))):
            search.tell(proposal, problem.reward(proposal.leaf))
    named = "one at a time" if batch == 1 else f"batches of {batch}"
    return best_rewards(search.history, named, f"split {split}", number, growth=1.05)


# Tic-Tac-Toe -------------------------------------------------------------------------------------------

PLAYERS: dict[str, Callable[[Any, int], Search]] = {
    OURS: default,
    "paper's method": TICTACTOE[PAPER],
    "UCT": lambda played, seed: baselines.uct(played, seed=seed),
}
"""The compared searches."""


def tictactoe(quick: bool, jobs: int) -> Outcome:
    """Mean reward of the MAX player against a perfect opponent, by method and step."""
    runs = 3 if quick else 100
    rows = run_rounds(one_game, [(m, number) for m in PLAYERS for number in range(runs)], jobs)
    measured = "mean reward of 10 games against a perfect opponent; a search ends when all leaves are known"
    return Outcome("tictactoe", rows, {"runs": runs, "measured": measured})


def one_game(method: str, number: int) -> list[Row]:
    """The strength of one search after some numbers of steps."""
    played = TicTacToe()
    search, rows = PLAYERS[method](played, number), []
    for step, _ in enumerate(search.steps(max(GAME_STEPS)), start=1):
        if step in GAME_STEPS:
            rows.append(Row(method, "", number, step, _strength(search, played)))
    return [*rows, Row(method, "", number, max(GAME_STEPS), _strength(search, played))]


def _strength(search: Search, played: TicTacToe) -> float:
    games = [game.play(search, played, np.random.default_rng([number, 2])) for number in range(10)]
    return float(np.mean(games))


# MNIST -------------------------------------------------------------------------------------------------


def mnist(
    quick: bool,
    jobs: int,
    data: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
    methods: Sequence[str] = (),
    keep: Path | None = None,
) -> Outcome:
    """Best validation accuracy with 10 of the 784 pixels of MNIST; ``keep`` has other methods' results."""
    settings = pixels.Settings(2, 60, 1) if quick else pixels.Settings(rounds=20)
    every = {OURS: default, **{name: PIXELS[name] for name in (PAPER, "UCT-RAVE", "random")}}
    chosen = {name: make for name, make in every.items() if not methods or name in methods}
    runs = pixels.run_on_network(chosen, settings, jobs, data, weights, device)
    rows = [row for run in runs for row in run.rows]
    about = {"runs": settings.rounds, "steps": settings.steps, "weights": "given" if weights else "trained"}
    if keep is not None:
        earlier, source = kept(keep, "mnist", lambda row: row.method not in chosen)
        rows, about = rows + earlier, about | source
    drawn = curves_figure(rows, "best validation accuracy so far", "10 of 784 pixels of MNIST")
    return Outcome("mnist", rows, about, {"mnist": drawn})


def tables(folder: Path) -> dict[str, str]:
    """Mean of every method after some numbers of evaluations."""
    marks = {
        "tictactoe": (50, 75, 100, 150, 200),
        "mnist": (100, 200, 400, 800, 1200),
        "batches": (50, 100, 160, 200),
    }
    return {name: means(read_rows(folder / f"{name}.csv.gz"), steps, 3) for name, steps in marks.items()}
