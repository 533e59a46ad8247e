"""Baselines: rules on hand-made cases, equivalences, and an independent implementation of UCT."""

import math
import os

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import mcts

import dagsearch as ds
from dagsearch import baselines
from dagsearch.baselines import UCB1, Averages, Rave, RaveAverages, Traversed, WithinDistance
from dagsearch.covariances import SharedPath
from dagsearch.learning.rewards import Episode
from dagsearch.problems import TreeState
from dagsearch.scores import KernelScores, TreeScores


def explored_diamond():
    """a over b and c over d over e."""
    search = baselines.ucd(ds.problems.Subsets(4, 3, reward=sum), seed=0)
    explored = search.explored
    states = [frozenset(s) for s in ((), (0,), (1,), (0, 1), (0, 1, 2))]
    nodes = explored.nodes(states)
    for parent, child, action in ((0, 1, 0), (0, 2, 1), (1, 3, 0), (2, 3, 0), (3, 4, 0)):
        explored.link(nodes[parent], [nodes[child]], [action])
    return explored, nodes


@pytest.mark.parametrize(
    ("credit", "credited"),
    [
        (Traversed(), [0, 1, 3]),
        (WithinDistance(0), [0, 1, 3]),
        (WithinDistance(1), [0, 1, 2, 3]),
        (WithinDistance(None), [0, 1, 2, 3]),
    ],
)
def test_whom_a_reward_counts_for(credit, credited):
    explored, nodes = explored_diamond()
    path = [nodes[0], nodes[1], nodes[3]]
    assert credit.nodes(explored.graph, path).tolist() == credited


def test_averages_are_means_and_variances():
    explored, nodes = explored_diamond()
    averages = Averages(Traversed())
    rewards = [1.0, 4.0, 2.0]
    averages.back_up(explored, [Episode((nodes[0], nodes[1]), nodes[4], reward, None) for reward in rewards])
    assert averages.count[nodes[1]] == 3
    assert averages.mean[nodes[1]] == pytest.approx(np.mean(rewards))
    assert averages.variance[nodes[1]] == pytest.approx(np.var(rewards))
    assert explored.graph.v_mean[nodes[0]] == pytest.approx(np.mean(rewards))
    assert averages.count[nodes[2]] == 0


def rated(policy, averages, explored, node):
    averages.back_up(explored, [])
    return policy.rate(ds.expansions.OneChild().options(explored, node))


def test_ucb1_rates_unvisited_first_and_leaves_without_bonus():
    explored, nodes = explored_diamond()
    averages = Averages(Traversed())
    policy = UCB1(averages, c=0.7)
    told = [Episode((nodes[0], nodes[1]), nodes[4], reward, None) for reward in (1.0, 2.0)]
    averages.back_up(explored, [*told, Episode((nodes[0], nodes[2]), nodes[4], 5.0, None)])
    first, second, *rest = rated(policy, averages, explored, nodes[0])
    assert first == pytest.approx(1.5 + 0.7 * math.sqrt(math.log(3) / 2))
    assert second == pytest.approx(5.0 + 0.7 * math.sqrt(math.log(3) / 1))
    assert rest == [math.inf, math.inf]
    averages.back_up(explored, [Episode((nodes[3], nodes[4]), nodes[4], 3.0, None)] * 5)
    assert rated(policy, averages, explored, nodes[3])[0] == pytest.approx(3.0)


def test_rave_is_the_rule_of_the_appendix():
    explored, nodes = explored_diamond()
    problem = explored.problem
    averages = RaveAverages(problem.items)
    c1, c2, c3 = 1e-2, 3.0, 2.0
    policy = Rave(averages, problem.added_items, c1, c2, c3)
    leaves = explored.nodes([frozenset(s) for s in ((0, 1, 2), (0, 1, 3), (1, 2, 3))])
    episodes = [
        Episode((nodes[0], nodes[1]), leaves[0], 0.5, None),
        Episode((nodes[0], nodes[1]), leaves[1], 0.7, None),
        Episode((nodes[0], nodes[2]), leaves[2], 0.2, None),
    ]
    averages.back_up(explored, episodes)

    def expected(mean, var, count, local, seen, overall):
        alpha, beta = c2 / (c2 + count), c3 / (c3 + seen)
        spent = math.log(3) / max(count, 1)
        bonus = math.sqrt(c1 * spent * min(0.25, var + math.sqrt(2 * spent)))
        return (1 - alpha) * mean + alpha * ((1 - beta) * local + beta * overall) + bonus

    # At the root every descent counts, so that local and overall scores coincide.
    in_leaves = {0: [0.5, 0.7], 1: [0.5, 0.7, 0.2], 2: [0.5, 0.2], 3: [0.7, 0.2]}
    own = {0: [0.5, 0.7], 1: [0.2], 2: [], 3: []}
    true = [
        expected(
            np.mean(own[p]) if own[p] else 0.0,
            np.var(own[p]) if own[p] else 0.0,
            len(own[p]),
            np.mean(in_leaves[p]),
            len(in_leaves[p]),
            np.mean(in_leaves[p]),
        )
        for p in range(4)
    ]
    assert rated(policy, averages, explored, nodes[0]) == pytest.approx(true)
    # Below {0} only the first two descents are local.
    alpha_free = rated(policy, averages, explored, nodes[1])
    spent = math.log(2)
    for option, item in enumerate((1, 2, 3)):
        local = {1: [0.5, 0.7], 2: [0.5], 3: [0.7]}[item]
        beta = c3 / (c3 + len(local))
        value = (1 - beta) * np.mean(local) + beta * np.mean(in_leaves[item])
        bonus = math.sqrt(c1 * spent * min(0.25, math.sqrt(2 * spent)))
        assert alpha_free[option] == pytest.approx(value + bonus)


def test_uct_rave_needs_items():
    with pytest.raises(ds.ProblemError, match="UCT-RAVE needs a problem"):
        baselines.uct_rave(ds.problems.TicTacToe())


def test_on_a_tree_ucd_is_uct():
    class Path:
        def root(self):
            return ()

        def actions(self, state):
            return range(3) if len(state) < 4 else []

        def step(self, state, action):
            return (*state, action)

        def reward(self, leaf):
            return float(np.sin(np.dot(leaf, (1, 3, 9, 27))))

    uct, ucd = baselines.uct(Path(), c=0.5, seed=0), baselines.ucd(Path(), c=0.5, seed=0)
    everyone = baselines.ucd(Path(), c=0.5, credit=WithinDistance(None), seed=0)
    rewards = [[e.reward for e in search.steps(60)] for search in (uct, ucd, everyone)]
    assert rewards[0] == rewards[1] == rewards[2]


def test_tree_scores_are_kernel_scores_with_the_path_covariance():
    rng = np.random.default_rng(0)
    paths = dict.fromkeys(tuple(rng.integers(3, size=rng.integers(0, 9)).tolist()) for _ in range(600))
    states = [TreeState(path, None) for path in paths]
    covariance = SharedPath(step=0.5, root=0.3)
    tree, kernel = TreeScores(covariance, 0.1, mean=0.4), KernelScores(covariance, 0.1, mean=0.4)
    for model in (tree, kernel):
        draws = np.random.default_rng(1)
        model.track(states[:100])
        for i in range(150):
            model.condition(int(draws.integers(100)), float(draws.normal()), None if i % 2 else 0.3)
        model.track(states[100:200])
    assert np.abs(tree.mean - kernel.mean).max() < 1e-10
    assert np.abs(tree.variance - kernel.variance).max() < 1e-10
    for one, other in zip(tree.predict(states[200:]), kernel.predict(states[200:]), strict=True):
        assert np.abs(one - other).max() < 1e-10


@pytest.mark.parametrize("expansion", [ds.expansions.AllChildren(), ds.expansions.OneChild()])
def test_probabilistic_tree_search_is_the_dag_search_with_the_path_covariance(expansion):
    class Rounded(ds.policies.UpperConfidence):
        """Siblings without rewards are exact ties on a tree; rounding must not break them."""

        def rate(self, options):
            return super().rate(options).round(9)

    problem = ds.problems.Synthetic(n=6, m=3, seed=0)
    tree = baselines.probabilistic_tree(problem, c=0.25, noise=0.01, seed=0, expansion=expansion)
    tree.engine.policy = Rounded(1.0)
    dag = ds.Search(
        ds.as_tree(problem),
        scores=KernelScores(SharedPath(step=0.25, root=0.25), 0.01),
        policy=Rounded(1.0),
        rollout=ds.rollouts.Uniform(),
        backup=tree.backup,
        expansion=expansion,
        seed=0,
    )
    leaves = [[e.leaf for e in search.steps(40)] for search in (tree, dag)]
    assert leaves[0] == leaves[1]
    assert tree.belief(tree.problem.root()).v == pytest.approx(dag.belief(dag.problem.root()).v, abs=1e-8)


def test_random_search_and_greedy_are_floors():
    problem = ds.problems.Synthetic(seed=0)
    random = baselines.random_search(problem, seed=0)
    random.run(50)
    assert len(random.explored.graph.children(random.explored.root)) == 0
    rewards = [e.reward for e in baselines.greedy(problem, seed=0).steps(150)]
    assert np.mean(rewards[100:]) > np.mean(rewards[:50])


@pytest.mark.parametrize("make", [baselines.ucd, baselines.uct, baselines.uct_rave, baselines.greedy])
def test_many_leaves_can_be_asked_for_before_any_is_told(make):
    search = make(ds.problems.Subsets(200, 5, reward=len), seed=0)
    proposals = [search.ask() for _ in range(150)]
    for proposal in reversed(proposals):
        search.tell(proposal, 1.0)
    assert len(search.history) == 150


def test_rave_counts_a_leaf_once():
    explored, nodes = explored_diamond()
    averages = RaveAverages(explored.problem.items)
    path = (nodes[0],)
    averages.back_up(explored, [Episode(path, nodes[4], reward, None) for reward in (1.0, 1.0, 1.0)])
    assert averages.overall.counts_and_sums([0, 3])[0].tolist() == [1.0, 0.0]
    assert averages.count[nodes[0]] == 3.0


def test_rave_needs_one_item_per_action():
    search = baselines.uct_rave(ds.problems.Subsets(6, 2, reward=len, groups=[(0, 1)]), seed=0)
    with pytest.raises(ds.ProblemError, match="exactly one item"):
        search.run(5)


def test_a_tree_is_told_tree_states():
    search = baselines.uct(ds.problems.Subsets(6, 2, reward=len), seed=0)
    with pytest.raises(ds.ProblemError, match="carry their path"):
        search.tell(frozenset({0, 1}), 1.0)
    search.tell(TreeState((0, 1), frozenset({0, 1})), 1.0)


@pytest.mark.parametrize("distance", [-1, 1.5, math.nan, "far"])
def test_a_distance_is_a_whole_number(distance):
    with pytest.raises(ValueError, match="distance must be None or a whole number"):
        WithinDistance(distance)


def test_ratings_that_are_no_numbers_are_told_plainly():
    class Broken(UCB1):
        def rate(self, options):
            return np.full(options.children.size, math.nan)

    search = baselines.ucd(ds.problems.Subsets(6, 2, reward=len), seed=0)
    search.engine.policy = Broken(search.backup, 1.0)
    with pytest.raises(ds.DagSearchError, match="as not a number"):
        search.ask()


@pytest.mark.parametrize("c", [-1.0, math.nan, "x", None])
def test_bad_constants_are_named(c):
    with pytest.raises(ValueError, match="c must be finite"):
        baselines.uct(ds.problems.TicTacToe(), c=c)
    with pytest.raises(ValueError, match="c2 must be finite"):
        baselines.uct_rave(ds.problems.Synthetic(seed=0), c2=c)


# Against OpenSpiel ------------------------------------------------------------------------------


class From(ds.problems.TicTacToe):
    """Tic-Tac-Toe from a position."""

    def __init__(self, board):
        super().__init__(symmetric=False)
        self._board = board

    def root(self):
        return self._board


def positions_that_matter(value):
    game = ds.problems.TicTacToe(symmetric=False)
    states, level = set(), {game.root()}
    while level:
        states |= level
        level = {game.step(state, action) for state in level for action in game.actions(state)}
    return sorted(
        state
        for state in states
        if len({value(game.step(state, action)) for action in game.actions(state)}) > 1
    )


def our_move(board, simulations, seed):
    """A leaf that wins, else the most visited, as OpenSpiel decides."""
    search = baselines.uct(From(board), c=2.0**0.5, seed=seed)
    search.run(simulations)
    graph = search.explored.graph

    def key(child):
        mean = graph.sign[0] * graph.v_mean[child]
        return (mean if graph.terminal[child] else 0.0, graph.visits[child], mean)

    return graph.states[max(graph.children(0), key=key)].path[-1]


def their_move(board, simulations, seed):
    game = pyspiel.load_game("tic_tac_toe")
    state = game.new_initial_state()
    crosses, noughts = ([i for i in range(9) if board[i] == sign] for sign in "XO")
    for turn in range(len(crosses) + len(noughts)):
        state.apply_action((crosses if turn % 2 == 0 else noughts)[turn // 2])
    rng = np.random.RandomState(seed)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    bot = mcts.MCTSBot(game, 2.0**0.5, simulations, evaluator, solve=False, random_state=rng)
    return bot.step(state)


# All positions take some minutes at 200 simulations; with this variable set, they are all looked at.
EVERY = 1 if os.environ.get("DAGSEARCH_EVERY_POSITION") else 4


@pytest.mark.parametrize(("simulations", "theirs_overall", "every"), [(50, 0.945, 1), (200, 0.985, EVERY)])
def test_uct_plays_as_well_as_openspiels(simulations, theirs_overall, every, minimax):
    game = ds.problems.TicTacToe(symmetric=False)
    value = minimax(game)
    positions = positions_that_matter(value)
    assert len(positions) == 3_191
    sample = positions[::every]
    share = {}
    for name, move in (("ours", our_move), ("theirs", their_move)):
        optimal = [
            value(game.step(board, move(board, simulations, seed))) == value(board)
            for seed, board in enumerate(sample)
        ]
        share[name] = float(np.mean(optimal))
    print(f"{simulations} simulations, {len(sample)} positions: {share}")
    noise = math.sqrt(theirs_overall * (1 - theirs_overall) / len(sample))
    assert abs(share["ours"] - share["theirs"]) < 3 * math.sqrt(2) * noise
    assert abs(share["ours"] - theirs_overall) < 3 * noise
