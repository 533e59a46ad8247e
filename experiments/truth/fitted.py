"""Problems that the probability of being the best is fitted on: their best score is known.

Most are drawn anew for every number and small enough to enumerate; the others are those of the general
benchmark that are enumerated or proven.
"""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general import problems as general
from experiments.general.optima import scale_of
from experiments.general.problems.base import Instance
from experiments.general.problems.orders import one_order, round_trip
from experiments.general.problems.strings import merit_factor
from experiments.general.spaces import AnySize, Condition, Letters, Order, Places, Subset
from experiments.truth.known import Known, enumerated, noisy


def pairs(number: int) -> Instance:
    """5 of 16 items: a worth for each, and for some pairs."""
    rng = np.random.default_rng([number, 100])
    worth = rng.normal(size=16)
    together = np.triu(rng.normal(size=(16, 16)) * (rng.random((16, 16)) < rng.choice([0.05, 0.2, 0.6])), 1)
    return Instance(Subset(16, 5), lambda points: _quadratic(points, worth, together))


def _quadratic(points: IntArray, worth: FloatArray, together: FloatArray) -> FloatArray:
    return np.asarray(points @ worth + np.einsum("mi,ij,mj->m", points, together, points))


def facilities(number: int) -> Instance:
    """4 of 24 sites: the mean distance of 60 customers to the nearest, negative."""
    rng = np.random.default_rng([number, 101])
    distance = np.linalg.norm(rng.random((60, 1, 2)) - rng.random((24, 2)), axis=2)

    def scores(points: IntArray) -> FloatArray:
        chosen = np.nonzero(points)[1].reshape(len(points), -1)
        return np.asarray(-distance[:, chosen].min(axis=2).mean(axis=0))

    return Instance(Subset(24, 4), scores)


def glass(number: int) -> Instance:
    """14 spins with random couplings and fields."""
    rng = np.random.default_rng([number, 102])
    couplings = np.triu(rng.normal(size=(14, 14)) * (rng.random((14, 14)) < rng.choice([0.2, 0.5, 1.0])), 1)
    fields = 0.5 * rng.normal(size=14)
    return Instance(AnySize(14), lambda points: _quadratic(2 * points - 1, fields, couplings))


def epistasis(number: int) -> Instance:
    """8 places, 4 letters: every place counts together with up to three random others."""
    rng = np.random.default_rng([number, 103])
    others = int(rng.integers(0, 4))
    tables = rng.normal(size=(8, *[4] * (others + 1)))
    with_whom = np.array(
        [[place, *rng.choice(np.delete(np.arange(8), place), others, False)] for place in range(8)]
    )

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(sum(tables[place][tuple(points[:, with_whom[place]].T)] for place in range(8)))

    return Instance(Letters(8, 4), scores)


def late_jobs(number: int) -> Instance:
    """8 jobs on one machine with times to set up: total weighted tardiness, negative."""
    rng = np.random.default_rng([number, 105])
    times, weights = rng.integers(1, 60, size=8), rng.integers(1, 11, size=8)
    due, setup = (
        times.sum() * rng.uniform(0.1, 0.9, size=8),
        rng.uniform(0.0, rng.choice([0, 30]), size=(8, 8)),
    )

    def scores(points: IntArray) -> FloatArray:
        lost = np.insert(setup[points[:, :-1], points[:, 1:]], 0, 0.0, axis=1)
        late = np.maximum(np.cumsum(times[points] + lost, axis=1) - due[points], 0.0)
        return np.asarray(-np.sum(weights[points] * late, axis=1))

    return Instance(Order(8), scores)


def _numbers(levels: int, count: int) -> Places:
    return Places.of_values([tuple(range(levels))] * count, {}, [f"x{place}" for place in range(count)])


def hills(number: int) -> Instance:
    """Three numbers of 16 levels: the highest of a few hills of different widths."""
    rng = np.random.default_rng([number, 106])
    count = int(rng.choice([1, 3, 8, 20]))
    tops, widths = rng.uniform(0, 15, size=(count, 3)), rng.uniform(2, 10, size=(count, 3))
    heights = rng.uniform(0.3, 1.0, size=count)

    def scores(points: IntArray) -> FloatArray:
        away = ((points[:, None] - tops) / widths) ** 2
        return np.asarray((heights * np.exp(-0.5 * away.sum(axis=2))).max(axis=1))

    return Instance(_numbers(16, 3), scores)


def waves(number: int) -> Instance:
    """Four numbers of 10 levels: a bowl with waves on it."""
    rng = np.random.default_rng([number, 107])
    centre, frequency, height = (
        rng.uniform(2, 7, size=4),
        rng.uniform(0.5, 3, size=4),
        rng.choice([0.0, 2.0, 6.0]),
    )

    def scores(points: IntArray) -> FloatArray:
        away = points - centre
        return np.asarray(-(away**2).sum(axis=1) + height * np.cos(frequency * away).sum(axis=1))

    return Instance(_numbers(10, 4), scores)


def branches(number: int) -> Instance:
    """One of five models, each with its own two settings of 12 levels, and two settings for all."""
    rng = np.random.default_rng([number, 108])
    names = ["model", "p", "q", *(f"{letter}{model}" for model in range(5) for letter in "ab")]
    values = [tuple("abcde"), tuple("xyz"), (0.1, 0.3, 1.0, 3.0), *[tuple(range(12))] * 10]
    conditions = {3 + 2 * model + which: Condition(0, (model,)) for model in range(5) for which in range(2)}
    level, effect = rng.normal(size=5), 0.3 * rng.normal(size=(5, 3, 4))
    tops, sharp = rng.uniform(0, 11, size=(5, 2)), rng.uniform(0.01, 0.1, size=(5, 2))

    def scores(points: IntArray) -> FloatArray:
        model = points[:, 0]
        own = np.take_along_axis(points[:, 3:], np.stack([2 * model, 2 * model + 1], axis=1), axis=1)
        away = (sharp[model] * (own - tops[model]) ** 2).sum(axis=1)
        return np.asarray(level[model] + effect[model, points[:, 1], points[:, 2]] - away)

    return Instance(Places.of_values(values, conditions, names), scores)


def additive(number: int) -> Instance:
    """6 places, 5 options: one effect for every option, and small effects of pairs."""
    rng = np.random.default_rng([number, 109])
    main, size = rng.normal(size=(6, 5)), float(rng.choice([0.0, 0.1, 0.4]))
    pair = size * rng.normal(size=(6, 5, 5))
    places = np.arange(6)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(
            (main[places, points] + pair[places, points, np.roll(points, -1, axis=1)]).sum(axis=1)
        )

    return Instance(Places([5] * 6), scores)


def clauses(number: int) -> Instance:
    """14 truth values: the number of 50 clauses of three literals that hold; there are ties."""
    rng = np.random.default_rng([number, 110])
    which = np.array([rng.choice(14, 3, replace=False) for _ in range(50)])
    signs = rng.integers(2, size=(50, 3))
    return Instance(Letters(14, 2), lambda points: (points[:, which] == signs).any(axis=2).sum(axis=1) * 1.0)


def traps(number: int) -> Instance:
    """Blocks of three places, yes or no: most blocks lead away from their best option."""
    rng = np.random.default_rng([number, 111])
    best, places, depth = rng.integers(2, size=12), rng.permutation(12), rng.uniform(0.2, 0.9)

    def scores(points: IntArray) -> FloatArray:
        right = (points == best)[:, places].reshape(len(points), 4, 3).sum(axis=2)
        return np.asarray(np.where(right == 3, 1.0, depth * (2 - right) / 2).sum(axis=1))

    return Instance(Letters(12, 2), scores)


def steps(number: int) -> Instance:
    """Three numbers of 14 levels: a hill cut into terraces."""
    rng = np.random.default_rng([number, 112])
    top, sharp, terraces = rng.uniform(1, 12, size=3), rng.uniform(0.2, 1.0, size=3), int(rng.choice([6, 20]))

    def scores(points: IntArray) -> FloatArray:
        height = np.exp(-0.03 * (sharp * (points - top) ** 2).sum(axis=1))
        return np.asarray(np.floor(terraces * height))

    return Instance(_numbers(14, 3), scores)


def chain(number: int) -> Instance:
    """30 places, 3 letters: every letter counts together with the next."""
    tables = _links(number)
    places = np.arange(29)
    return Instance(Letters(30, 3), lambda points: tables[places, points[:, :-1], points[:, 1:]].sum(axis=1))


def _links(number: int) -> FloatArray:
    rng = np.random.default_rng([number, 113])
    return np.asarray(rng.normal(size=(29, 3, 1)) + rng.choice([0.3, 1.0]) * rng.normal(size=(29, 3, 3)))


def best_chain(number: int) -> float:
    """The best score, letter by letter."""
    best = np.zeros(3)
    for table in _links(number):
        best = (best[:, None] + table).max(axis=0)
    return float(best.max())


def thresholds(number: int) -> Instance:
    """6 numbers of 30 levels: a bent curve in each."""
    curves = _curves(number)
    space, places = _numbers(30, 6), np.arange(6)
    return Instance(space, lambda points: curves[places, points].sum(axis=1))


def _curves(number: int) -> FloatArray:
    rng = np.random.default_rng([number, 114])
    top, steep = rng.uniform(3, 26, size=(6, 1)), rng.uniform(0.05, 0.4, size=(6, 2))
    away = np.arange(30) - top
    return np.asarray(
        -(np.where(away < 0, -steep[:, :1] * away, steep[:, 1:] * away) ** rng.uniform(0.7, 2.0))
    )


def team(number: int) -> Instance:
    """12 of 60 people: the logarithm of what they do together."""
    worth = np.random.default_rng([number, 115]).gamma(2.0, size=60)
    return Instance(Subset(60, 12), lambda points: np.log(points @ worth))


def selected(number: int) -> Instance:
    """4 of 20 columns of real tables: the share of held-out variance that a linear fit explains."""
    from sklearn import datasets

    load = (datasets.load_breast_cancer, datasets.load_wine, datasets.load_diabetes, datasets.load_digits)
    X, y = load[number % 4](return_X_y=True)
    rng = np.random.default_rng([number, 120])
    X = X[:, X.std(axis=0) > 1e-9].astype(np.float64)
    rows, columns = rng.permutation(len(y))[:300], rng.permutation(X.shape[1])[:20]
    X, y = X[rows][:, columns], y[rows].astype(np.float64)
    X, y = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), y - y.mean()
    half = len(y) // 2
    gram, moment = X[:half].T @ X[:half] + 1e-3 * np.eye(X.shape[1]), X[:half].T @ y[:half]
    held_X, held_y = X[half:], y[half:]

    def scores(points: IntArray) -> FloatArray:
        chosen = np.nonzero(points)[1].reshape(len(points), -1)
        weights = np.linalg.solve(gram[chosen[:, :, None], chosen[:, None, :]], moment[chosen][:, :, None])[
            :, :, 0
        ]
        predicted = np.einsum("rmi,mi->mr", held_X[:, chosen], weights)
        return np.asarray(1.0 - ((held_y - predicted) ** 2).sum(axis=1) / (held_y**2).sum())

    return Instance(Subset(X.shape[1], 4), scores)


def dispersion(number: int) -> Instance:
    """5 of 18 places: the smallest distance between two of them."""
    rng = np.random.default_rng([number, 121])
    points_at = rng.random((18, 2))
    distance = np.linalg.norm(points_at[:, None] - points_at, axis=2)
    first, second = np.triu_indices(5, 1)

    def scores(points: IntArray) -> FloatArray:
        chosen = np.nonzero(points)[1].reshape(len(points), -1)
        return np.asarray(distance[chosen[:, first], chosen[:, second]].min(axis=1))

    return Instance(Subset(18, 5), scores)


def cut(number: int) -> Instance:
    """14 nodes of a random graph in two parts: the weight between them."""
    rng = np.random.default_rng([number, 122])
    weights = np.triu(rng.integers(1, 20, size=(14, 14)) * (rng.random((14, 14)) < 0.4), 1)

    def scores(points: IntArray) -> FloatArray:
        apart = points[:, :, None] != points[:, None, :]
        return np.asarray((apart * weights).sum(axis=(1, 2)).astype(np.float64))

    return Instance(Letters(14, 2), scores)


def places_of_facilities(number: int) -> Instance:
    """Quadratic assignment of 8 facilities to 8 places: flow times distance, negative."""
    rng = np.random.default_rng([number, 123])
    at = rng.random((8, 2))
    distance = np.linalg.norm(at[:, None] - at, axis=2)
    flow = np.triu(rng.integers(0, 10, size=(8, 8)), 1)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(-(flow * distance[points[:, :, None], points[:, None, :]]).sum(axis=(1, 2)))

    return Instance(Order(8), scores)


def stages(number: int) -> Instance:
    """7 stages, 5 treatments: what grows between them, and a price that falls with use."""
    rng = np.random.default_rng([number, 125])
    kill, price, growth = (
        rng.uniform(0.2, 0.9, size=5),
        rng.uniform(0.2, 1.0, size=5),
        rng.uniform(0.1, 0.5, 7),
    )

    def scores(points: IntArray) -> FloatArray:
        left, cost, used = np.full(len(points), 0.1), np.zeros(len(points)), np.zeros((len(points), 5))
        rows = np.arange(len(points))
        for stage, chosen in enumerate(points.T):
            left = 1.0 - (1.0 - growth[stage]) * (1.0 - left)
            left = left * (1.0 - kill[chosen] * 0.9 ** used[rows, chosen])
            cost += price[chosen] * 0.9 ** used[rows, chosen]
            used[rows, chosen] += 1.0
        return np.asarray(-cost - 8.0 * left)

    return Instance(Letters(7, 5), scores)


def recipe(number: int) -> Instance:
    """A method, a temperature and a time on logarithmic scales, a solvent: a yield with a narrow ridge."""
    rng = np.random.default_rng([number, 126])
    hot, long = (
        tuple(float(f"{t:.3g}") for t in np.geomspace(20, 300, 14)),
        (1, 2, 5, 10, 20, 50, 100, 200, 500),
    )
    space = Places.of_values(
        [tuple("abcd"), hot, long, tuple("uvwxyz")], {}, ["method", "hot", "long", "solvent"]
    )
    ridge, tilt = rng.uniform(4, 12, size=4), rng.uniform(0.3, 1.5, size=4)
    effect, width = rng.uniform(0.4, 1.0, size=(4, 6)), rng.uniform(1.0, 3.0, size=4)

    def scores(points: IntArray) -> FloatArray:
        method, heat, length, solvent = points.T
        off = (heat + tilt[method] * length - ridge[method]) / width[method]
        return np.asarray(effect[method, solvent] * np.exp(-(off**2)) - 0.02 * heat)

    return Instance(space, scores)


def bins(number: int) -> Instance:
    """9 loads on 4 machines: the largest sum, negative; there are many ties."""
    loads = np.random.default_rng([number, 127]).integers(5, 60, size=9)

    def scores(points: IntArray) -> FloatArray:
        sums = np.stack([(points == machine) @ loads for machine in range(4)], axis=1)
        return np.asarray(-sums.max(axis=1).astype(np.float64))

    return Instance(Letters(9, 4), scores)


def _of_benchmark(name: str) -> Known:
    task = general.TASKS[name]
    return Known(task.budget, task.instance, lambda number: scale_of(task, number).best)


def _proven(task: general.Task) -> bool:
    numbers = range(general.TASKS[task.original].instances)
    alike = task.relabels is not None or task.same is not None
    return not alike and all(scale_of(task, number).how in ("enumerated", "proven") for number in numbers)


FITTED = {
    "pairs-noisy": noisy(enumerated(100, pairs)),
    "additive-noisy": noisy(enumerated(100, additive)),
    "late-jobs-noisy": noisy(enumerated(120, late_jobs)),
    "pairs": enumerated(70, pairs),
    "facilities": enumerated(80, facilities),
    "glass": enumerated(100, glass),
    "epistasis": enumerated(120, epistasis),
    # A round trip through 8 towns.
    "round-trip": enumerated(
        100, lambda number: round_trip(np.random.default_rng([number, 104]).random((8, 2)))
    ),
    "late-jobs": enumerated(100, late_jobs),
    "hills": enumerated(60, hills),
    "waves": enumerated(60, waves),
    "branches": enumerated(60, branches),
    "additive": enumerated(60, additive),
    "clauses": enumerated(100, clauses),
    "traps": enumerated(100, traps),
    "steps": enumerated(50, steps),
    "chain": Known(200, chain, best_chain),
    "thresholds": Known(100, thresholds, lambda number: float(_curves(number).max(axis=1).sum())),
    "team": Known(
        150,
        team,
        lambda number: float(
            np.log(np.sort(np.random.default_rng([number, 115]).gamma(2.0, size=60))[-12:].sum())
        ),
    ),
    "selected": enumerated(70, selected),
    "dispersion": enumerated(80, dispersion),
    "cut": enumerated(100, cut),
    "places": enumerated(120, places_of_facilities),
    # 8 jobs through four machines in one order; there are ties.
    "machines": enumerated(
        80, lambda number: one_order(np.random.default_rng([number, 124]).integers(1, 100, size=(8, 4)))
    ),
    # 12 to 16 signs with low autocorrelation.
    "signs": enumerated(100, lambda number: merit_factor(12 + number % 5)),
    "stages": enumerated(100, stages),
    "recipe": enumerated(60, recipe),
    "bins": enumerated(100, bins),
    **{name: _of_benchmark(name) for name, task in general.TASKS.items() if _proven(task)},
}
"""Every problem by its name."""
