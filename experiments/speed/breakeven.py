"""The cost of an evaluation from which a model pays: dagsearch against methods without one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch.problems import DigitsPixels
from dagsearch.search import Search
from experiments.benchmarks.digits import timed_trials
from experiments.benchmarks.subset_peers import PEERS, Trial, best_rewards
from experiments.benchmarks.variants import OURS
from experiments.speed.measure import timed_steps
from experiments.speed.results import Figure, Measurement

OTHERS = ("hill climbing", "random subsets")
SCORES = (0.85, 0.87)
"""Accuracies to reach."""
COSTS = tuple(float(cost) for cost in np.logspace(-5, 0, 26))
"""Costs of an evaluation in seconds."""


class Reached(NamedTuple):
    """Mean cost of reaching a score, over seeds; a run that does not reach it counts in full."""

    evaluations: float
    own_seconds: float
    share: float
    """Share of the seeds that reached the score."""

    def seconds(self, cost: float) -> float:
        """Total seconds if an evaluation takes ``cost`` seconds."""
        return self.own_seconds + self.evaluations * cost


def breakeven(quick: bool) -> Measurement:
    """Seconds until a score is reached on the digits, by the cost of an evaluation."""
    seeds, ours, theirs = (1, 60, 200) if quick else (8, 300, 1_500)
    problem = DigitsPixels()
    timed_steps(Search.default(problem, seed=0), 30)  # compile
    trials = {OURS: [timed_trials(Search.default(problem, seed=seed), ours) for seed in range(seeds)]}
    for name in OTHERS:
        trials[name] = [PEERS[name](problem, theirs, seed) for seed in range(seeds)]
    reached = {score: {name: until(runs, score) for name, runs in trials.items()} for score in SCORES}
    costs = {score: {name: crossing(found, name) for name in OTHERS} for score, found in reached.items()}
    figure = _figure(reached, costs)
    measured = _as_json(reached, costs, seeds, {OURS: ours, "others": theirs})
    return Measurement("breakeven", [figure], measured, quick)


def _figure(
    reached: Mapping[float, Mapping[str, Reached]], costs: Mapping[float, Mapping[str, float | None]]
) -> Figure:
    """The largest break-even of all scores and methods."""
    known = [cost for by_name in costs.values() for cost in by_name.values() if cost is not None]
    value: float | None = 1e3 * max(known, default=0.0)
    note = ""
    if any(found[OURS].share < 1.0 for found in reached.values()):
        # A run that ends before the score counts as if it had reached it: that would favour us.
        value, note = None, "not all of our runs got there"
    elif len(known) < len(SCORES) * len(OTHERS):
        value, note = None, "another method needs fewer evaluations"
    return Figure("digits: evaluations that cost more favour us", value, "ms an evaluation", 5.0, note=note)


def until(runs: Sequence[Sequence[Trial]], score: float) -> Reached:
    """Mean evaluations and own seconds until the score is reached."""
    evaluations, seconds, there = [], [], []
    for trials in runs:
        hits = np.flatnonzero(best_rewards(trials) >= score)
        last = int(hits[0]) + 1 if hits.size else len(trials)
        evaluations.append(last)
        seconds.append(sum(trial.seconds for trial in trials[:last]))
        there.append(hits.size > 0)
    return Reached(float(np.mean(evaluations)), float(np.mean(seconds)), float(np.mean(there)))


def crossing(found: Mapping[str, Reached], other: str) -> float | None:
    """Cost of an evaluation above which we are faster; ``None`` if there is none."""
    ours, theirs = found[OURS], found[other]
    fewer = theirs.evaluations - ours.evaluations
    return max(0.0, (ours.own_seconds - theirs.own_seconds) / fewer) if fewer > 0.0 else None


def _as_json(
    reached: Mapping[float, Mapping[str, Reached]],
    costs: Mapping[float, Mapping[str, float | None]],
    seeds: int,
    budgets: Mapping[str, int],
) -> dict[str, Any]:
    return {
        "seeds": seeds,
        "budgets": dict(budgets),
        "costs_s": list(COSTS),
        "scores": [
            {
                "score": score,
                "reached": {name: one._asdict() for name, one in by_name.items()},
                "breakeven_s": dict(costs[score]),
                "seconds": {name: [one.seconds(cost) for cost in COSTS] for name, one in by_name.items()},
            }
            for score, by_name in reached.items()
        ],
    }
