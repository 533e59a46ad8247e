"""RAVE with statistics of an ancestor: GRAVE (Cazenave 2015), and RAVE as its special case.

==========  =====================  ====================================================================
paper       code                   meaning
==========  =====================  ====================================================================
p_m, w_m    edge_count, edge_sum   number and sum of the rewards of descents that made move m at a node
pa_m, wa_m  move_count, move_sum   the same for all games through a node in which m was made later on
tref        reference              the last node of the descent so far with more than ``ref`` rewards
β_m         beta                   pa_m / (pa_m + p_m + bias · pa_m · p_m)
==========  =====================  ====================================================================

A move is rated (1 − β_m) w_m/p_m + β_m wa_m/pa_m, where w_m and p_m are those of the deciding node, and wa_m
and pa_m those of tref. A move that no game through tref contains comes first. There is no further bonus.
Moves are distinguished by who made them. The explored DAG is the transposition table.
"""

from collections.abc import Callable, Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import is_finite
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.baselines.averages import Averages
from dagsearch.posterior.units import Episode
from dagsearch.problem import State
from dagsearch.proposers.expansions import Options
from dagsearch.proposers.policies import Policy
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored
from dagsearch.values.graph import GraphArrays, PackedGraph


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
        self.first = np.full(64, -1, dtype=np.int64)
        """Where the actions of each node begin in the following arrays; −1 while they are not there."""
        self.numbers = np.zeros(64, dtype=np.int64)
        """Number of the move of each action."""
        self.edge_count, self.edge_sum = np.zeros(64), np.zeros(64)
        """Number and sum of the rewards of each action."""
        self._actions = 0
        self.move_count, self.move_sum = np.zeros((64, 64)), np.zeros((64, 64))
        """Number and sum of the rewards of games through a node that contain a move, by node and move."""

    def prepare(self, explored: Explored, node: int) -> None:
        """Make room for a node and its actions."""
        self.first = grown(self.first, node + 1, fill=-1)
        if self.first[node] >= 0:
            return
        numbers = self._move_numbers(explored.graph.states[node])
        begin, self._actions = self._actions, self._actions + numbers.size
        self.first[node] = begin
        self.numbers = grown(self.numbers, self._actions)
        self.edge_count, self.edge_sum = (
            grown(self.edge_count, self._actions),
            grown(self.edge_sum, self._actions),
        )
        self.numbers[begin : self._actions] = numbers
        self._reserve_moves(node, int(numbers.max(initial=0)))

    def _reserve_moves(self, node: int, number: int) -> None:
        self.move_count = grown(self.move_count, node + 1, number + 1)
        self.move_sum = grown(self.move_sum, node + 1, number + 1)

    def back_up(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, and update the averages of moves."""
        super().back_up(explored, episodes)
        states = explored.graph.states
        for episode in episodes:
            if not episode.path:
                continue
            for node in episode.path:
                self.prepare(explored, node)
            # The states of nodes know one way to them; this game may have come by another.
            before = len(self._moves(states[episode.path[-1]]))
            rest = np.array(self._moves(episode.state)[before:], dtype=np.int64)
            self._reserve_moves(max(episode.path), int(rest.max(initial=0)))
            _credit_moves(
                np.array(episode.path),
                rest,
                episode.reward,
                explored.graph.arrays,
                self.first,
                self.numbers,
                self.edge_count,
                self.edge_sum,
                self.move_count,
                self.move_sum,
            )


@compiled
def _credit_moves(
    path: IntArray,
    rest: IntArray,
    reward: float,
    arrays: PackedGraph,
    first: IntArray,
    numbers: IntArray,
    edge_count: FloatArray,
    edge_sum: FloatArray,
    move_count: FloatArray,
    move_sum: FloatArray,
) -> None:
    """Count a reward for the moves of a game: those along the path, and the ``rest``."""
    graph = GraphArrays(*arrays)
    last = path.size - 1
    moves = np.empty(last + rest.size, dtype=np.int64)
    moves[last:] = rest
    for place in range(last):
        node = path[place]
        for edge in range(graph.first[node], graph.first[node] + graph.count[node]):
            if graph.edge_child[edge] == path[place + 1]:
                taken = first[node] + graph.edge_action[edge]
                edge_count[taken] += 1.0
                edge_sum[taken] += reward
                moves[place] = numbers[taken]
                break
    credited = np.full(move_count.shape[1], -1)
    for place in range(path.size):
        for move in moves[place:]:
            if credited[move] != place:  # once, however often it was made
                credited[move] = place
                move_count[path[place], move] += 1.0
                move_sum[path[place], move] += reward


class Grave(Policy):
    """The rule of GRAVE, see the head of the module; with ``ref`` 0 it is RAVE.

    Parameters
    ----------
    averages : MoveAverages
        Keeps the statistics.
    backup : Backup
        The back-up of the search: the averages, or one around them.
    ref : float
        Number of rewards that a node must exceed for its own statistics of moves to be used; with 0 they
        always are.
    bias : float
        The larger, the sooner a move's own mean prevails.
    """

    def __init__(self, averages: MoveAverages, backup: Backup, ref: float, bias: float) -> None:
        for name, constant in (("ref", ref), ("bias", bias)):
            if not is_finite(constant) or constant < 0.0:
                raise ValueError(f"{name} must be finite and not negative, got {constant!r}")
        self._averages, self.reads = averages, backup
        self.ref, self.bias = float(ref), float(bias)
        self._reference = 0

    def _refer(self, explored: Explored, node: int) -> None:
        """Make a node of the descent the reference, if it has enough rewards or begins the descent."""
        self._averages.reserve(len(explored.graph))
        if node == explored.root or self._averages.count[node] > self.ref:
            self._reference = node

    def rate(self, options: Options) -> FloatArray:
        """The rating of every option; infinite for moves that no game through the reference contains."""
        averages, node = self._averages, options.node
        averages.prepare(options.explored, node)
        self._refer(options.explored, node)
        edges = averages.first[node] + options.actions
        moves = averages.numbers[edges]
        made, own = averages.move_count[self._reference, moves], averages.edge_count[edges]
        beta = made / np.maximum(made + own + self.bias * made * own, 1.0)
        mean = (1.0 - beta) * averages.edge_sum[edges] / np.maximum(own, 1.0)
        mean += beta * averages.move_sum[self._reference, moves] / np.maximum(made, 1.0)
        return np.where(made > 0.0, options.sign * mean, np.inf)

    def value(self, options: Options) -> FloatArray:
        """Mean reward of every option; −∞ for options without rewards."""
        return self._averages.of(options).value

    def __repr__(self) -> str:
        return f"Grave(ref={self.ref:g}, bias={self.bias:g})"
