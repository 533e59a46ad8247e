"""The same seed gives the same run, whatever Python's hash seed is."""

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum

import pytest

import dagsearch as ds
from dagsearch._internal.order import in_order
from support.processes import PATIENCE, environment

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


class Word(str):
    """Text whose hash the test chooses, as the hash of text is another one in every process."""

    salt = 0
    __slots__ = ()

    def __hash__(self):
        return hash((Word.salt, sum(self.encode()), len(self)))


class OtherHash:
    """Runs something as another process would, with other hashes."""

    def __init__(self, salt):
        self._salt = salt

    def __enter__(self):
        Word.salt = self._salt

    def __exit__(self, *_):
        Word.salt = 0


class Bag:
    """Three of ten words; states are frozensets of text."""

    def root(self):
        return frozenset()

    def chosen(self, state):
        return state

    def actions(self, state):
        return [Word(name) for name in NAMES if name not in map(str, state)] if len(state) < 3 else []

    def step(self, state, action):
        return state | {action}

    def reward(self, leaf):
        numbers = sorted(NAMES.index(word) for word in self.chosen(leaf))
        return sum(0.37 * number * (number % 3 + 0.1) for number in numbers)


class SetsOfItems(Bag):
    """States are tuples, but their ``items`` are sets of text."""

    def root(self):
        return ()

    def step(self, state, action):
        return tuple(sorted((*state, action)))

    def items(self, state):
        return set(state)


class AddedSets(SetsOfItems):
    def added_items(self, state, actions):
        return [{action, Word(f"{action}!")} for action in actions]

    def items(self, state):
        return {item for word in state for item in (word, Word(f"{word}!"))}


class Nested(Bag):
    """States hold a set and something else."""

    def root(self):
        return 0, frozenset()

    def chosen(self, state):
        return state[1]

    def actions(self, state):
        return super().actions(state[1])

    def step(self, state, action):
        return state[0] + 1, state[1] | {action}


MAKERS = {
    "default": lambda problem: ds.Search.default(problem, initial=5, seed=0),
    "paper": lambda problem: ds.Search.paper(problem, seed=0),
}


def outcome(make, problem):
    search = make(problem)
    search.run(25)
    scores = search.index.scores
    told = [(evaluation.actions, evaluation.reward) for evaluation in search.history]
    return told, scores.mean.tolist(), scores.variance.tolist()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("problem", [Bag(), SetsOfItems(), AddedSets(), Nested()])
def test_a_run_does_not_depend_on_hashes(make, problem):
    found = []
    for salt in (1, 2, 3):
        with OtherHash(salt):
            found.append(outcome(make, problem))
    assert found[0] == found[1] == found[2]


CODE = """
import dagsearch as ds
class Bag:
    def root(self): return frozenset()
    def actions(self, s): return [n for n in NAMES if n not in s] if len(s) < 3 else []
    def step(self, s, a): return s | {a}
    def reward(self, leaf): return sum(0.37 * i * (i % 3 + 0.1) for i, n in enumerate(NAMES) if n in leaf)
search = ds.Search.default(Bag(), initial=5, seed=0)
search.run(20)
print([e.actions for e in search.history], search.index.scores.mean.tolist())
"""


@pytest.mark.slow
def test_a_run_does_not_depend_on_the_hash_seed_of_the_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", f"NAMES = {NAMES}\n{CODE}"],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point:
    x: int
    tags: frozenset


def test_sets_of_anything_have_an_order():
    tags = frozenset({"b", "a", "c"})
    assert list(in_order({3, 1, 2})) == [1, 2, 3]
    assert list(in_order(tags)) == ["a", "b", "c"]
    assert list(in_order(["b", "a"])) == ["b", "a"]  # a list has an order
    assert list(in_order({"b", 2, 1.5, "a", True})) == [True, 1.5, 2, "a", "b"]
    assert list(in_order({Colour.RED, Colour.BLUE})) == [Colour.BLUE, Colour.RED]
    assert list(in_order({(2, "a"), (1, "b"), (1, "a")})) == [(1, "a"), (1, "b"), (2, "a")]
    small, large = frozenset({"b"}), frozenset({"a", "c"})  # neither is a subset of the other
    assert list(in_order({small, large})) == [large, small]
    points = [Point(1, large), Point(1, small), Point(2, tags)]
    assert list(in_order(set(points))) == points
    assert list(in_order({None, b"a", "a"})) == [None, b"a", "a"]
