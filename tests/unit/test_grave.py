"""GRAVE and RAVE: their statistics counted by hand."""

import math
from collections import defaultdict

import numpy as np
import pytest

import dagsearch as ds
from dagsearch import baselines
from dagsearch.games import OpenSpielGame


def searched(name="tic_tac_toe", budget=60, **settings):
    problem = OpenSpielGame(name)
    search = baselines.grave(problem, seed=0, **settings)
    for _ in range(budget):
        proposal = search.ask()
        search.tell(proposal, problem.reward(proposal.leaf))
        search.paths = [*getattr(search, "paths", []), proposal.path]
    search.values.current()
    return search


def statistics(search):
    return search.portfolio.descent.policy._averages


def counted(search, node):
    """Number and sum of rewards by move of all games whose descent came through a node."""
    graph, problem = search.explored.graph, search.problem
    found, before = defaultdict(lambda: [0, 0.0]), len(problem.moves(graph.states[node]))
    for evaluation, path in zip(search.history, search.paths, strict=True):
        if node in path:
            for move in set(problem.moves(problem.position(evaluation.actions))[before:]):
                found[move][0] += 1
                found[move][1] += evaluation.reward
    return found


def test_moves_are_counted_by_every_game_that_contains_them():
    search = searched()
    averages, graph = statistics(search), search.explored.graph
    deep = int(np.argmax(np.where(graph.level[: len(graph)] == 1, graph.visits[: len(graph)], 0)))
    for node in (search.explored.root, deep):
        expected = counted(search, node)
        assert len(expected) > 8
        for move, (count, total) in expected.items():
            assert averages.later[:, node, move] == pytest.approx([count, total])


@pytest.mark.parametrize("ref", [0.0, 5.0, 25.0])
def test_the_rule_is_the_publications(ref):
    search = searched("connect_four", 80, ref=ref)
    explored, descent = search.explored, search.portfolio.descent
    averages, policy = statistics(search), descent.policy
    options = descent.expansion.options(explored, explored.root)
    for option, rating in enumerate(policy.rate(options)):
        move = averages.numbers(explored, explored.root)[options.actions[option]]
        p, w = averages.own[:, explored.root, move]
        pa, wa = averages.later[:, explored.root, move]
        beta = pa / (pa + p + 1e-5 * pa * p)
        assert rating == pytest.approx((1 - beta) * (w / p if p else 0.0) + beta * wa / pa)


def test_the_reference_is_the_last_node_with_enough_rewards():
    search = searched("connect_four", 80, ref=25.0)
    explored, descent = search.explored, search.portfolio.descent
    policy, count = descent.policy, statistics(search).count
    node = explored.root
    expected = node
    while not explored.graph.terminal[node] and (options := descent.expansion.options(explored, node)):
        policy.rate(options)
        expected = node if node == explored.root or count[node] > 25.0 else expected
        assert policy._reference == expected
        known = options.children[options.children >= 0]
        if known.size == 0:
            break
        node = int(known[np.argmax(explored.graph.visits[known])])
    assert expected != node


def test_solved_games_are_not_searched_on():
    search = baselines.grave(OpenSpielGame("nim(pile_sizes=1;2)"), seed=0)
    assert search.run(500).stopped == "exhausted"
    assert search.explored.graph.lower[0] == search.explored.graph.upper[0]


@pytest.mark.parametrize("look_ahead", [False, True])
def test_moves_that_end_the_game_are_known_before_they_are_tried(look_ahead):
    search = searched("tic_tac_toe", 200, look_ahead=look_ahead)
    graph, problem = search.explored.graph, search.problem
    missing, found = 0, 0
    for node in {node for path in search.paths for node in path}:
        if graph.terminal[node]:
            continue
        state, known = graph.states[node], set(graph.edge_action[graph.edges(node)].tolist())
        for number, action in enumerate(problem.actions(state)):
            if not problem.actions(problem.step(state, action)):
                found += 1
                missing += number not in known
    assert found > 5
    assert missing == 0 if look_ahead else missing > 0


def test_a_win_that_is_seen_ahead_needs_no_random_game():
    game = OpenSpielGame("connect_four")
    search = baselines.grave(game.from_state(game.position([0, 6, 0, 6, 0, 6])), look_ahead=True, seed=1)
    assert search.run(50).stopped == "exhausted"
    assert len(search.history) == 0
    assert search.best_action(search.problem.root()) == 0


def test_bad_constants_and_other_problems_are_named():
    with pytest.raises(ValueError, match="ref must be finite"):
        baselines.grave(OpenSpielGame("tic_tac_toe"), ref=-1.0)
    with pytest.raises(ValueError, match="bias must be finite"):
        baselines.grave(OpenSpielGame("tic_tac_toe"), bias=math.nan)
    with pytest.raises(ds.ProblemError, match="moves"):
        baselines.grave(ds.problems.TicTacToe())
