"""Own classes: what was decided on the paths to their states, as places."""

from dataclasses import dataclass

import numpy as np

import dagsearch as ds
from dagsearch.covariances import Views
from dagsearch.methods import natural_covariance
from dagsearch.space import Space

LAYERS, WIDTHS, RATES = ("conv", "dense", "stop"), (8, 16, 32, 64), (0.1, 0.01, 0.001)


@dataclass(frozen=True)
class Net:
    """A state that shows only what matters: not a tuple of decisions."""

    layers: tuple[tuple[str, int], ...] = ()
    waiting: str | None = None
    rate: float | None = None


class Network:
    """One to four layers with widths, then a rate."""

    def root(self):
        return Net()

    def actions(self, state):
        if state.rate is not None:
            return ()
        if state.waiting == "stop" or (len(state.layers) == 4 and state.waiting is None):
            return RATES
        if state.waiting is not None:
            return WIDTHS
        return LAYERS if state.layers else LAYERS[:2]

    def step(self, state, action):
        if action in RATES:
            return Net(state.layers, state.waiting, action)
        if action in WIDTHS:
            return Net((*state.layers, (state.waiting, action)), None)
        return Net(state.layers, action)

    def encode(self, state):
        return [state.layers, state.waiting, state.rate]

    def decode(self, encoded):
        layers, waiting, rate = encoded
        return Net(tuple(map(tuple, layers)), waiting, rate)

    def reward(self, leaf):
        widths = sum(np.log2(width) * (-1) ** place for place, (_, width) in enumerate(leaf.layers))
        return widths + 2.0 * sum(kind == "conv" for kind, _ in leaf.layers) - 10.0 * leaf.rate


def leaf_of(*decisions):
    problem, state = Network(), Network().root()
    for decision in decisions:
        state = problem.step(state, decision)
    return state


def test_a_class_whose_paths_differ_in_length_has_places():
    space = Space(Network())
    coding = space.coding
    assert coding is not None
    # The first type, three more types, four widths, the rate; "absent" where a path may be without it.
    assert sorted(coding.layout.categories.tolist()) == [2, 3, 3, 4, 4, 4, 5, 5, 5]
    assert isinstance(natural_covariance(space), Views)


def test_the_same_options_asked_again_are_another_place():
    space = Space(Network())
    one, other = ("conv", 8, "dense", 16, "stop", 0.1), ("conv", 8, "dense", 64, "stop", 0.1)
    for decisions in (one, other):
        space.coding  # noqa: B018
        space.remember(decisions)
    codes = space.coding.codes([leaf_of(*one), leaf_of(*other)])
    assert (codes[0] != codes[1]).sum() == 1


def test_every_code_is_a_leaf_and_back():
    space = Space(Network())
    rng = np.random.default_rng(0)
    codes = space.coding.codes(space.random_leaves)
    assert (codes >= 0).all()
    for row, leaf in zip(codes, space.random_leaves, strict=True):
        assert space.coding.leaf_of(row) == leaf
        actions = space.coding.path_to(leaf)
        assert space.replayed(actions) == leaf
        for other in space.coding.neighbours(row, 20, rng):
            reached = space.coding.leaf_of(other)
            assert Network().actions(reached) == ()


def test_a_changed_decision_keeps_the_later_ones():
    space = Space(Network())
    decisions = ("conv", 8, "dense", 16, "conv", 32, "stop", 0.01)
    space.coding  # noqa: B018
    space.remember(decisions)
    row = space.coding.codes([leaf_of(*decisions)])[0]
    around = [
        space.coding.leaf_of(one) for one in space.coding.neighbours(row, 1000, np.random.default_rng(0))
    ]
    assert leaf_of("conv", 8, "dense", 64, "conv", 32, "stop", 0.01) in around
    assert leaf_of("dense", 8, "dense", 16, "conv", 32, "stop", 0.01) in around
    assert leaf_of("conv", 8, "stop", 0.01) in around


def test_codes_of_neighbours_are_those_of_the_leaves_they_lead_to():
    coding, rng = Space(Network()).coding, np.random.default_rng(0)
    row = coding.codes([coding.leaf_of(np.zeros(len(coding.layout.categories), dtype=np.int64))])[0]
    for _ in range(4):
        rows = coding.neighbours(row, 50, rng)
        np.testing.assert_array_equal(coding.codes(list(map(coding.leaf_of, rows))), rows)
        assert (rows != row).any(axis=1).all()
        row = rows[rng.integers(len(rows))]


def test_what_is_asked_next_may_depend_on_an_answer_before_the_last():
    class Late:
        def root(self):
            return ""

        def actions(self, state):
            return ("ab", "xy", "pqr" if state[:1] == "a" else "stuv", "")[len(state)]

        def step(self, state, action):
            return state + action

        def reward(self, leaf):
            return 0.0

    coding = Space(Late()).coding
    rows = coding.neighbours(coding.codes(["axp"])[0], 100, np.random.default_rng(0))
    leaves = {coding.leaf_of(row) for row in rows}
    assert {"ayp", "axq", "axr"} < leaves
    assert {leaf[:2] for leaf in leaves - {"ayp", "axq", "axr"}} == {"bx"}
    np.testing.assert_array_equal(coding.codes([coding.leaf_of(row) for row in rows]), rows)


def test_a_search_of_such_a_class_is_resumed(tmp_path):
    whole = ds.Search.default(Network(), seed=3).run(40)
    first = ds.Search.default(Network(), seed=3, storage=tmp_path / "run.db")
    first.run(25)
    first.close()
    resumed = ds.Search.resume(tmp_path / "run.db", Network()).run(15)
    assert [one.leaf for one in resumed.history] == [one.leaf for one in whole.history]


def test_a_leaf_that_is_told_without_a_path_is_learnt():
    search = ds.Search.default(Network(), seed=0)
    search.run(12)
    search.tell(leaf_of("conv", 64, "stop", 0.001), 3.0)
    search.run(3)
    assert len(search.history) == 16


class Basket:
    """Decisions that can be exchanged: the state is what was taken, however."""

    def root(self):
        return ((), 0)

    def actions(self, state):
        return [item for item in range(6) if item not in state[0]] if state[1] < 3 else ()

    def step(self, state, action):
        return tuple(sorted((*state[0], action))), state[1] + 1

    def reward(self, leaf):
        return float(sum(leaf[0]))


def test_where_decisions_can_be_exchanged_paths_are_not_places():
    assert Space(Basket()).coding is None
    assert ds.search(Basket(), 20, seed=0).best_reward == 12.0


def test_what_is_offered_without_end_is_left_to_other_covariances():
    class Wide(Network):
        def actions(self, state):
            return [f"{len(state.layers)} {state.waiting} {i}" for i in range(30)] if not state.rate else ()

        def step(self, state, action):
            layers = (*state.layers, (action, 1))
            return Net(layers, action, 0.1 if len(layers) == 3 else None)

    assert Space(Wide()).coding is None
