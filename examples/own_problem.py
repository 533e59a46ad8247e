"""A problem of your own: which instruments to take on board.

A problem has four methods and needs no base class. A state is the set of instruments on board so far; the
order of loading does not matter, and equal sets are one node of the search. Only instruments that still fit
are actions, so the mass limit needs no penalty, and a leaf is a set to which nothing can be added.
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
    """Find the most valuable set of instruments within the mass limit."""

    def root(self):
        return frozenset()

    def actions(self, state):
        left = LIMIT - mass(state)
        return [name for name in NAMES if name not in state and MASS[name] <= left]

    def step(self, state, name):
        return state | {name}

    def reward(self, leaf):  # imagine an hour of simulating the mission
        return worth(leaf)


def mass(chosen):
    return sum(MASS[name] for name in chosen)


def worth(chosen):
    pairs = sum(extra for pair, extra in TOGETHER.items() if chosen.issuperset(pair))
    return pairs + sum(WORTH[name] for name in chosen)


problem = Payload()
ds.testing.check_problem(problem)  # raises an error that explains every mistake
result = ds.search(problem, budget=80, seed=0)
print("on board:", ", ".join(sorted(result.best_state)))
print("worth:", result.best_reward, "after", len(result.history), "evaluations")

subsets = [frozenset(c) for size in range(len(NAMES) + 1) for c in combinations(NAMES, size)]
print(f"best of all {len(subsets):,} subsets:", max(worth(s) for s in subsets if mass(s) <= LIMIT))
