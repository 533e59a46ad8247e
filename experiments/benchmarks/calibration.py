"""Is the belief about the best reward calibrated? Small DAGs whose rewards are drawn from the model."""

from collections.abc import Callable

import numpy as np

from dagsearch.posterior import scores_for
from dagsearch.problem import Problem
from dagsearch.problems import Synthetic
from dagsearch.proposers.descent import Descent
from dagsearch.proposers.expansions import AllChildren
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform
from dagsearch.search import Search
from dagsearch.values.backups import Backup, MomentMatching
from experiments.harness.drawing import figure
from experiments.harness.runner import Outcome, Row, curves, run_rounds

N, M = 10, 3
REWARDS = (0, 2, 4, 6, 8)
NOISE = 1e-4
# Half the width of the central 90% of a Gaussian, in deviations.
_NINETY = 1.6448536269514722

BACKUPS: dict[str, Callable[[], Backup]] = {
    "moment matching": MomentMatching,
    "moment matching, prior": lambda: MomentMatching(prior=(0.0, 1.0)),
}


def run(draws: int, jobs: int, progress: bool = True) -> Outcome:
    """How often the central 90% of the root's v contains the true optimum, after some random rewards."""
    tasks = [(method, number) for method in BACKUPS for number in range(draws)]
    rows = run_rounds(one_draw, tasks, jobs, progress)
    drawn = figure()
    axes = drawn.subplots()
    for (method, _), curve in curves(row for row in rows if row.setting == "covered").items():
        axes.plot(curve.steps, curve.mean, marker="o", label=method)
    axes.axhspan(0.85, 0.95, color="grey", alpha=0.2, label="85–95%")
    axes.set(
        xlabel="random rewards known",
        ylabel="share of draws in the central 90%",
        title=f"{N} choose {M}, drawn from the model",
        ylim=(0.0, 1.0),
    )
    axes.legend(fontsize="small")
    about = {"draws": draws, "n": N, "m": M, "noise": NOISE}
    return Outcome("calibration", rows, about, {"calibration": drawn})


def one_draw(method: str, number: int) -> list[Row]:
    """One problem, its whole DAG explored, some random leaves told."""
    problem = Synthetic(N, M, seed=number)
    backup = BACKUPS[method]()
    search = Search(
        problem,
        scores=scores_for(problem.covariance, NOISE),
        proposers=Descent(UpperConfidence(1.0), Uniform(), AllChildren()),
        backup=backup,
        seed=number,
    )
    explore(search, problem)
    rng = np.random.default_rng([number, 3])
    rows, told = [], 0
    for rewards in REWARDS:
        while told < rewards:
            leaf, _ = search.space.walk(problem.root(), rng)
            search.tell(leaf, problem.reward(leaf))
            told += 1
        search.values  # noqa: B018
        low, high, mean = _interval(search)
        covered = low <= problem.best_reward <= high
        rows.append(Row(method, "covered", number, rewards, float(covered)))
        rows.append(Row(method, "mean less optimum", number, rewards, mean - problem.best_reward))
    return rows


def explore(search: Search, problem: Problem) -> None:
    """Add every state to the DAG."""
    explored, descent = search.explored, search.portfolio.descent
    assert explored is not None
    assert descent is not None
    pending = [explored.root]
    while pending:
        node = pending.pop()
        if explored.graph.count[node] == 0:
            descent.expansion.expand(explored, node)
            pending += explored.graph.children(node).tolist()


def _interval(search: Search) -> tuple[float, float, float]:
    explored = search.values
    mean, variance = explored.value(explored.root)
    return mean - _NINETY * variance**0.5, mean + _NINETY * variance**0.5, mean
