"""Games of OpenSpiel as problems: what is taken, what a position is, and values that are certain."""

import copy
import pickle

import numpy as np
import pyspiel
import pytest

import dagsearch as ds
from dagsearch.games import OpenSpielGame
from dagsearch.testing import check_problem
from dagsearch.values.proofs import WithProofs


def with_proofs(problem, seed, **settings):
    """The paper's search, of rewards between -1 and 1."""
    backup = WithProofs(ds.backups.MomentMatching(prior=(0.0, 1.0)), *problem.reward_range)
    return ds.Search.paper(problem, noise=1.0, backup=backup, seed=seed, **settings)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("kuhn_poker", "it has chance moves, and players do not see everything"),
        ("backgammon", "it has chance moves"),
        ("matrix_mp", "simultaneously"),
        ("dark_hex", "do not see everything"),
        ("catch", "1 players instead of 2"),
        ("nosuch", "no game 'nosuch'"),
        ("conect_four", "did you mean 'connect_four'"),
        ("hex(board=3)", "Unknown parameter 'board'"),
    ],
)
def test_what_is_no_such_game_is_refused_with_the_reason(game, reason):
    with pytest.raises(ds.ProblemError, match=reason):
        OpenSpielGame(game)


@pytest.mark.parametrize(
    "game", ["tic_tac_toe", "connect_four", "hex(board_size=3)", "nim", "breakthrough(rows=5,columns=4)"]
)
def test_games_are_good_problems(game):
    check_problem(OpenSpielGame(game))


def test_transpositions_are_one_position_and_the_player_to_move_counts():
    game = OpenSpielGame("tic_tac_toe")
    one, other = game.position([0, 4, 8]), game.position([8, 4, 0])
    assert one == other
    assert hash(one) == hash(other)
    assert one != game.position([0, 8, 4])
    states, level = 0, {game.root()}
    while level:
        states += len(level)
        level = {game.step(state, action) for state in level for action in game.actions(state)}
    assert states == 5_478


def test_items_are_the_marks_of_the_observation():
    game = OpenSpielGame("tic_tac_toe")
    for moves in ([], [4], [4, 0, 8]):
        position = game.position(moves)
        assert len(game.items(position)) == 9  # a cross, a nought or nothing on every cell
        assert np.flatnonzero(position.state.observation_tensor(0)).tolist() == game.items(position)


@pytest.mark.parametrize("name", ["y(board_size=5)", "havannah(board_size=3)"])
def test_a_mark_on_the_last_move_does_not_keep_positions_apart(name):
    game = OpenSpielGame(name)
    first, second, third = game.root().actions[:3]
    one, other = game.position([first, second, third]), game.position([third, second, first])
    assert str(one) != str(other)
    assert one == other


def test_positions_travel():
    game = OpenSpielGame("hex(board_size=3)").from_state(OpenSpielGame("hex(board_size=3)").position([4, 0]))
    for travelled in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
        assert travelled.root() == game.root()
        assert travelled.root().history == (4, 0)
        assert travelled.actions(travelled.root()) == game.actions(game.root())


def test_repetition_is_no_cycle():
    """Pieces of chess go to and fro; the number of moves tells the positions apart."""
    game = OpenSpielGame("chess")
    position = game.root()
    for move in ("Nf3", "Nf6", "Ng1", "Ng8"):
        position = game.step(position, position.state.string_to_action(move))
    assert str(position).split()[0] == str(game.root()).split()[0]
    assert position != game.root()


def test_moves_that_are_not_possible_are_named():
    with pytest.raises(ds.ProblemError, match=r"move 2 of \[4, 4\], 4, is not possible"):
        OpenSpielGame("tic_tac_toe").position([4, 4])


# Proofs ----------------------------------------------------------------------------------------------


def solved(problem, most):
    search = with_proofs(problem, seed=0)
    assert search.run(most).stopped == "exhausted"
    return search


@pytest.mark.parametrize(("game", "most"), [("tic_tac_toe", 5000), ("hex(board_size=3)", 500)])
def test_proven_values_are_the_solvers(game, most, minimax):
    """Every proof on the way, not only the root's, is what brute force says."""
    problem = OpenSpielGame(game)
    graph = solved(problem, most).explored.graph
    value = minimax(problem)
    proven = np.flatnonzero((graph.lower == graph.upper) & (graph.level >= 0))
    assert proven.size > 20
    assert graph.lower[0] == graph.upper[0] == value(problem.root())
    for node in proven:
        assert graph.lower[node] == value(graph.states[node])
        assert (graph.v_mean[node], graph.v_var[node]) == (graph.lower[node], 0.0)


def test_bounds_that_are_not_proofs_hold_the_value(minimax):
    problem = OpenSpielGame("tic_tac_toe")
    value = minimax(problem)
    search = with_proofs(problem, seed=1, expansion=ds.expansions.OneChild())
    search.run(200)
    graph = search.explored.graph
    inner = graph.branching[: len(graph)] > 0
    assert np.any(graph.lower[: len(graph)][inner] > -1.0)
    for node, state in enumerate(graph.states):
        assert graph.lower[node] <= value(state) <= graph.upper[node]


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (1.0, -1.0)])
def test_bad_ranges_are_refused(bounds):
    with pytest.raises(ValueError, match="lowest must be less"):
        WithProofs(ds.backups.MomentMatching(), *bounds)


def test_a_state_of_openspiel_can_be_the_root():
    state = pyspiel.load_game("connect_four").new_initial_state()
    state.apply_action(3)
    assert OpenSpielGame("connect_four").from_state(state).root().history == (3,)
