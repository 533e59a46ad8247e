"""An order with precedence: build packages that depend on each other, on two machines.

It prints:

    build a c d b g e f h i l j k
    22.0 hours; no order takes less than 22
"""

import dagsearch as ds

HOURS = dict(zip("abcdefghijkl", [3, 2, 4, 6, 1, 5, 2, 7, 3, 4, 2, 5], strict=True))
NEEDS = [
    ("a", "d"),
    ("a", "e"),
    ("b", "f"),
    ("c", "g"),
    ("d", "h"),
    ("e", "h"),
    ("f", "i"),
    ("g", "j"),
    ("h", "l"),
    ("i", "l"),
]


def finished(order):
    """The end of the last build if builds start in this order, each on the first free machine."""
    free, ends = [0, 0], {}
    for package in order:
        ready = max((ends[first] for first, then in NEEDS if then == package), default=0)
        machine = min((0, 1), key=lambda one: max(free[one], ready))
        free[machine] = ends[package] = max(free[machine], ready) + HOURS[package]
    return max(ends.values())


problem = ds.problems.Orders(HOURS, reward=lambda order: -finished(order), before=NEEDS)
result = ds.search(problem, budget=80, seed=0)
print("build", *result.best_state)
print(f"{-result.best_reward} hours; no order takes less than {sum(HOURS.values()) / 2:.0f}")
