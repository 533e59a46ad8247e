"""Where a descent goes (section 3.3)."""

import math
from typing import Protocol

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.ties import TieBreaker
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.proposers.descent import follow_values, step_by_values
from dagsearch.proposers.expansions import Options, preview
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored


class Policy(Protocol):
    """Rates the options at a node; the descent takes the best, ties broken at random."""

    reads: Backup | None = None
    """The back-up whose results the policy reads, which must be the search's own; by default any will do."""

    def rate(self, options: Options) -> FloatArray:
        """One number per option: how urgent it is to try. The largest is best at MAX's and at MIN's turn."""

    def value(self, options: Options) -> FloatArray:
        """One number per option: how good it is believed to be. The largest is best at either turn."""


class CompiledPolicy(Policy, Protocol):
    """A policy whose ratings compiled code can compute where it needs nothing but arrays.

    Only a class that defines ``follow`` itself is followed, so that a subclass may rate differently.
    """

    def follow(
        self, explored: Explored, node: int, tie_breaker: TieBreaker, one_by_one: bool
    ) -> tuple[IntArray, IntArray, int]:
        """Where :meth:`rate` leads from a node, as far as compiled code can go.

        Parameters
        ----------
        explored : Explored
            The DAG and the beliefs.
        node : int
            Where to start.
        tie_breaker : TieBreaker
            Breaks ties; the walk stops where its resolution is used up.
        one_by_one : bool
            Whether children enter the DAG one at a time, so that children outside of it may be chosen, too.

        Returns
        -------
        nodes, actions : arrays of int
            The nodes that follow, and the index of the action that leads to each.
        next_action : int
            Index of the next action if it leads out of the DAG, else ``descent.UNKNOWN``.
        """


class UpperConfidence(CompiledPolicy):
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
        """Mean v of every option, negated at MIN's turn."""
        return options.sign * options.mean

    def follow(
        self, explored: Explored, node: int, tie_breaker: TieBreaker, one_by_one: bool
    ) -> tuple[IntArray, IntArray, int]:
        """Where :meth:`rate` leads from a node, see :meth:`CompiledPolicy.follow`."""
        graph = explored.graph
        start = node, tie_breaker.value, tie_breaker.resolution, self.beta, graph.arrays
        if one_by_one and explored.has_lazy_children and graph.count[node] < graph.branching[node]:
            walk = step_by_values(*start, *preview(explored, node, explored.children(node))[1])
        else:
            walk = follow_values(*start)
        nodes, actions, next_action, tie_breaker.value, tie_breaker.resolution = walk
        return nodes, actions, next_action

    def __repr__(self) -> str:
        return f"UpperConfidence(beta={self.beta})"
