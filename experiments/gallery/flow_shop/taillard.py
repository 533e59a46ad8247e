"""Taillard's instances of the permutation flow shop, made by his generator.

E. Taillard, Benchmarks for basic scheduling problems, European Journal of Operational Research 64 (1993).
"""

from typing import NamedTuple

# The generator is Lehmer's x' = a x mod m, by Schrage's method with m = a b + c.
_A, _M, _B, _C = 16807, 2**31 - 1, 127773, 2836
_SHORTEST, _LONGEST = 1, 99

Times = tuple[tuple[int, ...], ...]
"""Processing times: one row per job, one column per machine."""


class Instance(NamedTuple):
    """Jobs that all pass through the same machines in the same order."""

    name: str
    """Its name in the literature."""
    times: Times
    """Processing times."""
    best_known: int | None
    """The smallest makespan in the literature; ``None`` if there is none."""


# Of the ten instances with 20 jobs and 5 machines: seed of the generator, and best known makespan.
_PUBLISHED = (
    (873654221, 1278),
    (379008056, 1359),
    (1866992158, 1081),
    (216771124, 1293),
    (495070989, 1235),
    (402959317, 1195),
    (1369363414, 1234),
    (2021925980, 1206),
    (573109518, 1230),
    (88325120, 1108),
)
COUNT = len(_PUBLISHED)
"""Number of instances."""


def instance(number: int) -> Instance:
    """One of the ten instances with 20 jobs and 5 machines, from ``instance(1)``, which is ta001."""
    seed, best_known = _PUBLISHED[number - 1]
    return Instance(f"ta{number:03d}", times(seed, 20, 5), best_known)


def times(seed: int, jobs: int, machines: int) -> Times:
    """The processing times of all jobs on the first machine are drawn first, then those on the second."""
    by_machine = []
    for _ in range(machines):
        row = []
        for _ in range(jobs):
            seed = _A * (seed % _B) - seed // _B * _C
            seed += _M if seed < 0 else 0
            row.append(_SHORTEST + int(seed / _M * (_LONGEST - _SHORTEST + 1)))
        by_machine.append(row)
    return tuple(zip(*by_machine, strict=True))
