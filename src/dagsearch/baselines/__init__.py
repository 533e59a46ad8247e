"""Baseline methods, composed for the same search loop.

Every function returns a :class:`dagsearch.Search`; only its parts differ.
"""

from typing import Any

from dagsearch.baselines.averages import UCB1, Averages, NoScores
from dagsearch.baselines.grave import Grave, MoveAverages
from dagsearch.baselines.rave import Rave, RaveAverages
from dagsearch.baselines.tree import SharedPath, TreeState, as_tree
from dagsearch.errors import ProblemError
from dagsearch.problem import Problem
from dagsearch.proposers.descent import Descent
from dagsearch.proposers.expansions import ChildAndLeaves, OneChild
from dagsearch.proposers.nearby import Random
from dagsearch.proposers.rollouts import RandomGame, Uniform
from dagsearch.search import Search, Seed
from dagsearch.space import Space
from dagsearch.values.proofs import WithProofs

__all__ = [
    "UCB1",
    "Averages",
    "Grave",
    "MoveAverages",
    "NoScores",
    "Rave",
    "RaveAverages",
    "SharedPath",
    "TreeState",
    "as_tree",
    "grave",
    "probabilistic_tree",
    "random_search",
    "ucd",
    "uct",
    "uct_rave",
]


def ucd(problem: Problem, *, c: float = 2.0**0.5, standardize: int = 0, seed: Seed = None) -> Search:
    """UCT on the DAG (Saffidine, Cazenave and Méhat 2012), in the simple form that the paper uses.

    A reward counts for the nodes on its descent. Statistics belong to nodes, not to edges (see
    :class:`Averages`).

    Parameters
    ----------
    problem : Problem
        What to search.
    c : float
        Exploration constant of :class:`UCB1`. With 0, every child of a visited node is tried once, and then
        the child with the best mean is chosen.
    standardize, seed
        See :class:`dagsearch.Search`.
    """
    averages = Averages()
    descent = Descent(UCB1(averages, c), Uniform(), OneChild())
    return Search(
        problem, scores=NoScores(), proposers=descent, backup=averages, standardize=standardize, seed=seed
    )


def uct(problem: Problem, *, c: float = 2.0**0.5, standardize: int = 0, seed: Seed = None) -> Search:
    """UCT (Kocsis and Szepesvári 2006): :func:`ucd` on the tree.

    One node is added per roll-out. States carry their path, see :func:`dagsearch.as_tree`.
    """
    return ucd(as_tree(problem), c=c, standardize=standardize, seed=seed)


def random_search(problem: Problem, *, standardize: int = 0, seed: Seed = None, **storage: Any) -> Search:
    """Uniformly random leaves; ``storage=`` and ``name=`` as for :class:`dagsearch.Search`."""
    settings = {"standardize": standardize, "seed": seed, **storage}
    return Search(problem, scores=NoScores(), proposers=Random(), **settings)


def uct_rave(
    problem: Problem, *, c1: float = 1e-4, c2: float = 1e4, c3: float = 1e4, seed: Seed = None
) -> Search:
    """UCT-RAVE for feature selection, as in appendix B.2 of the paper, on the DAG of subsets.

    The default constants are for rewards between 0 and 1. The problem must have ``items`` and
    ``added_items``, and every action must add one item.
    """
    space = Space(problem)
    items, added = space.items, space.added_items
    if items is None or added is None:
        raise ProblemError(
            f"UCT-RAVE needs a problem with items(state) and added_items(state, actions), which "
            f"{type(problem).__name__} does not have; dagsearch.problems.Subsets does"
        )
    averages = RaveAverages(items)
    descent = Descent(Rave(averages, added, c1, c2, c3), Uniform(), OneChild())
    return Search(problem, scores=NoScores(), proposers=descent, backup=averages, seed=seed)


def grave(
    problem: Problem, *, ref: float = 25.0, bias: float = 1e-5, look_ahead: bool = False, seed: Seed = None
) -> Search:
    """GRAVE (Cazenave 2015) with a solver, for games: see :mod:`dagsearch.baselines.grave`.

    One position is added per random game. Positions whose value is proven are not searched again.

    Parameters
    ----------
    problem : Problem
        What to search. It must have ``moves(state)``, the numbers of the moves that led to a state (different
        for each player), ``move_numbers(state)``, the numbers of the state's actions, and ``reward_range``,
        as :class:`dagsearch.games.OpenSpielGame` does. Its rewards must be cheap and free of noise.
    ref, bias
        Constants of :class:`Grave`; by default those of the publication. With ``ref=0`` every node uses its
        own statistics: RAVE (Gelly and Silver 2007).
    look_ahead : bool
        Whether moves that end the game are recognised before they are tried, as in
        :class:`dagsearch.players.SearchPlayer`; the publication does not do this.
    seed
        See :class:`dagsearch.Search`.
    """
    names = "moves", "move_numbers", "reward_range"
    moves, numbers, rewards = (getattr(problem, name, None) for name in names)
    if moves is None or numbers is None or rewards is None:
        raise ProblemError(
            f"GRAVE needs a problem with moves(state), move_numbers(state) and reward_range, which "
            f"{type(problem).__name__} does not have; dagsearch.games.OpenSpielGame does"
        )
    averages = MoveAverages(moves, numbers)
    backup = WithProofs(averages, *rewards)
    expansion = ChildAndLeaves() if look_ahead else OneChild()
    descent = Descent(Grave(averages, ref, bias), RandomGame(), expansion)
    return Search(problem, scores=NoScores(), proposers=descent, backup=backup, seed=seed)


def probabilistic_tree(problem: Problem, *, c: float, seed: Seed = None, **settings: Any) -> Search:
    """Probabilistic tree search (Hennig, Stern and Graepel 2010).

    The paper's method on the tree, with the covariance of a Brownian walk along every path
    (:class:`SharedPath`). With n leaves, a reward takes O(n²), and so does every node that is read.

    Parameters
    ----------
    problem : Problem
        What to search; it is searched as a tree, see :func:`dagsearch.as_tree`.
    c : float
        Variance of a step, and of the root's score.
    seed, **settings
        As in :meth:`dagsearch.Search.paper`, including the prior on inner values.
    """
    covariance = SharedPath(step=c, root=c)
    return Search.paper(as_tree(problem), covariance=covariance, seed=seed, **settings)
