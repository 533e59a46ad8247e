"""Do the effects that the page shows hold? Searches of problems whose effects of parts and pairs are known.

A reward is Σ w_j x_j + Σ u_ij x_i x_j + Σ t_ijk x_i x_j x_k + noise, where x_j says whether a leaf has part
j. At the shares p of the evaluated leaves that have the parts, a part is worth w_j + Σ_k u_jk p_k +
Σ_kl t_jkl p_k p_l, and a pair u_ij + Σ_k t_ijk p_k; both are compared with the averages over the options of a
choice.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.methods import default_initial
from dagsearch.problem import Problem
from dagsearch.problems import Choices, Subsets
from dagsearch.report.effects import Effect, worth_of
from dagsearch.report.parts import Part, Shown, parts_of
from dagsearch.search import Search
from dagsearch.storage.record import Record
from experiments.harness import markdown
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.truth import measures
from experiments.truth.measures import Line, line

NAME = "pairs"
ROUNDS = 16
"""Number of problems of each kind, each searched once."""
# Largest numbers of parts and pairs that are shown.
_MOST = 40
# What is stated, by the rows that tell whether it holds, and how often it should hold at least.
_STATED = {
    "pair in its interval": ("90 % interval of a pair that is shown", "0.90"),
    "pair has an effect": ("a pair that is shown has an effect", "0.95"),
    "part in its interval": ("90 % interval of an item or option that is shown", "0.90"),
    "part has the sign shown": ("the sign of an item or option that is shown", "0.95"),
}
_QUICK = ("20 switches", "6 choices of 5")


class Kind(NamedTuple):
    """A kind of problem; the numbers of its parts' and pairs' effects are drawn with its seed."""

    options: tuple[int, ...]
    """Number of options of each choice; empty for subsets."""
    items: int
    """Number of items to choose from; 0 for choices."""
    chosen: int
    """Number of items in a subset; 0 for any."""
    pairs: int
    """Number of pairs with an effect."""
    triples: int
    """Number of triples with an effect."""
    parts: float
    """Share of parts with an effect of their own."""
    noise: float
    """Standard deviation of the noise; effects are about 1."""
    evaluations: int
    """Length of a search."""


KINDS = {
    "12 of 50 items": Kind((), 50, 12, 10, 0, 0.4, 0.3, 200),
    "7 of 40 items, no pairs": Kind((), 40, 7, 0, 0, 0.6, 0.5, 200),
    "9 of 100 items": Kind((), 100, 9, 12, 0, 0.2, 0.2, 300),
    "any of 30 items": Kind((), 30, 0, 6, 0, 0.3, 0.3, 250),
    "any of 18 items, triples": Kind((), 18, 0, 5, 8, 0.5, 0.2, 250),
    "any of 40 items, no pairs": Kind((), 40, 0, 0, 0, 0.3, 0.6, 200),
    "20 switches": Kind((2,) * 20, 0, 0, 5, 0, 0.4, 0.2, 200),
    "24 switches, no pairs": Kind((2,) * 24, 0, 0, 0, 0, 0.5, 0.5, 200),
    "6 choices of 5": Kind((5,) * 6, 0, 0, 8, 0, 0.4, 0.3, 200),
    "10 choices of 9": Kind((9,) * 10, 0, 0, 10, 0, 0.3, 0.1, 300),
    "12 choices of 2 to 4, no pairs": Kind((2, 3, 4) * 4, 0, 0, 0, 0, 0.5, 0.4, 200),
    "7 choices of 3 to 5, triples": Kind((3, 4, 5, 3, 4, 5, 3), 0, 0, 5, 6, 0.5, 0.2, 250),
}
"""The kinds that are reported."""
NOISE_FREE = {"8 of 84 items": Kind((), 84, 8, 5, 0, 0.2, 0.0, 300)}
"""A kind on which the method was developed; ``docs/truth.md`` says how often its intervals hold."""


class Truth:
    """A problem of a kind, with what it is made of.

    Parameters
    ----------
    kind : Kind
        The kind.
    seed : int
        Seed of its effects.
    """

    def __init__(self, kind: Kind, seed: int) -> None:
        rng = np.random.default_rng([seed, len(kind.options), kind.items, kind.pairs, kind.triples])
        self.kind = kind
        self.parts = [Part("", str(item)) for item in range(kind.items)] + [
            Part(f"choice {place}", str(value))
            for place, count in enumerate(kind.options)
            for value in range(count)
        ]
        count = len(self.parts)
        self.column = {part: place for place, part in enumerate(self.parts)}
        self.choice = np.array(
            [*range(kind.items), *(place for place, many in enumerate(kind.options) for _ in range(many))]
        )
        self.single = rng.normal(size=count) * (rng.random(count) < kind.parts)
        self.pair = np.zeros((count, count))
        for i, j in self._different(rng, kind.pairs, 2):
            self.pair[i, j] = self.pair[j, i] = self._size(rng)
        self.triples = {tuple(chosen): self._size(rng) for chosen in self._different(rng, kind.triples, 3)}
        self._noise = np.random.default_rng([seed, 1])

    def _different(self, rng: np.random.Generator, count: int, size: int) -> list[list[int]]:
        """Sets of parts of different choices."""
        found: set[tuple[int, ...]] = set()
        while len(found) < count:
            drawn = rng.choice(len(self.parts), size, replace=False)
            if len(set(self.choice[drawn].tolist())) == size:
                found.add(tuple(sorted(drawn.tolist())))
        return [list(one) for one in sorted(found)]

    @staticmethod
    def _size(rng: np.random.Generator) -> float:
        return float(rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 2.0))

    def reward(self, columns: Sequence[int]) -> float:
        """The reward of a leaf with some parts."""
        has = np.zeros(len(self.parts))
        has[list(columns)] = 1.0
        value = float(self.single @ has + has @ self.pair @ has / 2.0)
        value += sum(size for triple, size in self.triples.items() if has[list(triple)].all())
        return value + self.kind.noise * float(self._noise.normal())

    def problem(self) -> Problem:
        """The problem to search."""
        kind = self.kind
        if kind.options:
            places = {f"choice {place}": range(count) for place, count in enumerate(kind.options)}
            column = {(part.place, part.value): place for part, place in self.column.items()}
            return Choices(
                places, lambda leaf: self.reward([column[name, str(value)] for name, value in leaf.items()])
            )
        if kind.chosen:
            return Subsets(kind.items, kind.chosen, lambda leaf: self.reward(sorted(leaf)))
        return Subsets(kind.items, (1, kind.items), lambda leaf: self.reward(sorted(leaf)))

    def worth(self, told: Sequence[Shown]) -> tuple[FloatArray, FloatArray]:
        """What every part and every pair is worth at the averages of the evaluated leaves."""
        share = np.zeros(len(self.parts))
        for one in told:
            share[[self.column[part] for part in one.parts]] += 1.0 / len(told)
        pair = self.pair.copy()
        part = self.single + self.pair @ share
        for (i, j, k), size in self.triples.items():
            for a, b, c in ((i, j, k), (i, k, j), (j, k, i)):
                pair[a, b] += size * share[c]
                pair[b, a] += size * share[c]
                part[c] += size * share[a] * share[b]
        varied = (share > 0.0) & (share < 1.0 - 1e-9)
        if self.kind.chosen:  # an item is compared with the average one, which it replaces
            return part - part[varied].mean(), pair
        return self._compared(part, varied), self._compared(self._compared(pair, varied).T, varied)

    def _compared(self, worth: FloatArray, varied: BoolArray) -> FloatArray:
        """Differences from the averages over the evaluated options of a choice, along the first axis."""
        if not self.kind.options:
            return worth
        same = (self.choice[:, None] == self.choice) & varied
        return np.asarray(worth - (same / np.maximum(same.sum(axis=1), 1)[:, None]) @ worth)

    def has_effect(self, pair: Effect) -> bool:
        """Whether two parts interact at all, with all options of their choices."""
        i, j = (self.choice == self.choice[self.column[part]] for part in pair.parts)
        in_triples = any(i[list(one)].any() and j[list(one)].any() for one in self.triples)
        return bool(self.pair[np.ix_(i, j)].any()) or in_triples


def run(*, jobs: int = 1, quick: bool = False, progress: bool = True) -> Outcome:
    """Search problems of every kind, and compare what is shown of them with the truth."""
    names, rounds = (_QUICK, 1) if quick else (tuple(KINDS), ROUNDS)
    tasks = [(name, number) for number in range(rounds) for name in names]
    rows = run_rounds(one_run, tasks, jobs, progress)
    return Outcome(NAME, rows, {"rounds": rounds, "kinds": {name: KINDS[name]._asdict() for name in names}})


def lines(rows: Sequence[Row]) -> list[Line]:
    """How often what is shown holds, over all kinds of problems."""
    found = []
    for setting, (quantity, nominal) in _STATED.items():
        some = [row for row in rows if row.setting == setting]
        if some:
            found.append(line(quantity, nominal, [row.value for row in some], [row.method for row in some]))
    return found


def table(rows: Sequence[Row]) -> str:
    """For every kind of problem: how many are shown, and how often they hold."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        values.setdefault((row.method, row.setting), []).append(row.value)

    def share(name: str, setting: str) -> str:
        held = values.get((name, setting), [])
        return f"{sum(held):.0f} of {len(held)}" if held else "–"

    lines = [
        [
            name,
            f"{np.mean(values[name, 'pairs shown']):.1f} of {np.mean(values[name, 'pairs compared']):,.0f}",
            share(name, "pair in its interval"),
            share(name, "pair has an effect"),
            f"{np.mean(values[name, 'parts shown']):.1f}",
            share(name, "part in its interval"),
            share(name, "part has the sign shown"),
        ]
        for name in dict.fromkeys(row.method for row in rows)
    ]
    head = ["problem", "pairs shown", "in their intervals", "have an effect", "parts shown"]
    return markdown.table([*head, "in their intervals", "have the sign shown"], lines)


def summary(outcome: Outcome) -> str:
    """The table of the kinds and what is stated, for a terminal."""
    tables = table(outcome.rows), measures.table(lines(outcome.rows))
    return "\n\n".join(map(markdown.aligned, tables))


def one_run(name: str, number: int) -> list[Row]:
    """Search a problem, and compare what the page shows of it with the truth."""
    kind = {**KINDS, **NOISE_FREE}[name]
    truth = Truth(kind, number)
    search = Search.default(truth.problem(), initial=default_initial(kind.evaluations), seed=number)
    search.run(kind.evaluations)
    record = Record()
    record.add_evaluations(search.history)
    told = [Shown(parts_of(one, record), one.reward) for one in record.told]
    return compared(name, number, truth, told)


def compared(name: str, number: int, truth: Truth, told: Sequence[Shown]) -> list[Row]:
    """Rows that say of everything that the page shows whether it holds."""
    effects, pairs, _ = worth_of(told, _MOST, _MOST)
    part, pair = truth.worth(told)
    rows = []
    for at, one in enumerate(effects):
        worth = part[truth.column[one.part]]
        rows += [
            Row(name, "part in its interval", number, at, float(one.low <= worth <= one.high)),
            Row(name, "part has the sign shown", number, at, float(worth * one.effect > 0.0)),
        ]
    for at, one in enumerate(pairs):
        i, j = (truth.column[single] for single in one.parts)
        rows += [
            Row(name, "pair in its interval", number, at, float(one.low <= pair[i, j] <= one.high)),
            Row(name, "pair has an effect", number, at, float(truth.has_effect(one))),
        ]
    different = sum(a != b for a, b in combinations(truth.choice.tolist(), 2))
    return [
        *rows,
        Row(name, "pairs shown", number, 0, float(len(pairs))),
        Row(name, "parts shown", number, 0, float(len(effects))),
        Row(name, "pairs compared", number, 0, float(different)),
    ]
