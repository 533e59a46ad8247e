"""Small problems that tests search, or break in one place, and all states of such problems."""

import dagsearch as ds
from dagsearch.space import Space


class Nim:
    """Take 1 to 3 of a heap; who takes the last wins. Equal states at different depths."""

    def __init__(self, heap=15, player=ds.MAX):
        self.start = heap, player

    def root(self):
        return self.start

    def actions(self, state):
        return range(1, min(3, state[0]) + 1)

    def step(self, state, action):
        return state[0] - action, -state[1]

    def player(self, state):
        return state[1]

    def reward(self, leaf):
        return float(-leaf[1])


class CoinFlips:
    """A sound problem: three coin flips."""

    def root(self):
        return ()

    def actions(self, state):
        return [0, 1] if len(state) < 3 else []

    def step(self, state, action):
        return (*state, action)

    def reward(self, leaf):
        return float(sum(leaf))


def all_states(problem):
    """Every state of a small problem, by walking everywhere."""
    found, level = {}, {problem.root(): None}
    while level:
        found |= level
        level = {problem.step(state, action): None for state in level for action in problem.actions(state)}
    return list(found)


def leaves_of(problem):
    """Every leaf of a small problem that is allowed."""
    space = Space(problem)
    return [state for state in all_states(problem) if not problem.actions(state) and space.allows(state)]
