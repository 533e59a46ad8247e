"""States as codes, the covariance over views of them, and the local search that uses both."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import dagsearch as ds
import dagsearch.space.space
from dagsearch.covariances import Views
from dagsearch.covariances.counts import OrderViews, PlaceViews
from dagsearch.methods import default_initial
from dagsearch.proposers import Climb, Nearby
from dagsearch.proposers.climb import log_expected_improvement
from dagsearch.space import Space
from dagsearch.space.moves import CodeMoves
from dagsearch.space.numbers import scale_features


def rng():
    return np.random.default_rng(0)


class Vector:
    """A categorical vector, decided place by place, as a newcomer writes it."""

    def __init__(self, categories, reward=lambda leaf: float(sum(leaf))):
        self.categories, self.reward = categories, reward

    def root(self):
        return ()

    def actions(self, state):
        return range(self.categories[len(state)]) if len(state) < len(self.categories) else ()

    def step(self, state, action):
        return (*state, action)


class Route:
    """Places to visit, in any order."""

    def __init__(self, count, reward=lambda leaf: 0.0, forbidden=()):
        self.count, self.reward, self.forbidden = count, reward, set(forbidden)

    def root(self):
        return ()

    def actions(self, state):
        left = [item for item in "abcdefghij"[: self.count] if item not in state]
        allowed = [item for item in left if not state or (state[-1], item) not in self.forbidden]
        return allowed or left

    def step(self, state, action):
        return (*state, action)


# Codes ----------------------------------------------------------------------------------------------------


def test_codes_of_a_vector_are_inferred_from_its_paths():
    coding = Space(Vector([3, 2, 4])).coding
    assert coding.layout.kind == "places"
    assert coding.layout.categories.tolist() == [3, 2, 4]
    assert coding.codes([(2, 1), (0, 1, 3)]).tolist() == [[2, 1, -1], [0, 1, 3]]
    assert coding.leaf_of(np.array([2, 0, 3])) == (2, 0, 3)


def test_long_paths_keep_their_codes():
    class Counted(Vector):
        steps = 0

        def step(self, state, action):
            Counted.steps += 1
            return super().step(state, action)

    taken = []
    for length in (1_000, 1_001, 2_000):
        Counted.steps = 0
        assert Space(Counted([2] * length)).coding is not None
        ds.search(Counted([2] * length, lambda leaf: float(sum(leaf))), 4, seed=0)
        taken.append(Counted.steps / length)
    assert taken[1] == pytest.approx(taken[0], rel=0.1)
    assert taken[2] < 1.5 * taken[0]


def test_codes_of_an_order_are_inferred_from_its_paths():
    coding = Space(Route(5)).coding
    assert coding.layout.kind == "order"
    assert coding.codes([("c", "a")]).tolist() == [[2, 0, -1, -1, -1]]
    assert coding.leaf_of(np.array([4, 3, 2, 1, 0])) == ("e", "d", "c", "b", "a")


@pytest.mark.parametrize(
    "problem",
    [
        type("Items", (Vector,), {"items": lambda self, state: enumerate(state)})([3, 2, 4]),
        ds.problems.TicTacToe(),  # has players
        ds.as_tree(ds.problems.Subsets(6, 2, sum)),
    ],
)
def test_where_states_are_no_tuples_of_decisions_there_are_no_codes(problem):
    assert Space(problem).coding is None
    with pytest.raises(ds.CovarianceError, match="Views needs states with codes"):
        Views().bind(problem)


def offers(problem, leaf):
    """Whether a problem offers all decisions of a tuple, one after the other."""
    return all(action in problem.actions(leaf[:place]) for place, action in enumerate(leaf))


def test_neighbours_that_cannot_be_reached_are_left_out():
    route = Route(5, forbidden=[("a", "b"), ("c", "d")])
    space = Space(route)
    assert not space.coding.certain
    moves = CodeMoves(space, space.coding)
    around = moves.around(space.coding.codes([("a", "c", "b", "d", "e")])[0], 999, rng())
    ways = [moves.way(point) for point in around]
    assert 0 < sum(way is None for way in ways) < len(ways)
    for point, way in zip(around, ways, strict=True):
        leaf = moves.leaf(point)
        assert offers(route, leaf) == (way is not None)
        assert way is None or way == (leaf, list(leaf))
    result = ds.search(route, 200, seed=0)
    assert all(offers(route, evaluation.leaf) for evaluation in result.history)
    assert result.stopped == "exhausted"


# Views ------------------------------------------------------------------------------------------------------


def grams_of(views, codes, others, relevance):
    """Inner products in each view, shape ``(views, codes, others)``."""
    only = [np.array([one, one]) for one in np.eye(len(views.names))]
    ours, theirs = views.described(codes), views.described(others)
    return np.array([views.compared(ours, theirs, relevance, weights)[0] for weights in only])


COUNTED = {
    "binary": (PlaceViews(np.full(9, 2)), 2),
    "letters": (PlaceViews(np.full(6, 4)), 4),
    "mixed": (PlaceViews(np.array([3, 2, 5, 2])), [3, 2, 5, 2]),
    "two places": (PlaceViews(np.array([3, 2])), [3, 2]),
    **{f"{length} of {n}": (OrderViews(n, length), None) for n, length in [(7, 7), (7, 4), (7, 2), (7, 1)]},
    **{f"{n} items": (OrderViews(n, n), None) for n in (1, 2, 3)},
}


def some_codes(views, below, count=40, seed=0):
    """Random codes; many rows differ little from the one before."""
    rng = np.random.default_rng(seed)
    if isinstance(views, OrderViews):
        return np.array([rng.permutation(views._items)[: views._length] for _ in range(count)])
    rows = rng.integers(0, below, size=(count, len(views.categories)))
    for number in range(1, count, 2):
        kept = rng.random(rows.shape[1]) < 0.9
        rows[number, kept] = rows[number - 1, kept]
    return rows


def partial_codes(codes):
    """The same with more and more places undecided from the end."""
    codes = codes.copy()
    for number, row in enumerate(codes):
        row[len(row) - number % (len(row) + 1) :] = -1
    return codes


def features_of_orders(codes, items):
    """What an order has decided, minus the mean of complete orders as far as these have decided the same."""
    rows, length = [], codes.shape[1]
    upper = np.triu_indices(items, 1)
    means = (
        1.0 / items,
        0.0,
        (1.0 - np.eye(items + 1)) / items,
        np.full(upper[0].size, 2.0 / max(items - 1, 1)),
    )
    for code in codes:
        placed = code[code >= 0].tolist()
        complete = len(placed) == length
        position, sign = np.zeros((length, items)), np.zeros((items, items))
        follows, beside = np.zeros((items + 1, items + 1)), np.zeros((items, items))
        for place, item in enumerate(placed):
            position[place, item] = 1.0
            later = [other for other in range(items) if other not in placed[: place + 1]]
            sign[item, later], sign[later, item] = 1.0, -1.0
        steps = [*pairwise([items, *placed])] + ([(placed[-1], items)] if complete else [])
        edges = [*pairwise(placed)] + ([(placed[-1], placed[0])] if complete and length > 1 else [])
        for one, other in steps:
            follows[one, other] += 1.0
        for one, other in edges:
            beside[one, other] += 1.0
            beside[other, one] += 1.0
        shares = len(placed) / length, 0.0, len(steps) / (length + 1), len(edges) / max(length, 2)
        found = position, sign[upper], follows, beside[upper]
        rows.append(
            [(each - share * mean).ravel() for each, share, mean in zip(found, shares, means, strict=True)]
        )
    return [np.array(view) for view in zip(*rows, strict=True)]


def features_of(views, codes):
    """What states have decided, centred: one array per view."""
    if isinstance(views, OrderViews):
        return features_of_orders(codes, views._items)
    eyes, pairs = [], []
    for column, count in zip(codes.T, views.categories, strict=True):
        eyes.append(np.where(column[:, None] >= 0, np.eye(count)[column], 0.0))
    for one, other in pairwise(eyes):
        pairs.append(np.einsum("si,sj->sij", one, other).reshape(len(codes), -1))
    # Only what is decided is centred.
    centred = [
        [each - each.sum(axis=1, keepdims=True) / each.shape[1] for each in parts] for parts in (eyes, pairs)
    ]
    found = [np.concatenate(parts, axis=1) for parts in centred]
    names = [name for name in views.names if not name.startswith("number")]
    if len(names) > 2:
        found.append(np.sum(centred[1], axis=0))
    return [*found[: len(names)], *numbers_of_places(views, codes)]


def numbers_of_places(views, codes):
    """Features of places that hold the numbers 0, 1, 2, …, whose only scale is the rank."""
    if not views.numbers.names:
        return []
    counts = views.categories[views.numbers.places]
    tables = [scale_features(np.arange(float(count)))[0] for count in counts]
    columns = codes.T[views.numbers.places]
    return [np.concatenate([table[column] for table, column in zip(tables, columns, strict=True)], axis=1)]


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", COUNTED)
def test_counts_give_the_inner_products_of_features(name, partial):
    views, below = COUNTED[name]
    codes, others = some_codes(views, below, 70), some_codes(views, below, 9, seed=1)
    if partial:
        codes, others = partial_codes(codes), partial_codes(others)
    relevance = np.random.default_rng(2).random(codes.shape[1])
    ours, theirs = features_of(views, codes), features_of(views, others)
    if isinstance(views, PlaceViews):
        by_column = np.sqrt(relevance).repeat(views.categories)
        ours[0], theirs[0] = ours[0] * by_column, theirs[0] * by_column
        assert views.values(codes) * by_column == pytest.approx(ours[0])
    grams, norms = grams_of(views, codes, others, relevance), views.norms(views.described(codes), relevance)
    for view, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert grams[view] == pytest.approx(one @ other.T, abs=1e-10)
        assert norms[:, view] == pytest.approx((one * one).sum(axis=1), abs=1e-10)


def bound(name, seed=0):
    """A covariance with random hyperparameters, and random leaves as codes and as states."""
    problem = {
        "binary": Vector([2] * 8),
        "letters": Vector([4] * 6),
        "mixed": Vector([3, 2, 5, 2]),
        "order": Route(7),
        "selection": ds.problems.Orders(range(7), sum, length=4),
        "many places": Vector([2] * 70),
    }[name]
    covariance = Views().bind(problem)
    rng = np.random.default_rng(seed)
    medians = np.log([parameter.median for parameter in covariance.hyperparameters])
    covariance = covariance.with_values(np.exp(medians + 0.5 * rng.normal(size=len(medians))).tolist())
    leaves = [problem.root() for _ in range(12)]
    for number in range(12):
        while len(actions := problem.actions(leaves[number])) > 0:
            leaves[number] = problem.step(leaves[number], actions[int(rng.integers(len(actions)))])
    return problem, 1.7 * covariance, leaves


NAMES = ["binary", "letters", "mixed", "order", "selection", "many places"]


@pytest.mark.parametrize("name", NAMES)
def test_leaves_are_compared_by_codes_as_by_features(name):
    _, covariance, leaves = bound(name)
    codes = covariance._coding.codes(leaves)
    rows = covariance.from_codes(codes)
    cross, variances = (
        covariance.cross(rows[:5], covariance.prepared(rows[5:])),
        covariance.variances(rows[:5]),
    )
    views = covariance._views
    features = [
        np.sqrt(square) * each
        for square, each in zip(covariance._squares, features_of(views, codes), strict=True)
    ]
    if covariance.relevance is not covariance._alike:
        places = len(views.categories)
        features[0] = features[0] * np.sqrt(covariance.relevance[:places]).repeat(views.categories)
        if views.numbers.names:
            features[-1] = features[-1] * np.sqrt(covariance.relevance[places:]).repeat(3)
    expected = 1.7 * 0.3 + np.zeros((5, 7))
    exponent = np.zeros((5, 7))
    for linear, decay, each in zip(covariance.linear, covariance.decay, features, strict=True):
        expected += linear * each[:5] @ each[5:].T
        exponent -= 0.5 * decay * ((each[:5, None] - each[None, 5:]) ** 2).sum(axis=2)
    expected += covariance.nonlinear * np.exp(exponent)
    assert cross == pytest.approx(expected, abs=1e-8)
    assert variances + covariance.private == pytest.approx(covariance(leaves[:5]).diagonal())


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_finite_differences(name, partial):
    _, covariance, leaves = bound(name)
    states = [*leaves, *(leaf[:2] for leaf in leaves[:4])] if partial else leaves
    states = list(dict.fromkeys(states))
    rows = covariance.represent(states)
    matrix, gradient = covariance.value_and_gradient(rows)
    assert matrix == pytest.approx(covariance(states))
    weights = np.random.default_rng(1).normal(size=matrix.shape)
    weights += weights.T
    values = np.array([parameter.value for parameter in covariance.hyperparameters])
    for number, found in enumerate(gradient(weights)):
        step = np.zeros(len(values))
        step[number] = 1e-5
        up, down = (
            covariance.with_values((values * np.exp(sign * step)).tolist()).value_and_gradient(rows)[0]
            for sign in (1, -1)
        )
        assert found == pytest.approx(float((weights * (up - down)).sum()) / 2e-5, rel=1e-5, abs=1e-7)


# Local search -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", [-30.0, -8.0, -1.001, -0.999, 0.0, 2.0, 9.0])
def test_expected_improvement_is_the_integral(z):
    found = log_expected_improvement(np.array([2.0 * z]), np.array([4.0]), 0.0)[0]
    if z > -9.0:
        integral = quad(lambda u: 2.0 * u * norm.pdf(u - z), 0.0, max(z, 0.0) + 12.0, epsabs=0.0)[0]
        assert found == pytest.approx(np.log(integral), abs=1e-6)
    else:  # φ(z) (1/z² − 3/z⁴) in the tail
        assert found == pytest.approx(np.log(2.0) + norm.logpdf(z) + np.log(z**-2 - 3 * z**-4), abs=1e-3)


@pytest.mark.parametrize(
    ("problem", "covariance"),
    [
        (ds.problems.Subsets(7, (0, 3), sum, allowed=lambda c: sum(c) <= 9), ds.covariances.SetKernel()),
        (ds.problems.Subsets(6, (0, 6), sum), ds.covariances.SetKernel()),
        (ds.problems.Subsets(7, 3, sum, allowed=lambda c: 0 in c), None),
        (ds.problems.Orders(range(4), lambda order: order[0]), ds.covariances.Overlap()),
        (ds.problems.Choices({"x": range(4), "y": range(5)}, lambda chosen: chosen["x"]), None),
    ],
)
def test_leaves_are_found_by_codes_whatever_the_covariance(problem, covariance):
    search = ds.Search.default(problem, covariance=covariance, initial=4, seed=0)
    assert all(isinstance(proposer, Climb) for proposer in search.portfolio.proposers)
    assert isinstance(search.portfolio.local, Nearby)
    search.run(8)
    for proposer in (Climb(), Climb(2), Nearby()):
        proposal = proposer.propose(search._view, np.random.default_rng(0))
        assert search.space.replayed(proposal.actions) == proposal.leaf
        assert not search.index.is_closed(proposal.leaf)
    assert search.run(200).stopped == "exhausted"


# What a result says of the model ----------------------------------------------------------------------


def test_a_result_says_how_well_rewards_were_predicted():
    weights = np.random.default_rng(0).normal(size=10)
    linear = Vector([2] * 10, lambda leaf: float(weights @ leaf))
    result = ds.search(linear, 80, seed=0)
    assert result.r2 > 0.7
    assert result.covariance.startswith("Views(places, 10 places")
    noise = np.random.default_rng(1)
    random = Vector([2] * 10, lambda leaf: float(noise.normal()))
    result = ds.search(random, 80, seed=0)
    assert result.r2 < 0.4


@pytest.mark.parametrize(("budget", "initial"), [(1, 1), (3, 2), (25, 5), (200, 10)])
def test_a_search_begins_with_a_fifth_of_its_budget_but_not_many_random_leaves(budget, initial):
    assert default_initial(budget) == initial


def test_neighbours_anywhere_are_compared_by_value_where_all_places_offer_the_same():
    rng, letters = np.random.default_rng(0), np.array(["a", "b", "c"])
    orders = [rng.permutation(3) for _ in range(5)]
    codes = rng.integers(-1, 3, size=(12, 5))
    listed = PlaceViews(np.full(5, 3), options=[letters.tolist()] * 5)
    shuffled = PlaceViews(np.full(5, 3), options=[letters[order].tolist() for order in orders])
    gone = np.where(
        codes < 0, -1, np.stack([np.argsort(o)[c] for o, c in zip(orders, codes.T, strict=True)], 1)
    )
    for view, name in enumerate(listed.names):
        weights, grams = np.tile(np.eye(3)[view], (2, 1)), []
        for views, rows in ((listed, codes), (shuffled, gone)):
            described = views.described(rows)
            grams.append(views.compared(described, described, np.ones(5), weights))
        np.testing.assert_allclose(*grams, atol=1e-9, err_msg=name)


def test_places_with_options_of_their_own_are_not_compared_with_each_other():
    own = ds.problems.Choices({f"stage {i}": [f"p{i}v{j}" for j in range(4)] for i in range(6)}, len)
    same = ds.problems.Choices({f"stage {i}": [f"v{j}" for j in range(4)] for i in range(6)}, len)
    names = [[h.name for h in Views().bind(problem).hyperparameters] for problem in (own, same)]
    assert ["linear, neighbours anywhere" in each for each in names] == [False, True]
