"""Problems for testing the library's statements: nothing was fitted or chosen on them."""

from functools import partial

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance, Task, noisy
from experiments.general.settings import Setting, places
from experiments.general.spaces import AnySize, Order, Places, Subset


def partition(number: int) -> Instance:
    """14 numbers in two parts: the difference of their sums, negative."""
    sizes = np.random.default_rng([number, 200]).integers(10, 200, size=14)
    return Instance(AnySize(14), lambda points: -np.abs((2 * points - 1) @ sizes).astype(np.float64))


def independent(number: int) -> Instance:
    """Some of 15 nodes of a random graph: their weight, less a penalty for every edge between two of them."""
    rng = np.random.default_rng([number, 201])
    edges, weights = np.triu(rng.random((15, 15)) < 0.25, 1), rng.uniform(1.0, 3.0, size=15)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(points @ weights - 3.0 * np.einsum("mi,ij,mj->m", points, edges, points))

    return Instance(AnySize(15), scores)


def colours(number: int) -> Instance:
    """One of 4 colours for each of 9 countries: a preference for each, less 1 for equal neighbours."""
    rng = np.random.default_rng([number, 202])
    first, second = np.nonzero(np.triu(rng.random((9, 9)) < 0.4, 1))
    liking, every = rng.random((9, 4)), np.arange(9)

    def scores(points: IntArray) -> FloatArray:
        alike = (points[:, first] == points[:, second]).sum(axis=1)
        return np.asarray(liking[every, points].sum(axis=1) - alike)

    return Instance(Places([4] * 9), scores)


def ranking(number: int) -> Instance:
    """An order of 8 teams that agrees with most of the matches between them."""
    rng = np.random.default_rng([number, 203])
    strength = rng.normal(size=8)
    wins = rng.binomial(20, 1.0 / (1.0 + np.exp(strength - strength[:, None])))
    wins = np.triu(wins, 1) + np.tril(20 - wins.T, -1)
    above, below = np.triu_indices(8, 1)
    return Instance(Order(8), lambda points: wins[points[:, above], points[:, below]].sum(axis=1) * 1.0)


def joins(number: int) -> Instance:
    """The order of joining 8 tables: the logarithm of all intermediate rows, negative."""
    rng = np.random.default_rng([number, 204])
    rows = rng.uniform(2.0, 6.0, size=8)
    selective = np.triu(rng.uniform(-5.0, 0.0, size=(8, 8)) * (rng.random((8, 8)) < 0.5), 1)
    selective = selective + selective.T

    def scores(points: IntArray) -> FloatArray:
        size, total = rows[points[:, 0]].copy(), np.zeros(len(points))
        for at in range(1, 8):
            joined = selective[points[:, :at], points[:, at : at + 1]].sum(axis=1)
            size = size + rows[points[:, at]] + joined
            total = np.logaddexp(total, size)
        return np.asarray(-total)

    return Instance(Order(8), scores)


def similar(number: int) -> Instance:
    """A word of 8 letters that shares many pieces of two and three letters with hidden words."""
    rng = np.random.default_rng([number, 205])
    words = rng.integers(4, size=(3, 10))
    pieces = {
        tuple(word[at : at + size]) for word in words.tolist() for size in (2, 3) for at in range(11 - size)
    }
    worth = {piece: float(rng.uniform(0.5, 2.0)) for piece in sorted(pieces)}

    def scores(points: IntArray) -> FloatArray:
        total = np.zeros(len(points))
        for piece, value in worth.items():
            windows = np.lib.stride_tricks.sliding_window_view(points, len(piece), axis=1)
            total += value * (windows == np.array(piece)).all(axis=2).any(axis=1)
        return total

    return Instance(Places([4] * 8), scores)


def columns(number: int) -> Instance:
    """4 of 18 columns of a real table: held-out accuracy of the nearest class mean; there are ties."""
    from sklearn import datasets

    X, y = (datasets.load_breast_cancer if number % 2 else datasets.load_digits)(return_X_y=True)
    rng = np.random.default_rng([number, 206])
    rows = rng.permutation(len(y))[:240]
    X = X[rows][:, rng.permutation(np.flatnonzero(X[rows[:120]].std(axis=0) > 0.0))[:18]]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y[rows]
    labels = np.unique(y)
    means = np.array([X[:120][y[:120] == label].mean(axis=0) for label in labels])
    away = (X[120:, None] - means) ** 2  # row, class, column

    def scores(points: IntArray) -> FloatArray:
        nearest = np.stack([labels[(away @ point).argmin(axis=1)] for point in points])
        return np.asarray((nearest == y[120:]).mean(axis=1))

    return Instance(Subset(X.shape[1], 4), scores)


def steering(number: int) -> Instance:
    """11 impulses, left, none or right: how near a cart comes to a place at rest, and the cost."""
    rng = np.random.default_rng([number, 207])
    place, drag, price = rng.uniform(2.0, 12.0), rng.uniform(0.0, 0.3), rng.uniform(0.01, 0.1)

    def scores(points: IntArray) -> FloatArray:
        position, speed = np.zeros(len(points)), np.zeros(len(points))
        for impulse in (points - 1.0).T:
            speed = (1.0 - drag) * speed + impulse
            position = position + speed
        return np.asarray(-np.abs(position - place) - np.abs(speed) - price * (points != 1).sum(axis=1))

    return Instance(Places([3] * 11), scores)


def valley(number: int) -> Instance:
    """Four numbers of 11 levels: a bent valley, with its axes rotated."""
    rng = np.random.default_rng([number, 208])
    axes, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    centre = rng.uniform(3.0, 7.0, size=4)
    space = places(dict.fromkeys("abcd", Setting(np.round(np.linspace(-1, 1, 11), 2).tolist())))

    def scores(points: IntArray) -> FloatArray:
        along = (points - centre) @ axes / 3.0
        bent = (along[:, 1:] - along[:, :-1] ** 2) ** 2
        return np.asarray(-np.log1p(5.0 * bent.sum(axis=1) + (1.0 - along[:, 0]) ** 2))

    return Instance(space, scores)


def catalogue(number: int) -> Instance:
    """5 places, 7 options: a random function in which options share hidden properties."""
    rng = np.random.default_rng([number, 209])
    hidden = rng.normal(size=(5, 7, 2))
    inward, outward = rng.normal(size=(10, 12)) / 2.0, rng.normal(size=12)
    every = np.arange(5)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(np.tanh(hidden[every, points].reshape(len(points), 10) @ inward) @ outward)

    return Instance(Places([7] * 5), scores)


def solver(number: int) -> Instance:
    """A solver with its own settings, a preconditioner for some of them, tolerances: time, negative."""
    rng = np.random.default_rng([number, 210])
    base, tops = rng.uniform(0.0, 2.0, size=4), rng.uniform(0.2, 0.8, size=6)
    effect, slope = rng.normal(size=(4, 4)) / 3.0, rng.uniform(-1.0, 1.0, size=(4, 7))
    settings = {
        "solver": Setting(("direct", "cg", "gmres", "multigrid")),
        "tolerance": Setting((1e-8, 1e-6, 1e-4, 1e-2)),
        "precondition": Setting(("none", "diagonal", "incomplete"), ("solver", ("cg", "gmres"))),
        "levels": Setting(range(1, 25), ("solver", ("multigrid",))),
        "restart": Setting(range(5, 65, 5), ("solver", ("gmres",))),
        "block": Setting(range(16, 208, 16), ("solver", ("direct", "multigrid"))),
    }
    space = places(settings)

    def scores(points: IntArray) -> FloatArray:
        chosen, share = points[:, 0], points / space.options
        exists = points < space.options
        curve = np.where(exists[:, 2:], slope[chosen][:, :4] + 3.0 * (share[:, 2:] - tops[2:]) ** 2, 0.0)
        return np.asarray(-base[chosen] - effect[chosen, points[:, 1]] - curve.sum(axis=1))

    return Instance(space, scores)


def walk(number: int, steps: int) -> Instance:
    """Steps east or north through a field of rewards."""
    drawn = np.random.default_rng([number, 211, steps]).normal(size=(steps + 1, steps + 1))
    field = drawn + np.roll(drawn, 1, axis=0) + np.roll(drawn, 1, axis=1)  # neighbours are alike

    def scores(points: IntArray) -> FloatArray:
        north = np.cumsum(points, axis=1)
        return np.asarray(field[np.arange(1, steps + 1) - north, north].sum(axis=1))

    return Instance(Places([2] * steps), scores)


def groups(number: int) -> Instance:
    """24 places, 3 letters: eight independent groups of three."""
    rng = np.random.default_rng([number, 213])
    counts, order = rng.normal(size=(8, 3, 3, 3)), rng.permutation(24)
    whole = np.arange(8)

    def scores(points: IntArray) -> FloatArray:
        a, b, c = points[:, order].reshape(len(points), 8, 3).transpose(2, 0, 1)
        return np.asarray(counts[whole, a, b, c].sum(axis=1))

    return Instance(Places([3] * 24), scores)


FRESH = {
    name: Task(name, "fresh", "", budget, make)
    for name, budget, make in (
        ("partition", 100, partition),
        ("independent", 100, independent),
        ("colours", 120, colours),
        ("ranking", 100, ranking),
        ("joins", 80, joins),
        ("similar", 100, similar),
        ("columns", 70, columns),
        ("steering", 100, steering),
        ("valley", 70, valley),
        ("catalogue", 80, catalogue),
        ("solver", 60, solver),
        ("walk", 70, partial(walk, steps=12)),
        ("long-walk", 150, partial(walk, steps=30)),
        ("groups", 200, groups),
    )
}
"""Every problem by its name; the budget is the number of evaluations after which a user would stop."""
for _name, _budget in (("ranking", 120), ("catalogue", 100)):
    FRESH[f"{_name}-noisy"] = noisy(FRESH[_name], budget=_budget)
