"""The belief over g, with units, noise, hyperparameters and rewards."""

import logging
from collections.abc import Mapping, Sequence
from heapq import nlargest
from statistics import fmean
from typing import Any, cast

import numpy as np

from dagsearch._internal.checks import check, is_count
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, Hyperparameter
from dagsearch.errors import CovarianceError
from dagsearch.log import Log
from dagsearch.posterior.base import JointScores, Scores, evenly
from dagsearch.posterior.evidence import FEWEST, Evidence, LogPosterior, by_leaf
from dagsearch.posterior.function import FunctionScores
from dagsearch.posterior.index import Index
from dagsearch.posterior.units import Episode, Units
from dagsearch.problem import State
from dagsearch.results import Gaussian
from dagsearch.space.walks import shape_rng

logger = logging.getLogger(__name__)

# Fantasies move on by this number of pending leaves at a time, so that they rarely change.
_BLOCK = 64
# Number of rewarded leaves at which functions are conditioned again on fewer, and that smaller number.
_MOST_LEAVES, _KEPT = 1000, 750
# Number of rewards at which hyperparameters are first learnt.
_FIRST = 3
# Number of rewards after which their scale is checked, and its largest ratio to the prior's.
_JUDGED, _OTHER_SCALE = 20, 10.0


class Posterior:
    """The Gaussian belief over the generative scores, given the rewards so far.

    Only this class changes the score model: it standardises rewards, conditions the model on them and learns
    its hyperparameters. ``index`` holds the model; the other arguments are those of
    :class:`dagsearch.Search`.
    """

    def __init__(self, index: Index, evidence: Evidence | None, standardize: int, repeats: bool) -> None:
        self._index, self.evidence = index, evidence
        # Number of rewards at which hyperparameters are learnt next, and whether they ever were.
        self._learns_at, self._has_learnt = _FIRST, False
        check(is_count(standardize), "standardize", "a whole number of at least 0", standardize)
        self._standardize = int(standardize)
        self._missing = self._standardize  # rewards are held back until this many more are reported
        self.units = Units()
        """The model's units."""
        self._as_they_are = standardize == 0 and evidence is None
        self.learns_noise = repeats and evidence is not None
        """Whether the noise is learnt; the best leaf then has the largest mean g."""
        self.part = 0
        """The part of the search on whose rewards the model is conditioned."""
        self._parts: list[list[Episode]] = [[]]
        # Hyperparameters of other parts, noise included, and when they are learnt next.
        self._left: dict[int, tuple[Covariance, float, int]] = {}
        self.log = Log()
        """Records the hyperparameters."""
        # The pending leaves that count as observed, and the model without them.
        self._fantasies, self._real = slice(0, 0), index.scores

    @property
    def scores(self) -> Scores:
        """The score model."""
        return self._index.scores

    @property
    def told(self) -> list[Episode]:
        """Every reward of the current part, in the user's units."""
        return self._parts[self.part]

    @property
    def informed(self) -> bool:
        """Whether the model knows any reward."""
        return bool(self.told) and self._missing == 0

    def enter(self, part: int) -> None:
        """Condition the model on the rewards of this part alone, with the part's last hyperparameters.

        A part without rewards begins like the search, but with the current hyperparameters.
        """
        if part == self.part:
            return
        self.discard_fantasies()
        scores = cast(JointScores, self._index.scores)
        known = scores.covariance, scores.noise, self._learns_at
        if self.told:
            self._left[self.part] = known
        self.part = part
        self._parts += [[] for _ in range(part + 1 - len(self._parts))]
        self._missing = 0 if self.told else self._standardize
        if self.told and not self._as_they_are:
            self.units = Units.of([episode.reward for episode in self.told])
        covariance, noise, self._learns_at = self._left.get(part, (*known[:2], _FIRST))
        self._has_learnt = bool(self.told)
        self._index.replace_scores(self._refitted(scores, covariance, noise))

    def admit(self, episode: Episode, part: int = 0) -> Sequence[Episode]:
        """Add a reward of a part; returns the rewards to learn from now, in the model's units."""
        self._parts[part].append(episode)
        if part != self.part:
            return []
        if len(self.told) == _JUDGED:
            self._check_scale()
        if self._missing == 0:
            return [self.units.standardized(episode)]
        return self._wait_for(self._missing - 1)

    def rebind(self, covariance: Covariance, fresh: int) -> None:
        """Use a covariance of codes that have grown; its hyperparameters are learnt from scratch.

        The last ``fresh`` rewards have not been learnt yet.
        """
        scores, known = cast(JointScores, self._index.scores), self.told[: len(self.told) - fresh]
        self._index.replace_scores(self._refitted(scores, covariance, scores.noise, known))
        self._learns_at, self._left = _FIRST, {}

    def missed(self) -> Sequence[Episode]:
        """Stop waiting for one reward, but not for the first two; returns what :meth:`admit` does."""
        return self._wait_for(max(self._missing - 1, 2 - len(self.told)) if self._missing > 0 else 0)

    def settle(self) -> Sequence[Episode]:
        """Release rewards that were held back, in the model's units."""
        return self._wait_for(0)

    def _wait_for(self, missing: int) -> Sequence[Episode]:
        """Hold rewards back until this many more are reported; returns those that are released."""
        waited, self._missing = self._missing > 0, missing
        if missing > 0 or not waited or not self.told:
            return []
        self.units = Units.of([episode.reward for episode in self.told])
        return [self.units.standardized(episode) for episode in self.told]

    def condition(self, episodes: Sequence[Episode]) -> list[CovarianceError]:
        """Learn from rewards in the model's units; returns the errors of those that the scores refuse."""
        if not episodes:
            return []
        assert self._fantasies.stop == 0, "discard fantasies first"
        refused = []
        for episode in episodes:
            try:
                self._index.scores.condition(episode.leaf, episode.reward, episode.noise)
            except CovarianceError as error:
                refused.append(error)
        if self.evidence is not None and self.log.learns and len(self.told) >= self._learns_at:
            self.learn()
        elif isinstance(self._index.scores, FunctionScores) and self._index.scores.size >= _MOST_LEAVES:
            now = self._index.scores
            self._index.replace_scores(self._refitted(now, now.covariance, now.noise))
        return refused

    def forget(self, row: int) -> None:
        """Unlearn all rewards of a leaf."""
        before = len(self.told)
        self._parts = [[one for one in part if one.leaf != row] for part in self._parts]
        forgotten = before - len(self.told)
        scores = cast(JointScores, self._index.scores)
        if self._missing > 0:
            self._missing += forgotten
        else:
            self._index.replace_scores(self._refitted(scores, scores.covariance, scores.noise))

    # Pending leaves --------------------------------------------------------------------------------

    def fantasise(self, pending: Sequence[State]) -> bool:
        """Count pending leaves as observed: this lowers variances but does not move means.

        Only the last 64 to 127 leaves count, because the cost of an ask after a tell grows with their number.
        They must be a function of the pending leaves alone. Returns whether the belief has changed.
        """
        wanted = slice(max(0, len(pending) // _BLOCK - 1) * _BLOCK, len(pending))
        if self._missing > 0 or not self._index.scores.is_joint or wanted == self._fantasies:
            return False
        self.discard_fantasies()
        rows = self._index.nodes(pending[wanted])
        # All at once: the last digits may depend on it.
        pretended = cast(JointScores, self._index.scores).fantasised(rows)
        self._real, self._fantasies = self._index.scores, wanted
        self._index.scores = pretended
        return True

    def discard_fantasies(self) -> bool:
        """Restore the belief without fantasies; returns whether it has changed."""
        if self._fantasies.stop == 0:
            return False
        if fresh := self._index.states[len(self._real.moments()[0]) :]:
            self._real.track(fresh)
        self._index.scores, self._fantasies = self._real, slice(0, 0)
        return True

    # Predictions -----------------------------------------------------------------------------------

    def moments(self, nodes: Sequence[int] | IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of known states."""
        self._index.scores.refresh(nodes)
        mean, variance = self._index.scores.moments()
        return mean[nodes], variance[nodes]

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of any states; known leaves use their own rewards."""
        mean, variance = map(np.array, self._index.scores.predict(states))
        nodes = np.array([self._index.find(state) for state in states], dtype=np.int64)
        known = np.flatnonzero(nodes >= 0)
        if known.size > 0:
            mean[known], variance[known] = self.moments(nodes[known])
        return mean, variance

    def of_reward(self, node: int, noise: float | None) -> Gaussian | None:
        """Predicted reward of a leaf, noise included, in the user's units.

        ``None`` before the first reward, or without a joint belief.
        """
        if not self.informed or not self._index.scores.is_joint:
            return None
        belief = self.in_reward_units(self._index.score(node))
        return Gaussian(belief.mean, belief.variance + (self.noise if noise is None else noise))

    @property
    def noise(self) -> float:
        """Noise variance of a reward without its own, in the user's units."""
        return self.units.scale**2 * cast(JointScores, self._index.scores).noise

    def in_reward_units(self, belief: Gaussian) -> Gaussian:
        """A belief of the model in the user's units."""
        shift, scale = self.units
        return Gaussian(shift + scale * belief.mean, scale**2 * belief.variance)

    def _check_scale(self) -> None:
        """Warn if rewards that are not standardised differ from the prior in scale."""
        covariance = self._index.scores.covariance
        if covariance is None or not self._as_they_are:
            return
        rewards, leaves = [episode.reward for episode in self.told], {episode.leaf for episode in self.told}
        # Repeats of a few leaves vary little, but may be far from the prior mean.
        spread = float(
            np.std(rewards) if len(leaves) > len(rewards) / 2 else np.sqrt(np.mean(np.square(rewards)))
        )
        states = [self._index.states[leaf] for leaf in leaves]
        prior = float(np.sqrt(np.mean(np.diag(covariance(states)))))
        if spread > 0.0 and not prior / _OTHER_SCALE <= spread <= prior * _OTHER_SCALE:
            logger.warning(
                "the first %d rewards are of the scale %.2g, the prior is of the scale %.2g: the settings c, "
                "noise and beta then mean little, and the same few leaves may be asked for again and again. "
                "Scale the rewards, or pass standardize=20, or a c and a noise that match",
                _JUDGED,
                spread,
                prior,
            )

    # Hyperparameters -----------------------------------------------------------------------------------

    def learn(self, recorded: Mapping[str, Any] | None = None) -> None:
        """Refit the scores with the hyperparameters of maximal evidence, or with recorded ones.

        If another part has learnt the recorded ones, they wait until that part is entered again.
        """
        evidence, old = cast(Evidence, self.evidence), cast(JointScores, self._index.scores)
        part = self.part if recorded is None else recorded.get("part", self.part)  # earlier versions: no part
        told = self._parts[part] if part < len(self._parts) else []
        if recorded is not None and (part != self.part or not told):
            if told:
                found = old.covariance.with_values(recorded["values"]), recorded["noise"]
                self._left[part] = *found, evidence.next_after(len(told))
            return
        self._learns_at, before = evidence.next_after(len(told)), self.units
        self.units = Units.of([episode.reward for episode in self.told])
        try:
            if recorded is None:
                first = not self._has_learnt
                found = evidence.maximise(self._log_posterior(old), shape_rng(), self._index.deadline, first)
                covariance, noise = found
            else:
                covariance, noise = old.covariance.with_values(recorded["values"]), recorded["noise"]
            self._has_learnt |= len({episode.leaf for episode in self.told}) >= FEWEST
            values = [parameter.value for parameter in covariance.hyperparameters]
            self.log.write("learnt", values=values, noise=noise, part=self.part)
            self._index.replace_scores(self._refitted(old, covariance, noise))
        except BaseException:  # such as Ctrl-C: beliefs and units must match
            self.units = before
            raise
        logger.debug("after %d rewards: %r, noise %.3g", len(self.told), covariance, noise)

    def _refitted(
        self, scores: JointScores, covariance: Covariance, noise: float, told: list[Episode] | None = None
    ) -> JointScores:
        """A model of the same rewards, or of others, with another covariance and noise.

        Functions are conditioned on a limited number of leaves: half of them are the best ones, the others
        evenly spaced in the order of discovery.
        """
        fresh = type(scores)(covariance, noise, scores.prior_mean)
        fresh.track(self._index.states)
        told = self.told if told is None else told
        found: dict[int, list[float]] = {}
        for one in told:
            found.setdefault(one.leaf, []).append(one.reward)
        if isinstance(fresh, FunctionScores) and len(found) >= _MOST_LEAVES:
            kept = set(nlargest(_KEPT // 2, found, key=lambda leaf: fmean(found[leaf])))
            others = [leaf for leaf in found if leaf not in kept]
            kept.update(others[place] for place in evenly(len(others), _KEPT - len(kept)))
            told = [one for one in told if one.leaf in kept]
        if told and self._missing == 0:
            fresh.condition_all(*self._rewards(told))
        return fresh

    def _log_posterior(self, scores: JointScores) -> LogPosterior:
        states, covariance = self._index.states, scores.covariance
        median, deviation = (0.1, 1.5) if self.learns_noise else (1e-3, 1.5)
        if covariance.private > 0.0 and not self.learns_noise:  # private variance acts as noise
            median, deviation = scores.noise, 0.0
        noise = Hyperparameter("noise", scores.noise, median, deviation)
        observed = by_leaf(
            lambda nodes: covariance.represent([states[node] for node in nodes]), *self._rewards(self.told)
        )
        return LogPosterior(covariance, noise, observed)

    def _rewards(self, told: Sequence[Episode]) -> tuple[list[int], list[float], list[float | None]]:
        """Leaf, reward and noise of rewards, in the model's units."""
        told = [self.units.standardized(episode) for episode in told]
        rewards = [episode.reward for episode in told]
        return [episode.leaf for episode in told], rewards, [episode.noise for episode in told]
