import numpy as np
import pytest

import dagsearch as ds
from dagsearch.baselines import TreeState
from dagsearch.problems import DigitsPixels, Subsets, Synthetic, TicTacToe
from dagsearch.space import Space
from dagsearch.testing import check_problem
from support.small import CoinFlips, all_states, leaves_of


def tree_size(problem):
    """Nodes of the tree: one per path."""
    counts = {problem.root(): 1}
    total = 0
    while counts:
        total += sum(counts.values())
        following: dict[object, int] = {}
        for state, paths in counts.items():
            for action in problem.actions(state):
                child = problem.step(state, action)
                following[child] = following.get(child, 0) + paths
        counts = following
    return total


@pytest.mark.parametrize(
    ("symmetric", "states", "leaves", "tree"), [(True, 765, 138, 58_524), (False, 5_478, 958, 549_946)]
)
def test_tic_tac_toe_has_the_known_size(symmetric, states, leaves, tree):
    game = TicTacToe(symmetric)
    found = all_states(game)
    assert len(found) == states
    assert sum(1 for state in found if not game.actions(state)) == leaves
    assert tree_size(game) == tree


def test_tic_tac_toe_is_a_draw(minimax):
    for game in (TicTacToe(), TicTacToe(symmetric=False)):
        assert minimax(game)(game.root()) == 0.0


def test_tic_tac_toe_rules():
    game = TicTacToe(symmetric=False)
    assert game.player("X........") == ds.MIN
    assert game.step("X........", 4) == "X...O...."
    assert game.actions("XXXOO....") == ()
    assert (game.reward("XXXOO...."), game.reward("XX.OOOX..")) == (1.0, -1.0)
    assert game.reward("XOXXOOOXX") == 0.0
    assert game.items("X...O....") == [(0, "X"), (4, "O")]


def test_synthetic_has_the_known_size_and_optimum():
    problem = Synthetic(seed=7)
    states, leaves = all_states(problem), leaves_of(problem)
    assert (len(states), len(leaves)) == (4_944, 3_003)
    assert max(leaves, key=problem.reward) == problem.best_state
    assert max(map(problem.reward, leaves)) == problem.best_reward


def test_synthetic_rewards_have_the_declared_covariance():
    leaves = [frozenset(leaf) for leaf in [(0, 1, 2), (0, 1, 3), (3, 4, 5), (0, 4, 5)]]
    draws = [Synthetic(n=6, m=3, seed=seed) for seed in range(4_000)]
    rewards = np.array([[problem.reward(leaf) for leaf in leaves] for problem in draws])
    assert np.allclose(np.cov(rewards.T), draws[0].covariance(leaves), atol=0.07)
    assert draws[0].covariance(leaves)[0, 1] == pytest.approx((2 + 1) / 4)


def test_digits_pixels():
    problem = DigitsPixels()
    assert problem.reward(frozenset(range(20, 30))) == problem.accuracy(range(20, 30))
    assert problem.accuracy(range(64)) == pytest.approx(0.9466, abs=1e-3)
    assert problem.accuracy(range(1)) == pytest.approx(0.1, abs=0.01)  # a corner that is always black
    with pytest.raises(ValueError, match="k must be"):
        DigitsPixels(k=65)


def test_as_tree_keeps_paths_apart_and_everything_else():
    problem = Synthetic(n=5, m=2, seed=0)
    tree = ds.as_tree(problem)
    one = tree.step(tree.step(tree.root(), 1), 2)
    other = tree.step(tree.step(tree.root(), 2), 1)
    assert one == TreeState((1, 2), frozenset({1, 2}))
    assert one != other
    assert tree.reward(one) == tree.reward(other) == problem.reward(frozenset({1, 2}))
    assert (tree.depth, tree.best_reward) == (2, problem.best_reward)
    assert not hasattr(tree, "player")
    assert not hasattr(tree, "covariance")
    assert ds.as_tree(TicTacToe()).player(TreeState((4,), "....X....")) == ds.MIN


# check_problem ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "problem",
    [
        Subsets(9, 3, reward=sum),
        Synthetic(seed=0),
        TicTacToe(),
        TicTacToe(symmetric=False),
        ds.as_tree(TicTacToe()),
        DigitsPixels(),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_our_own_problems_pass(problem):
    check_problem(problem)


def broken(**members):
    return type("Broken", (CoinFlips,), members)()


class Identity:
    def __init__(self, flips):
        self.flips = flips


_CALLS = iter(range(10**9))


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        (object(), "no method root, no method actions"),
        (broken(root=lambda self: []), r"the state \[\] is not hashable"),
        (broken(key=lambda self, state: list(state)), "the key of state .* is not hashable"),
        (
            broken(
                root=lambda self: Identity(()),
                actions=lambda self, state: [0, 1] if len(state.flips) < 3 else [],
                step=lambda self, state, action: Identity((*state.flips, action)),
                reward=lambda self, leaf: 0.0,
            ),
            "compares by identity",
        ),
        (broken(step=lambda self, state, action: () if len(state) == 2 else (*state, action)), "cycle"),
        (broken(actions=lambda self, state: [0, 1]), "no leaf within 1000 decisions"),
        (broken(reward=lambda self, leaf: None), "the reward of .* is None, which is not a number"),
        (broken(reward=lambda self, leaf: float("nan")), "the reward of .* is nan"),
        (
            broken(reward=lambda self, leaf: 1 / 0),
            "division by zero",
        ),
        (broken(player=lambda self, state: "white"), "player.* returned 'white'"),
        (
            broken(player=lambda self, state: ds.MAX if next(_CALLS) % 3 else ds.MIN),
            "inconsistent actions or player: .* first",
        ),
        (broken(actions=lambda self, state: iter([0, 1])), "must be a list, tuple or range"),
        (
            broken(
                items=lambda self, state: list(enumerate(state)),
                added_items=lambda self, state, actions: [[(len(state) + 1, action)] for action in actions],
            ),
            "added_items.*promises",
        ),
        (
            broken(
                actions=lambda self, state: [0, 1] if len(state) < 3 and state[-1:] != (1,) else [],
                items=lambda self, state: list(enumerate(state)),
                added_items=lambda self, state, actions: [[(len(state), action)] for action in actions],
            ),
            r"some leaves: the child \(.*1,\) of .* is a leaf, its sibling .* leave added_items out",
        ),
        (broken(random_leaf=lambda self, state, rng: ((0, 0, 0), [0, 0, 0, 0])), "random_leaf takes"),
        (broken(random_leaf=lambda self, state, rng: (state, [])), "random_leaf gives"),
        (
            broken(random_leaf=lambda self, state, rng: ((0, 0, 9), [0, 0, 9])),
            "random_leaf takes the action 9",
        ),
    ],
)
def test_mistakes_are_in_plain_words(problem, found):
    with pytest.raises((ds.ProblemError, ds.RewardError, ZeroDivisionError), match=found):
        check_problem(problem)


def test_a_step_in_place_is_reported():
    from dataclasses import dataclass, field

    @dataclass(eq=False)
    class Game:
        moves: list[int] = field(default_factory=list)

    def step(self, state, action):
        state.moves.append(action)
        return state

    problem = broken(
        root=lambda self: Game(),
        key=lambda self, state: tuple(state.moves),
        actions=lambda self, state: [0, 1] if len(state.moves) < 3 else [],
        step=step,
        reward=lambda self, leaf: 0.0,
    )
    with pytest.raises(ds.ProblemError, match="step changed the state"):
        check_problem(problem)


def test_rewards_are_asked_for_only_as_often_as_allowed():
    asked = []
    check_problem(broken(reward=lambda self, leaf: asked.append(leaf) or 1.0), rewards=3)
    assert len(asked) == 3
    check_problem(broken(reward=lambda self, leaf: 1 / 0), rewards=0)


def test_random_leaves_of_a_tree_are_those_of_its_problem():
    game = TicTacToe(symmetric=False)
    tree = ds.as_tree(game)
    leaf, actions = Space(tree).walk(tree.root(), np.random.default_rng(7))
    inner, same = Space(game).walk(game.root(), np.random.default_rng(7))
    assert (leaf.state, leaf.path, actions) == (inner, tuple(same), same)


class NoNeighbours(Subsets):
    """Its actions are not those that the shortcuts of its base class speak of."""

    def actions(self, state):
        return [a for a in super().actions(state) if a - 1 not in state and a + 1 not in state]


class Later(Subsets):
    """The same at the root only."""

    def actions(self, state):
        left = super().actions(state)
        return [a for a in left if a - 1 not in state and a + 1 not in state] if state else left


def test_compiled_descents_are_not_fooled_by_the_actions_at_the_root():
    def found(kind):
        problem = kind(60, 4, reward=lambda chosen: -float(sum(chosen)))
        search = ds.Search.paper(problem, seed=0)
        search.run(80)
        return [evaluation.leaf for evaluation in search.history]

    assert found(Later) == found(NoNeighbours)


def test_a_shortcut_of_a_base_class_does_not_speak_for_other_actions():
    class Even(CoinFlips):
        def random_leaf(self, state, rng):
            return (1, 1, 1), [1] * (3 - len(state))

    class Changed(Even):
        def actions(self, state):
            return [0] if len(state) < 3 else []

    class Both(Changed):
        def random_leaf(self, state, rng):
            return (0, 0, 0), [0] * (3 - len(state))

    rng = np.random.default_rng(0)
    assert [Space(kind()).walk((), rng)[0] for kind in (Even, Changed, Both)] == [
        (1, 1, 1),
        (0, 0, 0),
        (0, 0, 0),
    ]
