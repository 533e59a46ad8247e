"""Small problems that tests search, or break in one place."""

import dagsearch as ds


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
