"""Every composition that users run, each a short run with a digest of where it ended.

``python compositions.py`` prints the digests to the last bit, ``python compositions.py --write FOLDER``
writes ``compositions.json`` there. A refactoring must change neither.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Set
from itertools import pairwise
from pathlib import Path

import numpy as np

import dagsearch as ds
from dagsearch.covariances import Overlap
from dagsearch.posterior import WeightScores
from dagsearch.proposers import Descent
from dagsearch.proposers.expansions import AllChildren
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform
from dagsearch.values.backups import MomentMatching


def weighted(n: int, k: int, seed: int = 0, **settings) -> ds.problems.Subsets:
    """Subsets whose reward is a sum of weights, and something for neighbours."""
    weights = np.random.default_rng(seed).normal(size=n)

    def reward(chosen):
        ordered = sorted(chosen)
        return float(weights[ordered].sum()) + 0.3 * sum(b - a == 1 for a, b in pairwise(ordered))

    return ds.problems.Subsets(n, k, reward, **settings)


class Word:
    """A word of five letters; states are tuples, without anything optional."""

    def root(self):
        return ()

    def actions(self, state):
        return ("a", "b", "c", "d") if len(state) < 5 else ()

    def step(self, state, action):
        return (*state, action)

    def reward(self, leaf):
        return float(sum(place * "abcd".index(letter) for place, letter in enumerate(leaf)) % 11)


class Mixture:
    """How many drops of three paints; the order does not matter."""

    def root(self):
        return (0, 0, 0)

    def actions(self, state):
        return [0, 1, 2] if sum(state) < 6 else []

    def step(self, state, action):
        return tuple(count + (paint == action) for paint, count in enumerate(state))

    def items(self, state):
        return [(paint, number) for paint, count in enumerate(state) for number in range(count)]

    def reward(self, leaf):
        return -float((leaf[0] - 3) ** 2 + (leaf[1] - 1) ** 2 + 0.5 * (leaf[2] - 2) ** 2)


class Uncertain(ds.problems.Subsets):
    """Rewards differ from one time to the next, in a way that a seed repeats."""

    def __init__(self):
        super().__init__(10, 3, sum)
        self.noise = np.random.default_rng(5)

    def reward(self, leaf):
        return float(sum(leaf)) + float(self.noise.normal())


# Ways to run ---------------------------------------------------------------------------------------------


def run(search, evaluations=40):
    search.run(evaluations)
    return search


def in_batches(search, size=4, batches=10):
    for _ in range(batches):
        for proposal in search.ask(size):
            search.tell(proposal, search.problem.reward(proposal.leaf))
    return search


def asynchronously(search, rounds=25, seed=1):
    """Leaves are asked for, told, told without having been asked for, and taken back, in any order."""
    problem, rng = search.problem, np.random.default_rng(seed)
    for _ in range(rounds):
        search.ask(int(rng.integers(1, 4)))
        for _ in range(int(rng.integers(0, 4))):
            if not search.pending:
                break
            proposal = search.pending[int(rng.integers(len(search.pending)))]
            reward, what = problem.reward(proposal.leaf), rng.integers(5)
            if what == 0:
                search.forget(proposal, again=bool(rng.integers(2)))
            elif what == 1:
                search.tell(proposal.leaf, reward)
            else:
                search.tell(proposal, reward, 0.01 if what == 2 else None)
        if rng.integers(4) == 0:
            search.belief(problem.root())
    return search


def composed(problem, scores, backup, rollout, **other):
    descent = Descent(UpperConfidence(1.0), rollout, AllChildren())
    return ds.Search(problem, scores=scores, proposers=descent, backup=backup, seed=3, **other)


def grave_that_looks_ahead(budget=100):
    return run(ds.baselines.grave(ds.games.OpenSpielGame("tic_tac_toe"), look_ahead=True, seed=0), budget)


def selected(**settings):
    from sklearn.datasets import load_wine
    from sklearn.neighbors import KNeighborsClassifier

    from dagsearch.sklearn import DAGSearchSelector

    X, y = load_wine(return_X_y=True)
    settings = {"n_features_to_select": 4, "budget": 30, "random_state": 0} | settings
    return DAGSearchSelector(KNeighborsClassifier(), **settings).fit(X, y).search_


def _as_overlap(problem):
    return WeightScores(Overlap.of(problem), 0.01)


COMPOSITIONS: dict[str, Callable[[], ds.Search]] = {
    "default, subsets": lambda: run(ds.Search.default(weighted(20, 4), initial=8, seed=0), 60),
    "default, positions": lambda: run(
        ds.Search.default(weighted(20, 4, positions=np.arange(20.0)[:, None]), initial=8, seed=0)
    ),
    "default, words": lambda: run(ds.Search.default(Word(), initial=8, seed=0)),
    "default, counts": lambda: run(ds.Search.default(Mixture(), initial=6, seed=0), 28),
    "default, range of sizes": lambda: run(
        ds.Search.default(ds.problems.Subsets(12, (2, 5), weighted(12, 3).reward), initial=8, seed=0)
    ),
    "default, in batches": lambda: in_batches(ds.Search.default(weighted(20, 4), initial=8, seed=0)),
    "default, asynchronous": lambda: asynchronously(ds.Search.default(weighted(20, 4), initial=6, seed=0)),
    "default, two workers": lambda: (
        (search := ds.Search.default(weighted(20, 4), initial=6, seed=0)).run(
            30, n_jobs=2, deterministic=True
        ),
        search,
    )[1],
    "noisy": lambda: run(ds.Search.default(Uncertain(), noisy=True, initial=8, seed=0), 60),
    "noisy, asynchronous": lambda: asynchronously(
        ds.Search.default(weighted(20, 4), noisy=True, initial=6, seed=0)
    ),
    "a game by default": lambda: run(ds.Search.default(ds.problems.TicTacToe(), initial=8, seed=0)),
    "all leaves once": lambda: run(
        composed(
            weighted(6, 3),
            _as_overlap(weighted(6, 3)),
            MomentMatching(),
            rollout=Uniform(),
            repeats=False,
        ),
        100,
    ),
    "paper": lambda: run(ds.Search.paper(weighted(20, 4), seed=0, standardize=5)),
    "paper, asynchronous": lambda: asynchronously(ds.Search.paper(weighted(20, 4), seed=0)),
    "paper, many children": lambda: run(ds.Search.paper(weighted(60, 5), seed=0), 80),
    "GRAVE that looks ahead": grave_that_looks_ahead,
    "selector": selected,
    "selector, range of sizes": lambda: selected(n_features_to_select=(2, 4)),
    "selector, two workers": lambda: selected(n_jobs=2, budget=20),
}


# Digests -------------------------------------------------------------------------------------------------


def digest(search: ds.Search) -> dict[str, object]:
    """Decisions to the last bit; beliefs as numbers, which machines round differently.

    What was asked for, in which order, and what the search believes of the root's g, and of its v and visits
    where it descends; nothing of how the search keeps it.
    """
    decided = [
        [(_text(e.leaf), None if e.actions is None else _text(e.actions)) for e in search.history],
        [_text(proposal.leaf) for proposal in search.pending],
    ]
    belief = search.belief(search.problem.root())
    found = {
        "decisions": hashlib.sha256(json.dumps(decided, default=str).encode()).hexdigest()[:16],
        "best": _text(search.result().best_state),
        "rewards": sum(evaluation.reward for evaluation in search.history),
        "g": list(belief.g),
    }
    if search.portfolio.descent is not None:
        found |= {"v": list(belief.v), "visits": belief.visits}
    return found


def _text(value: object) -> str:
    """The same text in every process, also of sets."""
    if isinstance(value, Set):
        return str(sorted(value))
    if isinstance(value, tuple):
        return str([_text(part) for part in value])
    return repr(value)


if __name__ == "__main__":
    found = {name: digest(make()) for name, make in COMPOSITIONS.items()}
    text = json.dumps(found, indent=1)
    if sys.argv[1:2] == ["--write"]:
        Path(sys.argv[2], "compositions.json").write_text(text + "\n")
    else:
        print(text)
