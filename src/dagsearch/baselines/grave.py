"""RAVE with statistics of an ancestor: GRAVE (Cazenave 2015), and RAVE as its special case.

==========  =====================  ====================================================================
paper       code                   meaning
==========  =====================  ====================================================================
p_m, w_m    own                    number and sum of the rewards of descents that made move m at a node
pa_m, wa_m  later                  the same for all games through a node in which m was made later
tref        reference              the last node of the descent so far with more than ``ref`` rewards
β_m         beta                   pa_m / (pa_m + p_m + bias · pa_m · p_m)
==========  =====================  ====================================================================

A move is rated (1 − β_m) w_m/p_m + β_m wa_m/pa_m, where w_m and p_m belong to the deciding node, and wa_m and
pa_m to tref. A move that occurs in no game through tref comes first. There is no further bonus.
Moves are distinguished by who made them. The explored DAG is the transposition table.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import checked_constant
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.baselines.averages import Averages
from dagsearch.posterior.units import Episode
from dagsearch.problem import State
from dagsearch.proposers.expansions import Options
from dagsearch.proposers.policies import Policy
from dagsearch.values.explored import Explored


class MoveAverages(Averages):
    """Averages of the traversed nodes, of their moves, and of all moves of the games through them.

    Parameters
    ----------
    moves : callable
        ``moves(state)``: numbers of the moves that led to a state; equal numbers are equal moves by the same
        player.
    move_numbers : callable
        ``move_numbers(state)``: the number of each of the state's actions.
    """

    def __init__(
        self, moves: Callable[[State], Sequence[int]], move_numbers: Callable[[State], IntArray]
    ) -> None:
        super().__init__()
        self._moves, self._move_numbers = moves, move_numbers
        self._numbers: dict[int, IntArray] = {}
        self.own = np.zeros((2, 64, 64))
        """Number and sum of the rewards of descents that made a move at a node, by node and move."""
        self.later = np.zeros((2, 64, 64))
        """The same for games through a node in which the move was made there or later."""

    def numbers(self, explored: Explored, node: int) -> IntArray:
        """The numbers of the moves at a node, by action; makes room for their statistics."""
        if node not in self._numbers:
            self._numbers[node] = self._move_numbers(explored.graph.states[node])
            self._reserve_moves(node, self._numbers[node])
        return self._numbers[node]

    def _reserve_moves(self, node: int, moves: IntArray) -> None:
        shape = 2, node + 1, int(moves.max(initial=0)) + 1
        self.own, self.later = grown(self.own, *shape), grown(self.later, *shape)

    def learn(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, and update the averages of moves."""
        super().learn(explored, episodes)
        for episode in episodes:
            if not episode.path:
                continue
            path, counted = episode.path, np.array([1.0, episode.reward])
            # A node's state knows one path to it; this game may have taken another.
            made = [self._made(explored, node, child) for node, child in pairwise(path)]
            before = len(self._moves(explored.graph.states[path[-1]]))
            moves = np.array([*made, *self._moves(episode.state)[before:]], dtype=np.int64)
            for place, node in enumerate(path):
                later = np.unique(moves[place:])  # once, however often it was made
                self._reserve_moves(node, later)
                self.later[:, node, later] += counted[:, None]
            for node, move in zip(path, made, strict=False):
                self.own[:, node, move] += counted

    def _made(self, explored: Explored, node: int, child: int) -> int:
        """The number of the move from a node to its child."""
        edges = explored.graph.edges(node)
        action = explored.graph.edge_action[edges][explored.graph.edge_child[edges] == child][0]
        return int(self.numbers(explored, node)[action])


class Grave(Configured, Policy):
    """The rule of GRAVE, see the module's docstring; with ``ref`` 0 it is RAVE.

    Parameters
    ----------
    averages : MoveAverages
        Has the statistics.
    ref : float
        A node's own statistics of moves are used if it has more rewards than this; with 0, always.
    bias : float
        The larger, the sooner a move's own mean prevails.
    """

    def __init__(self, averages: MoveAverages, ref: float, bias: float) -> None:
        self._averages = averages
        self.ref, self.bias = checked_constant("ref", ref), checked_constant("bias", bias)
        self._reference = 0

    def rate(self, options: Options) -> FloatArray:
        """The rating of every option; infinite for moves that no game through the reference contains."""
        averages, explored, node = self._averages, options.explored, options.node
        averages.reserve(len(explored.graph))
        moves = averages.numbers(explored, node)[options.actions]
        if node == explored.root or averages.count[node] > self.ref:
            self._reference = node
        (own, total), (made, later) = averages.own[:, node, moves], averages.later[:, self._reference, moves]
        beta = made / np.maximum(made + own + self.bias * made * own, 1.0)
        mean = (1.0 - beta) * total / np.maximum(own, 1.0) + beta * later / np.maximum(made, 1.0)
        return np.where(made > 0.0, options.sign * mean, np.inf)

    def value(self, options: Options) -> FloatArray:
        """Mean reward of every option; −∞ for options without rewards."""
        return self._averages.value(options, options.children)
