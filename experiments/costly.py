"""``python -m experiments benchmark costly``: problems whose steps are costly, at equal numbers of steps.

Few and many actions; values at every step and only at the end; states that merge and states that do not; some
problems where the best next step is misleading. A repeated step is free for every method.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dagsearch as ds
from experiments.harness.evaluations import BudgetSpent
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Outcome, Row, run_rounds

OURS = "dagsearch"
WIDTHS = (2, 4, 8)
"""Widths of the beams."""
SEEDS = 10
"""Number of instances of every kind; each is searched once by every method."""

# Problems --------------------------------------------------------------------------------------------


class Reactor:
    """Operate a stirred vessel in each of 14 intervals; its content may be sold after any of them.

    Reactions with rates that depend on the temperature. States are concentrations and do not merge.
    """

    length, names = 14, ("wait", "heat", "cool", "feed", "feed more", "catalyst")

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([1, seed])
        self._species = 6
        pairs = [(a, b) for a in range(self._species) for b in range(self._species) if a != b]
        self._pairs = [pairs[number] for number in rng.choice(len(pairs), 9, replace=False)]
        self._factor = rng.exponential(0.5, 9)
        self._energy = rng.uniform(0.0, 4.0, 9)
        self._price = rng.normal(0.0, 1.0, self._species)
        self._price[0] = 0.0
        self._price[int(rng.integers(1, self._species))] = 3.0

    def root(self) -> ds.Step:
        return ds.Step((0, 1.0, *[2.0] + [0.0] * (self._species - 1), 0.2), value=0.0)

    def actions(self, state: tuple[float, ...]) -> Sequence[str]:
        return self.names if state[0] < self.length else ()

    def expand(self, state: tuple[float, ...], action: str) -> ds.Step:
        time, heat, *amounts, catalyst = state
        held, cost = np.array(amounts), 0.05
        heat += {"heat": 0.3, "cool": -0.3}.get(action, 0.0)
        held[0] += {"feed": 0.5, "feed more": 1.5}.get(action, 0.0)
        catalyst += 0.2 * (action == "catalyst")
        cost += {"heat": 0.05, "feed": 0.1, "feed more": 0.35, "catalyst": 0.2}.get(action, 0.0)
        rates = catalyst * self._factor * np.exp(self._energy * (1.0 - 1.0 / max(heat, 0.2)))
        for _ in range(10):
            for (a, b), rate in zip(self._pairs, rates, strict=True):
                moved = held[a] * (1.0 - math.exp(-0.1 * rate))
                held[a] -= moved
                held[b] += moved
        after = (time + 1, heat * 0.97 + 0.03, *held.tolist(), catalyst * 0.95)
        return ds.Step(after, gain=-cost, value=float(self._price @ held))


class Filters:
    """Apply up to ten of 40 operations to come close to a target; states do not merge."""

    length, count = 10, 40

    def __init__(self, seed: int, size: int = 8) -> None:
        rng = np.random.default_rng([2, seed])
        self._mix = np.eye(size) + rng.normal(0.0, 0.25, (self.count, size, size)) * (
            rng.random((self.count, size, size)) < 0.25
        )
        self._shift = rng.normal(0.0, 0.4, (self.count, size)) * (rng.random((self.count, size)) < 0.3)
        self._start, self._target = rng.normal(size=size), rng.normal(size=size)

    def _value(self, at: "np.ndarray[Any, Any]") -> float:
        return -float(np.linalg.norm(at - self._target))

    def root(self) -> ds.Step:
        return ds.Step((0, *self._start.tolist()), value=self._value(self._start))

    def actions(self, state: tuple[float, ...]) -> range:
        return range(self.count if state[0] < self.length else 0)

    def expand(self, state: tuple[float, ...], action: int) -> ds.Step:
        after = np.clip(self._mix[action] @ np.array(state[1:]) + self._shift[action], -2.0, 2.0)
        return ds.Step((state[0] + 1, *after.tolist()), value=self._value(after))


class Rewriting:
    """Apply any number of 24 rules to a word, whose weight counts; equal words merge.

    Some letters weigh nothing and only enable other rules.
    """

    def __init__(self, seed: int, size: int = 60) -> None:
        rng = np.random.default_rng([3, seed])
        self._weight = rng.exponential(1.0, size)
        self._weight[: size // 4] = 0.0
        self._start = rng.random(size) < 0.6
        self._rules = []
        for _ in range(24):
            parts: list[Any] = []
            for _ in range(rng.integers(1, 7)):
                need = rng.choice(size, rng.integers(1, 4), replace=False)
                clear, put = (rng.choice(size, rng.integers(0, 4), replace=False) for _ in range(2))
                parts.append((need, rng.random(len(need)) < 0.6, clear, put if rng.random() < 0.4 else []))
            self._rules.append(parts)

    def root(self) -> ds.Step:
        return ds.Step(self._start.tobytes(), value=-float(self._weight @ self._start))

    def actions(self, state: bytes) -> range:
        return range(len(self._rules))

    def expand(self, state: bytes, action: int) -> ds.Step:
        bits = np.frombuffer(state, dtype=bool).copy()
        for need, wanted, clear, put in self._rules[action]:
            if np.array_equal(bits[need], wanted):
                bits[clear] = False
                bits[put] = True
        return ds.Step(bits.tobytes(), value=-float(self._weight @ bits))


class Farm:
    """Twelve months of a farm: sow, clear, build, repair or sell; costs now pay off later.

    States are whole numbers and merge. Selling and waiting look best in every month.
    """

    length, names = 12, ("wait", "sell", "sow", "clear", "build")

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([4, seed])
        self._costs = {"sow": int(rng.integers(1, 4)), "clear": int(rng.integers(4, 8))}
        self._costs["build"] = int(rng.integers(6, 12))
        self._yield, self._bonus = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        self._weather = rng.integers(0, 3, self.length + 1)
        self._demand = rng.integers(2, 6, self.length + 1)

    def root(self) -> ds.Step:
        return ds.Step((0, 20, 2, 0, 3, 0), value=20.0)

    def actions(self, state: tuple[int, ...]) -> Sequence[str]:
        return self.names if state[0] < self.length else ()

    def expand(self, state: tuple[int, ...], action: str) -> ds.Step:
        month, money, fields, sown, stock, barns = state
        stock += sown * (self._yield + int(self._weather[month]) - 1)
        sown = 0
        money -= self._costs.get(action, 0) * (fields if action == "sow" else 1)
        if action == "sow":
            sown = fields
        elif action == "clear":
            fields += 1
        elif action == "build":
            barns += 1
        elif action == "sell":
            sold = min(stock, 6 + 6 * barns)
            money += sold * (int(self._demand[month]) + self._bonus * min(barns, 2)) // 3
            stock -= sold
        stock = min(stock, 12 + 12 * barns)
        return ds.Step((month + 1, money, fields, sown, stock, barns), value=float(money))


class Visits:
    """Order twelve jobs, with times between them that depend on both; states with the same jobs done merge.

    Stopping is impossible before all are done. Nearest job first is a trap.
    """

    length = 12

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([5, seed])
        at = rng.random((self.length, 2))
        self._time = np.linalg.norm(at[:, None] - at, axis=-1) * rng.uniform(0.6, 1.4, (self.length,) * 2)

    def root(self) -> tuple[frozenset[int], int]:
        return frozenset([0]), 0

    def actions(self, state: tuple[frozenset[int], int]) -> Sequence[int]:
        return [job for job in range(self.length) if job not in state[0]]

    def expand(self, state: tuple[frozenset[int], int], job: int) -> ds.Step:
        done = state[0] | {job}
        value = -float(self._time[job, 0]) if len(done) == self.length else None
        return ds.Step((done, job), gain=-float(self._time[state[1], job]), value=value)


class Stages:
    """One of six options at each of ten stages; only complete choices have a value, with effects of pairs."""

    length, count = 10, 6

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([6, seed])
        self._single = rng.normal(size=(self.length, self.count))
        self._pair = rng.normal(0.0, 0.5, (self.length, self.count, self.count))

    def root(self) -> tuple[int, ...]:
        return ()

    def actions(self, state: tuple[int, ...]) -> range:
        return range(self.count if len(state) < self.length else 0)

    def expand(self, state: tuple[int, ...], option: int) -> ds.Step:
        after = (*state, option)
        if len(after) < self.length:
            return ds.Step(after)
        total = sum(self._single[n, one] for n, one in enumerate(after))
        total += sum(self._pair[n, after[n - 1], after[n]] for n in range(1, self.length))
        return ds.Step(after, value=float(total))


class Kind(NamedTuple):
    """A kind of problem."""

    make: Callable[[int], Any]
    """The problem for a seed."""
    greedy: int
    """Number of steps of greedy."""
    about: str
    """Description for the table."""


KINDS = {
    "reactor": Kind(Reactor, 6 * 14, "6 actions, 14 steps, values at every step"),
    "filters": Kind(Filters, 40 * 10, "40 actions, 10 steps, values at every step"),
    "rewriting": Kind(Rewriting, 24 * 10, "24 actions, any number of steps, values at every step, merging"),
    "farm": Kind(Farm, 5 * 12, "5 actions, 12 steps, values at every step, merging, deceptive"),
    "visits": Kind(
        Visits, 11 * 12 // 2, "11 actions and fewer, 11 steps, gains, a value at the end, merging"
    ),
    "stages": Kind(Stages, 6 * 10, "6 actions, 10 steps, a value at the end"),
}
LATER = (1, 2, 4, 8)
"""Numbers of steps in the table, as multiples of greedy's."""

# Methods ---------------------------------------------------------------------------------------------


class Steps:
    """A problem whose steps are counted; repeated ones are looked up."""

    def __init__(self, problem: Any, budget: int) -> None:
        self.problem, self.budget = problem, budget
        root = problem.root()
        self.root = root if isinstance(root, ds.Step) else ds.Step(root)
        self.best: list[float] = []
        """The largest sum of gains and value after every paid step."""
        self._most = -math.inf
        self._known: dict[Hashable, ds.Step] = {}

    def actions(self, state: Any) -> list[Any]:
        """The actions at a state."""
        return list(self.problem.actions(state))

    def take(self, state: Any, action: Any, paid: float) -> tuple[Any, float, float]:
        """The state after a step, the gains until then, and the value of stopping there, −∞ if impossible."""
        new = (state, action) not in self._known
        if new and len(self.best) == self.budget:
            raise BudgetSpent
        if new:
            self._known[state, action] = self.problem.expand(state, action)
        step = self._known[state, action]
        paid += step.gain
        total = -math.inf if step.value is None else paid + step.value
        self._most = max(self._most, total)
        if new:
            self.best.append(self._most)
        return step.state, paid, total


def beam(steps: Steps, rng: np.random.Generator, width: int) -> None:
    """Take every step from the best few states at each depth, ranked by gains if stopping is impossible."""
    now, seen = [(steps.root.state, 0.0)], set[Any]()
    while now:
        seen.update(state for state, _ in now)
        found: dict[Any, tuple[float, float]] = {}
        for state, paid in now:
            for action in rng.permutation(np.array(steps.actions(state), dtype=object)):
                after, gained, total = steps.take(state, action, paid)
                rated = total if math.isfinite(total) else gained
                if rated > found.get(after, (-math.inf,))[0]:
                    found[after] = rated, gained
        ranked = sorted(found.items(), key=lambda one: -one[1][0])
        now = [(state, gained) for state, (_, gained) in ranked if state not in seen][:width]


def climbing(steps: Steps, rng: np.random.Generator) -> None:
    """Change one action of the best path and replay it, with random actions where old ones do not apply."""

    def follow(actions: Sequence[Any]) -> tuple[list[Any], float]:
        state, paid, best, done = steps.root.state, 0.0, -math.inf, list[Any]()
        while len(done) < _LONGEST and (offered := steps.actions(state)):
            wanted = actions[len(done)] if len(done) < len(actions) else None
            done.append(wanted if wanted in offered else offered[rng.integers(len(offered))])
            state, paid, total = steps.take(state, done[-1], paid)
            best = max(best, total)
        return done, best

    now, best = follow([])
    free = 0  # consecutive replays without a new step
    while free < _PATIENCE:
        before = len(steps.best)
        place = int(rng.integers(len(now)))
        changed, found = follow([*now[:place], _ANOTHER, *now[place + 1 :]])
        if found >= best:
            now, best = changed, found
        free = free + 1 if len(steps.best) == before else 0


_PATIENCE = 1_000
_LONGEST = 24  # steps of a path without an end
_ANOTHER = object()  # an action that no state offers


def ours(steps: Steps, rng: np.random.Generator) -> None:
    """``ds.search`` without any setting."""
    result = ds.search(steps.problem, steps.budget, seed=int(rng.integers(2**31)))
    steps.best = [evaluation.best_reward for evaluation in result.history]


METHODS: dict[str, Callable[[Steps, np.random.Generator], None]] = {
    OURS: ours,
    "greedy": partial(beam, width=1),
    **{f"beam of {width}": partial(beam, width=width) for width in WIDTHS},
    "climbing": climbing,
}
"""The methods by name, ours first. A beam of one state is greedy."""

# Runs and tables -----------------------------------------------------------------------------------------


def run(*, seeds: int | None = None, jobs: int = 1, quick: bool = False) -> Outcome:
    """Run all methods on some problems of every kind; ``quick``: on one, for greedy's number of steps."""
    count = seeds or (1 if quick else SEEDS)
    most = LATER[0] if quick else LATER[-1]
    tasks = [(method, kind, seed, most) for kind in KINDS for method in METHODS for seed in range(count)]
    about = {
        "seeds": count,
        "methods": list(METHODS),
        "problems": {
            name: {"what": kind.about, "steps of greedy": kind.greedy} for name, kind in KINDS.items()
        },
        "value": "largest sum of gains and a value so far; null until a path is complete",
    }
    return Outcome("costly", run_rounds(one_run, tasks, jobs), about)


def one_run(method: str, kind: str, seed: int, most: int) -> list[Row]:
    """The best so far of one method on one problem, up to ``most`` times the steps of greedy.

    After a method has ended, its best stays; there is no row until it has completed a path.
    """
    greedy = KINDS[kind].greedy
    steps = Steps(KINDS[kind].make(seed), most * greedy)
    with suppress(BudgetSpent):
        METHODS[method](steps, np.random.default_rng([seed, list(METHODS).index(method)]))
    marks = [factor * greedy for factor in LATER if factor <= most]
    found = [steps.best[min(mark, len(steps.best)) - 1] for mark in marks]
    return [
        Row(method, kind, seed, mark, value)
        for mark, value in zip(marks, found, strict=True)
        if math.isfinite(value)
    ]


def means(rows: Iterable[Row]) -> str:
    """Per kind and number of steps: the mean of every method, and paired differences from the best other."""
    values = pd.DataFrame(rows).pivot(index=["setting", "step", "round"], columns="method", values="value")
    found: Any = values.reindex(columns=list(METHODS)).fillna(-math.inf)
    lines = []
    for name, kind in KINDS.items():
        for mark, some in found.loc[name].groupby("step"):
            own = some[[*METHODS]].mean()  # −inf if a run has no value yet
            cells = [f"{mean:#.3g}".rstrip(".") if np.isfinite(mean) else "–" for mean in own]
            ahead = some[OURS] - some[some.drop(columns=OURS).mean().idxmax()]
            error = f" ± {ahead.sem():.2g}" if len(some) > 1 else ""
            lines.append(
                [f"{name} × {mark // kind.greedy}", str(mark), *cells, f"{ahead.mean():+.2g}{error}"]
            )
    return table(["problem", "steps", *METHODS, "ours minus the best other"], lines)


def summary(outcome: Outcome) -> str:
    """The means for a terminal."""
    return aligned(means(outcome.rows))
