"""The correlated fold beside the plain one, on the synthetic problem and on Tic-Tac-Toe.

It is an experiment of its own, smaller than the others, because it takes several times as long.
"""

import time

from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper import synthetic, tictactoe
from experiments.paper.synthetic import CORRELATED

PLAIN = "probabilistic DAG"
BETA = 1.0


def run(quick: bool, jobs: int, progress: bool = True) -> Outcome:
    """Rewards, and the processor time of every round."""
    rounds = {"synthetic": 2 if quick else 40, "tictactoe": 1 if quick else 25}
    tasks = [
        (name, method, number, quick)
        for name, count in rounds.items()
        for method in (PLAIN, CORRELATED)
        for number in range(count)
    ]
    rows = run_rounds(one_round, tasks, jobs, progress)
    return Outcome("correlated", rows, {"rounds": rounds, "beta": BETA})


def one_round(name: str, method: str, number: int, quick: bool) -> list[Row]:
    """One round of one of the two experiments."""
    began = time.process_time()
    if name == "synthetic":
        rows = synthetic.one_round(method, BETA, number, 10 if quick else 60)
    else:
        rows = tictactoe.one_repetition(method, number, 2, 5 if quick else 150)
    seconds = Row(method, f"{name}, seconds", number, rows[-1].step, time.process_time() - began)
    return [*(row._replace(setting=name) for row in rows), seconds]
