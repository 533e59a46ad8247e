"""A problem of your own: which instruments to take on board.

Four methods, no base class. A state is the set of what is on board so far; the order of loading does not
matter, and equal sets are one node of the search. What does not fit any more is no action, so that
constraints need no penalty, and a leaf is a set to which nothing can be added.
"""

from itertools import combinations

import dagsearch as ds

NAMES = ("camera", "radar", "lidar", "magnetometer", "spectrometer", "drill", "seismometer")
NAMES += ("antenna", "battery", "heater", "thermometer", "microscope", "oven", "arm")
MASS = dict(zip(NAMES, (9, 14, 12, 4, 8, 15, 6, 7, 10, 3, 2, 7, 9, 11), strict=True))
WORTH = dict(zip(NAMES, (7, 6, 5, 3, 6, 4, 4, 2, 1, 1, 2, 5, 3, 2), strict=True))
LIMIT = 45
TOGETHER = {("drill", "oven"): 5, ("arm", "drill"): 4, ("arm", "microscope"): 4, ("battery", "radar"): 3}


class Payload:
    """What is worth most within the limit."""

    def root(self):
        return frozenset()

    def actions(self, state):
        left = LIMIT - mass(state)
        return [name for name in NAMES if name not in state and MASS[name] <= left]

    def step(self, state, name):
        return state | {name}

    def reward(self, leaf):  # imagine that a simulation of the mission takes an hour here
        return worth(leaf)


def mass(chosen):
    return sum(MASS[name] for name in chosen)


def worth(chosen):
    pairs = sum(extra for pair, extra in TOGETHER.items() if chosen.issuperset(pair))
    return pairs + sum(WORTH[name] for name in chosen)


problem = Payload()
ds.testing.check_problem(problem)  # says in plain words what is wrong, if something is
result = ds.search(problem, budget=80, seed=0)
print("on board:", ", ".join(sorted(result.best_state)))
print("worth:", result.best_reward, "after", len(result.history), "evaluations")

subsets = [frozenset(c) for size in range(len(NAMES) + 1) for c in combinations(NAMES, size)]
print(f"best of all {len(subsets):,} subsets:", max(worth(s) for s in subsets if mass(s) <= LIMIT))
