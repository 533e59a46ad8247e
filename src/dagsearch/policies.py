"""Where a descent goes (section 3.3)."""

import math
from typing import Final, Protocol

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.compiled import compiled
from dagsearch._internal.ties import ENOUGH, TieBreaker, picked
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.backups import JointSamples
from dagsearch.expansions import Options
from dagsearch.explored import Explored
from dagsearch.scores.base import NOTHING, Capability

UNKNOWN: Final = -1
"""What is next in a descent must be looked at."""


class Policy(Protocol):
    """Rates the options at a node; the descent takes the best, ties broken at random."""

    requires: frozenset[Capability] = NOTHING
    """What the scores of the search must be able to do; a policy without this attribute requires nothing."""

    def rate(self, options: Options) -> FloatArray:
        """One number per option; the largest is the most urgent, whoever moves."""

    def value(self, options: Options) -> FloatArray:
        """One number per option; the largest is the best as far as is known, whoever moves."""


class UpperConfidence(Policy):
    """Mean value plus a bonus for uncertainty: ``μ + β sqrt(log(n) σ²)``.

    ``n`` counts the visits of the node that decides. Hence:

    - at a node's first visit, log(1) = 0, the option with the best mean is taken;
    - the bonus grows with the node's visits, but only an option's own uncertainty earns it;
    - at a MIN node the rule is mirrored: the smallest ``μ − β sqrt(log(n) σ²)`` is taken.

    Parameters
    ----------
    beta : float
        Exploration constant β ≥ 0.
    """

    def __init__(self, beta: float) -> None:
        if not is_finite(beta) or beta < 0.0:
            raise ValueError(f"beta must be finite and not negative, got {beta!r}")
        self.beta = float(beta)

    def rate(self, options: Options) -> FloatArray:
        """``sign · μ + β sqrt(log(n) σ²)`` of every option."""
        width = self.beta * math.sqrt(math.log(options.visits))
        return options.sign * options.mean + width * np.sqrt(options.variance)

    def value(self, options: Options) -> FloatArray:
        """Mean v of every option, as the one who moves sees it."""
        return options.sign * options.mean

    def follow(
        self, explored: Explored, node: int, draw: TieBreaker, one_by_one: bool
    ) -> tuple[IntArray, IntArray, int]:
        """Where :meth:`rate` leads from a node, as far as compiled code can tell.

        Nodes, indices of the actions that lead there, and what is next: the action to a child that is not in
        the DAG, if children enter ``one_by_one``, or :data:`UNKNOWN`. ``draw`` breaks ties, as long as
        it is fine enough.
        """
        graph = explored.graph
        if explored.has_lazy_children and one_by_one:
            descend = getattr(explored.scores, "descend", None)
            found = None if descend is None else descend(graph, explored.increments, node, draw, self.beta)
            if found is not None:
                return found  # type: ignore[no-any-return]
        nodes, actions, draw.value, draw.resolution = _follow_values(
            node,
            draw.value,
            draw.resolution,
            self.beta,
            graph.sign,
            graph.visits,
            graph.closed,
            graph.branching,
            graph.first,
            graph.count,
            graph.edge_child,
            graph.edge_action,
            graph.v_mean,
            graph.v_var,
        )
        return nodes, actions, UNKNOWN

    def __repr__(self) -> str:
        return f"UpperConfidence(beta={self.beta})"


@compiled
def _follow_values(
    node: int,
    draw: float,
    resolution: float,
    beta: float,
    sign: IntArray,
    visits: IntArray,
    closed: BoolArray,
    branching: IntArray,
    first: IntArray,
    count: IntArray,
    edge_child: IntArray,
    edge_action: IntArray,
    v_mean: FloatArray,
    v_var: FloatArray,
) -> tuple[IntArray, IntArray, float, float]:
    path, actions = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    length = 0
    while length < path.size and count[node] > 0 and not closed[node]:
        width = beta * math.sqrt(math.log(visits[node] + 1))
        tied = np.empty(count[node], dtype=np.int64)
        best, ties, options = -math.inf, 0, 0
        for edge in range(first[node], first[node] + count[node]):
            child = edge_child[edge]
            if child < 0:  # a second action to the same child is no second option
                continue
            options += 1
            if closed[child]:
                continue
            rating = sign[node] * v_mean[child] + width * math.sqrt(v_var[child])
            if rating > best:
                best, ties = rating, 0
            if rating == best:
                tied[ties] = edge
                ties += 1
        if ties == 0 or options < branching[node] or resolution < ties * ENOUGH:
            break
        option, draw, resolution = picked(draw, resolution, ties)
        chosen = tied[option]
        node = edge_child[chosen]
        path[length], actions[length] = node, edge_action[chosen]
        length += 1
    return path[:length], actions[:length], draw, resolution


class Thompson(Policy):
    """Follows one joint sample of v from the root down, another one every time.

    Options that are not in the DAG have no sample yet and are drawn on their own.

    Parameters
    ----------
    samples : JointSamples
        The search's back-up.
    """

    requires = frozenset({Capability.SAMPLES})

    def __init__(self, samples: JointSamples) -> None:
        self._samples = samples
        self._column = 0

    def rate(self, options: Options) -> FloatArray:
        """v of every option in the sample, as the one who moves sees it."""
        rng = self._samples.rng
        if options.at_root:
            self._column = int(rng.integers(self._samples.count))
        drawn = options.mean + np.sqrt(options.variance) * rng.standard_normal(options.mean.size)
        known = (options.children >= 0) & (options.children < len(self._samples.values))
        drawn[known] = self._samples.values[options.children[known], self._column]
        return options.sign * drawn

    def value(self, options: Options) -> FloatArray:
        """Mean v of every option, as the one who moves sees it."""
        return options.sign * options.mean

    def __repr__(self) -> str:
        return f"Thompson({self._samples!r})"
