"""The map from signs to the probability of being the best: a logistic regression, every problem equal.

The weights go into ``dagsearch.optimum``; a test checks that they are those that the stored file gives.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.optimum import Signs
from experiments.harness.runner import Outcome, Row
from experiments.truth.fitted import FITTED
from experiments.truth.measures import stops
from experiments.truth.search import FOUND, MODEL, PATIENCE, SKILL, measured

_NEEDED = (MODEL, PATIENCE, SKILL, FOUND)
ROUNDS = 8
"""Number of runs of every problem."""


def run(jobs: int, quick: bool = False) -> Outcome:
    """Run the problems that are fitted on."""
    names = ["pairs", "hills", "round-trip"] if quick else list(FITTED)
    outcome = measured("fitted", names, 2 if quick else ROUNDS, jobs)
    return replace(outcome, rows=[row for row in outcome.rows if row.method in _NEEDED])


def summary(outcome: Outcome) -> str:
    """The weights, and how good they are on each problem when fitted on the others."""
    odds = ", ".join(f"{weight:.2f}" for weight in fitted(outcome.rows))
    left_out, constant = left_out_score(outcome.rows)
    return (
        f"_ODDS = ({odds})\nBrier score, each problem left out: {left_out:.3f}; of their mean: {constant:.3f}"
    )


def _table(rows: Sequence[Row]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Features, whether found, weights of the stops, and their problems."""
    asked = stops(rows, _NEEDED)
    signs = zip(*(asked.said[name] for name in (MODEL, PATIENCE, SKILL)), strict=True)
    features = np.array([Signs(*one).features for one in signs])
    names, place, count = np.unique(asked.problem, return_inverse=True, return_counts=True)
    return features, asked.said[FOUND], 1000.0 / (len(names) * count[place]), names[place]


def _regression(features: FloatArray, found: FloatArray, weights: FloatArray) -> FloatArray:
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(C=10.0, max_iter=1000).fit(features[:, 1:], found, sample_weight=weights)
    return np.append(fit.intercept_, fit.coef_[0])


def fitted(rows: Sequence[Row]) -> FloatArray:
    """Intercept and weights."""
    features, found, weights, _ = _table(rows)
    return _regression(features, found, weights)


def left_out_score(rows: Sequence[Row]) -> tuple[float, float]:
    """Brier score where each problem is left out of the fit, and that of always saying the mean."""
    features, found, weights, problem = _table(rows)
    said = np.zeros_like(found)
    for name in np.unique(problem):
        other = problem != name
        odds = _regression(features[other], found[other], weights[other])
        said[~other] = 1.0 / (1.0 + np.exp(-features[~other] @ odds))
    share = float(np.average(found, weights=weights))
    return float(np.average((said - found) ** 2, weights=weights)), share * (1.0 - share)
