"""How certain the findings are: the model's word, tempered by how well its predictions have held."""

from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.optimum import Optimum
from dagsearch.record import Record
from dagsearch.search import Search

# Models with other plausible hyperparameters that samples come from, samples in all, and leaves.
MODELS, SAMPLES, LEAVES = 8, 512, 600
# Below this share of predicted variance, probabilities are not stated.
LEAST_SKILL = 0.5
# Weight of a feature's probability if it entered the best subset only with the last score.
_LATE = 0.7
# Part of the best score's lead that may be unreal without consequences.
_MUCH_OPTIMISM = 0.2
# With less trust, probabilities are not stated.
_LEAST_TRUST = 0.1
# Probability that intervals of probabilities hold.
_CENTRAL = 0.9


class Fit(NamedTuple):
    """How well the model has predicted scores before they were known."""

    skill: float | None
    """Share of the variance of recent scores that was predicted; ``None`` with too few predictions."""
    coverage: float | None
    """Share of recent scores inside the 90% intervals that were predicted for them."""
    trust: float
    """Weight of the model's probabilities, from 0 to 1."""
    optimism: float = 0.0
    """Part of the best scores' lead that comes from choosing features on the rows that test them."""

    @property
    def known(self) -> bool:
        """Whether probabilities can be stated."""
        return self.trust > 0.0

    def sentence(self) -> str:
        """The same in words."""
        if self.skill is None:
            return (
                "Probabilities are not known: too few subsets were scored to tell how well the model predicts"
            )
        words = f"the model predicted {max(self.skill, 0.0):.0%} of the variance of scores beforehand"
        if not self.known and self.skill >= LEAST_SKILL:
            return (
                f"Probabilities are not known: {self.optimism:.0%} of the lead of the best scores is not real"
            )
        if not self.known:
            return f"Probabilities are not known: {words}, which is too little"
        return f"{words[0].upper()}{words[1:]}; {self.coverage:.0%} of them were inside its 90% intervals"


def model_fit(search: Search, optimism: float = 0.0) -> Fit:
    """How well the search's model predicts.

    ``optimism`` is the part of the best scores that is not real: what is predicted well may still not hold.
    If every subset has been scored, nothing is left to predict, and its word is taken as it is.
    """
    foresight, space = search.data.foresight, search.space
    skill, coverage = foresight.skill, foresight.coverage
    leaves = space.few_leaves
    scored = {space.key(evaluation.leaf) for evaluation in search.history}
    if leaves and all(space.key(leaf) in scored for leaf in leaves):
        return Fit(skill, coverage, 1.0)
    if skill is None or skill < LEAST_SKILL:
        return Fit(skill, coverage, 0.0)
    real = 1.0 - optimism if optimism > _MUCH_OPTIMISM else 1.0
    # Where all leaves are compared, no better region can have been overlooked.
    trust = real * (1.0 if leaves else min(skill, 1.0) ** 2)
    return Fit(skill, coverage, trust if trust > _LEAST_TRUST else 0.0, optimism)


def tempered_inclusion(
    optimum: Optimum | None, fit: Fit, record: Record, free: BoolArray, support: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probability that each feature belongs to the best subset, its interval, and the model's own word.

    The model's probabilities are shares of joint samples. With the weight of its trust they are mixed with
    what is known without a model, the share of features that are chosen. Features that entered the best
    subset late count less, because what has changed lately may change again. Intervals allow for any
    probability with the weight that the model lacks.

    Parameters
    ----------
    optimum : Optimum or None
        Joint samples; ``None`` if there are none.
    fit : Fit
        How well the model predicts.
    record : Record
        Everything scored.
    free : ndarray of shape (n_features,)
        Whether each feature may be chosen or not; others belong to all subsets or to none.
    support : ndarray of shape (n_features,)
        The chosen features.
    """
    if optimum is None:
        own, samples = support.astype(np.float64), 1
    else:
        samples = optimum.samples.shape[1]
        counts = np.zeros(support.size)
        for winner in optimum.winners.tolist():
            counts[list(optimum.leaves[winner])] += 1.0
        own = counts / samples
    if not fit.known or optimum is None:
        unknown = np.where(free, np.nan, own)
        return unknown, np.stack([unknown, unknown], axis=1), own
    tail = (1.0 - _CENTRAL) / 2.0
    low, high = (beta.ppf(q, own * samples + 0.5, (1.0 - own) * samples + 0.5) for q in (tail, 1.0 - tail))
    trust = np.where(free, fit.trust, 1.0)
    if fit.trust < 1.0:
        trust = np.where(free, trust * (_LATE + (1.0 - _LATE) * tenure(record, support.size)), trust)
    base = own[free].mean() if free.any() else 0.0
    probability = trust * own + (1.0 - trust) * base
    low, high = trust * np.minimum(low, own), trust * np.maximum(high, own) + (1.0 - trust)
    return probability, np.stack([low, high], axis=1), own


def tenure(record: Record, features: int) -> FloatArray:
    """Part of the run, up to its end, in which each feature was in the best subset so far; of others, 1."""
    found = np.ones(features)
    entered: dict[int, int] = {}
    best, entries = -np.inf, record.successes()
    for step, entry in enumerate(entries):
        if entry.scored.mean > best:
            best = entry.scored.mean
            entered = {column: entered.get(column, step) for column in entry.scored.columns}
    for column, step in entered.items():
        found[column] = 1.0 - step / len(entries)
    return found
