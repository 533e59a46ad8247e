import numpy as np
import pytest

import dagsearch as ds
from dagsearch import MAX, MIN, Increments
from dagsearch.covariances import Overlap, Pairwise
from dagsearch.values.gaussians import max_of_many


def sampled_tree_value(branching, step, players, draws, rng):
    """Best play from the root of random trees minus the root's score: Δ by simulation."""
    if not branching:
        return np.zeros(draws)
    children = [
        rng.normal(scale=step**0.5, size=draws)
        + sampled_tree_value(branching[1:], step, players[1:], draws, rng)
        for _ in range(branching[0])
    ]
    return np.max(children, axis=0) if players[0] == MAX else np.min(children, axis=0)


@pytest.mark.parametrize("players", [(MAX, MAX, MAX), (MAX, MIN, MAX), (MIN, MAX, MIN)])
def test_increments_match_simulated_trees(players):
    branching, step = (3, 4, 2), 0.7
    increments = Increments(branching, step, players)
    rng = np.random.default_rng(0)
    for level in range(3):
        simulated = sampled_tree_value(branching[level:], step, players[level:], 200_000, rng)
        delta = increments.at(level)
        # For two children one level above the leaves, only sampling errs; further up, moment matching does.
        slack = 0.01 if level == 2 else 0.15
        assert delta.mean == pytest.approx(simulated.mean(), abs=0.3 * slack)
        assert delta.variance == pytest.approx(simulated.var(), rel=slack)


def test_nothing_is_left_to_decide_at_a_leaf():
    increments = Increments([3, 2], 1.0)
    assert increments.depth == 2
    assert increments.at(2) == (0.0, 0.0)
    assert increments.at(7) == (0.0, 0.0)


@pytest.mark.parametrize("prior", [None, (0.3, 2.0)])
def test_remaining_children_match_max_of_many(prior):
    increments = Increments([5, 4], 0.8, prior=prior)
    below = increments.at(1)
    for children in (1, 2, 5, 9):  # 9: wider than was declared
        copies = np.full(children, below.mean), np.full(children, below.variance + 0.8)
        true = max_of_many(*copies, prior)
        increments.widen(children)
        found = increments.mean_table[0, children], increments.var_table[0, children]
        assert found == pytest.approx(true, rel=1e-9)
    assert (increments.mean_table[0, 5], increments.var_table[0, 5]) == increments.at(0)


def test_min_mirrors_max_with_a_mirrored_prior():
    up = Increments([4, 3], 1.0, [MAX, MAX], prior=(0.5, 2.0))
    down = Increments([4, 3], 1.0, [MIN, MIN], prior=(-0.5, 2.0))
    assert list(down.mean) == [-mean for mean in up.mean]
    assert list(down.variance) == list(up.variance)


def test_of_a_problem_that_declares_its_shape():
    problem = ds.problems.Synthetic(seed=0)
    increments = Increments.of(problem, problem.covariance)
    assert increments.branching == (15, 14, 13, 12, 11)
    # The step must be the model's own, 1/(m + 1), whatever the private offsets are.
    assert increments.step_variance == pytest.approx(np.full(5, 1 / 6))
    offset = 1 / 6 * Overlap.of(problem, private=1.0)
    assert Increments.of(problem, offset).step_variance == pytest.approx(1 / 6)


def test_of_a_problem_that_declares_nothing():
    class Countdown:  # MAX and MIN take 1 or 2 in turn
        def root(self):
            return 5, MAX

        def actions(self, state):
            return [take for take in (1, 2) if take <= state[0]]

        def step(self, state, action):
            return state[0] - action, -state[1]

        def player(self, state):
            return state[1]

        def reward(self, leaf):
            return float(leaf[1])

    covariance = Pairwise(lambda x, y: float(min(6 - x[0], 6 - y[0])))
    increments = Increments.of(Countdown(), covariance)
    assert increments.depth == 5
    assert increments.players == (MAX, MIN, MAX, MIN, MAX)
    assert increments.branching[:2] == (2, 2)
    assert increments.branching[4] == 1
    assert np.all((increments.step_variance >= 1.0) & (increments.step_variance <= 2.0))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([0, 2], 1.0), "branching"),
        (([2], -1.0), "step_variance"),
        (([2], float("nan")), "step_variance"),
        (([2], 1.0, [0]), "players"),
        (([2, 2], 1.0, [MAX]), "players"),
        (([2], 1.0, None, (0.0, -1.0)), "prior"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        Increments(*arguments)


def test_the_printed_step_is_the_same_at_every_level():
    printed = ds.Search.paper(ds.problems.TicTacToe(), preset="tictactoe", step_variance=0.5)
    measured = ds.Search.paper(ds.problems.TicTacToe(), preset="tictactoe")
    assert printed.explored.increments.step_variance.tolist() == [0.5] * 9
    steps = measured.explored.increments.step_variance
    assert steps[0] == pytest.approx(0.5)  # nothing is turned before the first move
    assert np.all(steps[1:7] > 0.5)
