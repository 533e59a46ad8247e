"""The maximum of correlated children compared with independent ones, by a custom back-up.

It is a separate experiment, smaller than the others, because it takes several times as long.
"""

import math
import time
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.posterior import JointScores
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import checked_prior, pair_maximum, with_prior
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper import synthetic, tictactoe
from experiments.paper.methods import OURS, paper

CORRELATED = f"{OURS}, correlated"
BETA = 1.0


class Correlated(Backup):
    """Moment matching with the covariance of the children's scores: O(b²) for b children.

    Covariances not explained by the scores, such as those of Δ, count as 0.

    Parameters
    ----------
    prior : (mean, variance), optional
        As for :class:`dagsearch.values.backups.MomentMatching`.
    """

    def __init__(self, prior: Sequence[float] | None = None) -> None:
        self._prior = checked_prior(prior)

    def back_up(self, explored: Explored) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, children before parents."""
        graph, scores, increments = explored.graph, explored.scores, explored.increments
        assert isinstance(scores, JointScores)
        increments.widen(graph.widest)
        g_mean, g_var = scores.moments()
        for node in graph.deepest_first().tolist():
            depth = min(int(graph.level[node]), increments.depth)
            if graph.terminal[node] or graph.count[node] == 0:
                inner = 0.0 if graph.terminal[node] else 1.0
                graph.v_mean[node] = g_mean[node] + inner * increments.mean[depth]
                graph.v_var[node] = g_var[node] + inner * increments.variance[depth]
                continue
            children = graph.edge_child[graph.edges(node)]
            options = children[children >= 0]  # a second action to the same child is not another option
            mean, variance = graph.v_mean[options], graph.v_var[options]
            missing = int(graph.branching[node]) - options.size
            if missing > 0:
                options = np.append(options, node)
                mean = np.append(mean, g_mean[node] + increments.mean_table[depth, missing])
                variance = np.append(variance, g_var[node] + increments.var_table[depth, missing])
            covariance = _of_values(scores.joint(options.tolist()), variance)
            sign, (prior_mean, prior_var) = int(graph.sign[node]), self._prior
            best, graph.v_var[node] = fold(sign * mean, covariance, sign * prior_mean, prior_var)
            graph.v_mean[node] = sign * best


def _of_values(scores: FloatArray, variance: FloatArray) -> FloatArray:
    """Covariance of values, from the scores' covariance and the values' variances.

    Variance beyond the score's is independent. A value with less variance, such as a maximum, shares
    accordingly less.
    """
    own = scores.diagonal()
    kept = np.sqrt(np.minimum(1.0, variance / np.where(own > 0.0, own, 1.0)))
    covariance: FloatArray = scores * kept[:, None] * kept
    covariance[np.diag_indices(variance.size)] = variance
    return covariance


def fold(
    means: FloatArray, covariance: FloatArray, prior_mean: float = 0.0, prior_var: float = math.inf
) -> tuple[float, float]:
    """Maximum of jointly Gaussian variables, merged in the order of their variances; the prior comes last.

    The covariance of a partial maximum with a later variable z is Clark's, and exact for two variables:
    cov(max(x, y), z) = Φ(α) cov(x, z) + Φ(−α) cov(y, z), with α the standardised mean of x − y.
    """
    first, *others = np.argsort(covariance.diagonal()).tolist()
    mean, var, shared = float(means[first]), float(covariance[first, first]), covariance[first]
    if not others:
        return with_prior(mean, var, prior_mean, prior_var)
    for i in others:
        other = float(means[i]), float(covariance[i, i])
        spread = math.sqrt(var * other[1])
        corr = 0.0 if spread == 0.0 else min(1.0, max(-1.0, float(shared[i]) / spread))
        square, gap = var + other[1] - 2.0 * corr * spread, mean - other[0]
        weight = 0.5 * math.erfc(-gap / math.sqrt(2.0 * square)) if square > 0.0 else float(gap >= 0.0)
        prior = (prior_mean, prior_var) if i == others[-1] else (0.0, math.inf)
        mean, var = pair_maximum(mean, var, *other, corr, *prior)
        shared = weight * shared + (1.0 - weight) * covariance[i]
    return mean, var


METHODS = {
    preset: {OURS: paper(preset), CORRELATED: paper(preset, backup=lambda _: Correlated(prior=(0.0, 1.0)))}
    for preset in ("synthetic", "tictactoe")
}


def run(quick: bool, jobs: int) -> Outcome:
    """Rewards, and the processor time of every round."""
    rounds = {"synthetic": 2 if quick else 40, "tictactoe": 1 if quick else 25}
    tasks = [
        (name, method, number, quick)
        for name, count in rounds.items()
        for method in (OURS, CORRELATED)
        for number in range(count)
    ]
    rows = run_rounds(one_round, tasks, jobs)
    return Outcome("correlated", rows, {"rounds": rounds, "beta": BETA})


def one_round(name: str, method: str, number: int, quick: bool) -> list[Row]:
    """One round of one of the two experiments."""
    began = time.process_time()
    if name == "synthetic":
        rows = synthetic.one_round(method, BETA, number, 10 if quick else 60, METHODS[name])
    else:
        rows = tictactoe.one_repetition(method, number, 2, 5 if quick else 150, METHODS[name])
    seconds = Row(method, f"{name}, seconds", number, rows[-1].step, time.process_time() - began)
    return [*(row._replace(setting=name) for row in rows), seconds]
