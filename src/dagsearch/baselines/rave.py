"""UCT-RAVE for feature selection (Gaudel and Sebag 2010), as in appendix B.2 of the paper.

==============  ==================  ======================================================================
paper           code                meaning
==============  ==================  ======================================================================
g-RAVE_p        overall             mean reward of the observed leaves that contain item p
l-RAVE_{i,p}    at a node           the same over the n_l descents through node i
μ_j, σ_j², n_j  averages            mean, variance and number of the rewards of child j
n_i             averages.count      number of rewards of the deciding node
α, β            alpha, beta         c_2/(c_2 + n_j) and c_3/(c_3 + n_l)
==============  ==================  ======================================================================

Averages belong to sets of items, so a child's rewards count whichever parent led to it. Its rating is

    (1−α) μ_j + α ((1−β) l-RAVE + β g-RAVE) + sqrt(c_1 ln(n_i)/n_j · min(1/4, σ_j² + sqrt(2 ln(n_i)/n_j))).

The paper leaves open what to do without rewards. Here an unvisited child has n_j = 1 in the last term
(otherwise all 784 children would be visited before any is visited twice), and the g-RAVE of an item that no
observed leaf contains is the mean of all rewards.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import chain

import numpy as np

from dagsearch._internal.checks import check, is_positive
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import FloatArray
from dagsearch.baselines.averages import Averages
from dagsearch.errors import ProblemError
from dagsearch.posterior.units import Episode
from dagsearch.problem import Action, State
from dagsearch.proposers.expansions import Options
from dagsearch.proposers.policies import Policy
from dagsearch.values.explored import Explored

_NOTHING = (0.0, 0.0)


class _ItemRewards:
    """Rewards of the leaves that contain each item; a leaf counts only the first time it is observed."""

    def __init__(self) -> None:
        self._leaves: set[int] = set()
        self._totals: dict[Hashable, tuple[float, float]] = {}

    def add(self, leaf: int, items: Iterable[Hashable], reward: float) -> None:
        if leaf not in self._leaves:
            self._leaves.add(leaf)
            for item in items:
                count, total = self._totals.get(item, _NOTHING)
                self._totals[item] = count + 1.0, total + reward

    def counts_and_sums(self, items: Sequence[Hashable]) -> tuple[FloatArray, FloatArray]:
        table = np.array([self._totals.get(item, _NOTHING) for item in items])
        return table[:, 0], table[:, 1]


class RaveAverages(Averages):
    """Averages of the traversed nodes, and of items: over all leaves and over those below each node.

    Parameters
    ----------
    items : callable
        ``items(leaf)``: the items of a leaf, see :class:`dagsearch.Problem`.
    """

    def __init__(self, items: Callable[[State], Iterable[Hashable]]) -> None:
        super().__init__()
        self._items = items
        self.overall = _ItemRewards()
        self.at = defaultdict[int, _ItemRewards](_ItemRewards)

    def learn(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, and update the items' averages."""
        super().learn(explored, episodes)
        for episode in episodes:
            items = list(self._items(explored.graph.states[episode.leaf]))
            self.overall.add(episode.leaf, items, episode.reward)
            for node in episode.path:
                self.at[node].add(episode.leaf, items, episode.reward)


class Rave(Configured, Policy):
    """The rule of appendix B.2, for problems whose actions each add one item.

    Parameters
    ----------
    averages : RaveAverages
        The back-up of the search, which has the statistics.
    added_items : callable
        ``added_items(state, actions)``, see :class:`dagsearch.Problem`.
    c1, c2, c3 : float
        Exploration constant, and numbers of rewards after which the children's own means (c2) and the local
        scores (c3) have the same weight as the more general ones.
    """

    def __init__(
        self,
        averages: RaveAverages,
        added_items: Callable[[State, Sequence[Action]], Sequence[Collection[Hashable]]],
        c1: float = 1e-4,
        c2: float = 1e4,
        c3: float = 1e4,
    ) -> None:
        for name, constant in (("c1", c1), ("c2", c2), ("c3", c3)):
            check(is_positive(constant), name, "finite and positive", constant)
        self._averages = averages
        self._added_items = added_items
        self.c1, self.c2, self.c3 = float(c1), float(c2), float(c3)

    def rate(self, options: Options) -> FloatArray:
        """The score of every option."""
        averages, nodes, made = self._averages, options.nodes, options.made
        actions = [made.actions[action] for action in options.actions.tolist()]
        added = self._added_items(made.parent, actions)
        if several := [list(items) for items in added if len(items) != 1]:
            raise ProblemError(
                f"UCT-RAVE needs actions that add exactly one item, but one adds {several[0]!r}"
            )
        items = list(chain.from_iterable(added))
        seen, total = averages.overall.counts_and_sums(items)
        overall = np.where(seen > 0.0, total / np.maximum(seen, 1.0), averages.mean[options.explored.root])
        seen, total = averages.at[options.node].counts_and_sums(items)
        beta = self.c3 / (self.c3 + seen)
        rave = (1.0 - beta) * total / np.maximum(seen, 1.0) + beta * overall
        (number, mean), variance = averages.of(options, nodes), averages.variance[nodes]
        alpha = self.c2 / (self.c2 + number)
        expected = (1.0 - alpha) * mean + alpha * options.sign * rave
        spent = math.log(max(1.0, float(averages.count[options.node]))) / np.maximum(number, 1.0)
        bonus = np.sqrt(self.c1 * spent * np.minimum(0.25, variance + np.sqrt(2.0 * spent)))
        return np.asarray(expected + bonus)

    def value(self, options: Options) -> FloatArray:
        """Mean reward of every option; −∞ for options without rewards."""
        return self._averages.value(options, options.nodes)
