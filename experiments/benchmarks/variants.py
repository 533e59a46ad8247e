"""The default search, and variants of it with one part changed."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dagsearch.covariances import Nearness, Overlap, SetKernel
from dagsearch.methods import default_parts
from dagsearch.problem import Children, Problem
from dagsearch.problems import Subsets
from dagsearch.proposers import Climb, Descent, Nearby, Portfolio, Proposer, View
from dagsearch.proposers.expansions import OneChild
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Greedy, Rollout
from dagsearch.search import Search
from dagsearch.values.explored import Explored
from experiments.paper import mnist

OURS = "dagsearch"
Composed = Callable[[Any, int, int], Search]
"""``make(problem, seed, initial)``: a search that begins with ``initial`` uniform roll-outs."""


def changed(problem: Problem, seed: int, initial: int, **changes: Any) -> Search:
    """The default search with some of its parts changed."""
    covariance = changes.pop("covariance", None)
    parts: dict[str, Any] = {**default_parts(problem, covariance, initial=initial), **changes}
    return Search(problem, **parts, seed=seed)


def descending(problem: Problem, seed: int, initial: int, rollout: Rollout | None = None) -> Search:
    """The default search in which all leaves come from descents."""
    descent = Descent(UpperConfidence(0.5), rollout or Greedy(1.0), OneChild())
    return changed(problem, seed, initial, proposers=Portfolio([descent], initial=initial))


# Who proposes -----------------------------------------------------------------------------------------


def with_descents(problem: Problem, seed: int, initial: int, climbs: int) -> Search:
    """A descent after every ``climbs`` climbs."""
    proposers = [_descent(), *[_climb(problem, initial)] * climbs]
    return changed(problem, seed, initial, proposers=Portfolio(proposers, Nearby(), initial))


def _descent() -> Descent:
    return Descent(UpperConfidence(0.5), Greedy(1.0), OneChild())


def _climb(problem: Problem, initial: int) -> Proposer:
    """The climb of the default search."""
    portfolio = default_parts(problem, initial=initial)["proposers"]
    assert isinstance(portfolio, Portfolio)
    return next(one for one in portfolio.proposers if isinstance(one, Climb))


class Earning(Portfolio):
    """Descents and climbs; the share of the descents follows the improvements that each has brought."""

    least, most, decay = 1.0 / 16.0, 0.5, 0.97

    def __init__(self, descent: Descent, climb: Proposer, initial: int) -> None:
        super().__init__([descent, climb], Nearby(), initial)
        self._last, self._known = climb, 0
        self._tried, self._earned = {descent: 1.0, climb: 1.0}, {descent: 1.0, climb: 1.0}

    def turn(self, view: View, rng: np.random.Generator) -> Iterator[Proposer]:
        """A descent as often as its share of what was earned per try says, within limits."""
        descent, climb = self.proposers
        if len(view.data) > self._known:
            self._known = len(view.data)
            for proposer in self.proposers:
                self._tried[proposer] *= self.decay
                self._earned[proposer] *= self.decay
            self._tried[self._last] += 1.0
            self._earned[self._last] += view.data.best is view.data.evaluations[-1]
        rates = [self._earned[one] / self._tried[one] for one in (descent, climb)]
        share = min(max(rates[0] / sum(rates), self.least), self.most)
        self._turn = 0 if rng.random() < share else 1
        self._last = self.proposers[self._turn]
        return super().turn(view, rng)


def earning(problem: Problem, seed: int, initial: int) -> Search:
    """Descents by what they earn."""
    portfolio = Earning(_descent(), _climb(problem, initial), initial)
    return changed(problem, seed, initial, proposers=portfolio)


class UnmergedStates(Explored):
    """The explored part as a tree: inner states that are reached on two paths are two nodes."""

    def enter(self, node: int, children: Children, action: int) -> int:
        """The child that an action leads to: a leaf, or a node of its own."""
        state = self.problem.step(children.parent, children.actions[action])
        if len(self.problem.actions(state)) == 0:
            return super().enter(node, children, action)
        key = ("below", node, action)
        child = self.graph.find(key)
        if child < 0:
            self.scores.track([state])
            child = self.graph.add(key, state, self.space.player(state), len(self.problem.actions(state)))
            self.link(node, [child], [action])
        return child


def in_a_tree(problem: Problem, seed: int, initial: int, climbs: int) -> Search:
    """:func:`with_descents`, with values from the tree instead of the DAG."""
    search = with_descents(problem, seed, initial, climbs)
    search.explored.__class__ = UnmergedStates
    return search


PORTFOLIOS: dict[str, Composed] = {
    "no descents": lambda p, s, i: changed(p, s, i, proposers=Portfolio([_climb(p, i)], Nearby(), initial=i)),
    "1 in 16": lambda p, s, i: with_descents(p, s, i, 15),
    "1 in 4": lambda p, s, i: with_descents(p, s, i, 3),
    "by what they earn": earning,
    "1 in 4, in the tree": lambda p, s, i: in_a_tree(p, s, i, 3),
}
"""How many of the leaves descents propose."""


def _nearness(problem: Subsets) -> Nearness:
    assert problem.positions is not None
    return Nearness(problem.positions)


ABLATIONS: dict[str, Composed] = {
    OURS: changed,
    "descents only": descending,
    "local search only": lambda p, s, i: changed(p, s, i, proposers=Portfolio([Nearby()], initial=i)),
    "no evidence": lambda p, s, i: changed(p, s, i, evidence=None),
}
"""For any problem."""
SET_ABLATIONS: dict[str, Composed] = {
    **ABLATIONS,
    "items all unlike": lambda p, s, i: changed(p, s, i, covariance=SetKernel()),
    "linear only": lambda p, s, i: changed(p, s, i, covariance=SetKernel(_nearness(p), nonlinear=0.0)),
    "overlap of partial sets": lambda p, s, i: changed(p, s, i, covariance=Overlap.of(p)),
    "paper's method": lambda p, s, i: mnist.METHODS["probabilistic DAG"](p, s),
}
"""For subsets of items that have positions."""
