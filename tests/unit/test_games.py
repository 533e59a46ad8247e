"""Games of OpenSpiel as problems: what is taken, what a position is, and values that are certain."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pyspiel
import pytest

import dagsearch as ds
from dagsearch.games import covariances as boards
from dagsearch.games.openspiel import Description, exchanged
from dagsearch.games.openspiel import _same_play as same_play
from dagsearch.games.players import game_search
from dagsearch.games.policy import MoveBounds
from dagsearch.problem import Children
from dagsearch.problems import OpenSpielGame
from dagsearch.testing import check_problem
from dagsearch.values.proofs import WithProofs, proven_nodes


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


def test_parameters_come_by_name_or_in_the_text():
    assert str(OpenSpielGame("hex", board_size=3).game) == str(OpenSpielGame("hex(board_size=3)").game)


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


def searchable():
    """Every game of OpenSpiel that can be searched."""
    for kind in pyspiel.registered_games():
        try:
            yield OpenSpielGame(kind.short_name)
        except (ds.ProblemError, pyspiel.SpielError):
            continue


def test_exchanged_moves_merge_where_the_observation_is_the_same():
    """In every game; and positions that merge offer the same moves, and go on in the same way."""
    games, merged = 0, 0
    for game in searchable():
        games += 1
        rng = np.random.default_rng(1)
        for pair in (exchanged(game.game, rng) for _ in range(12)):
            if pair is None:
                continue
            one, other = (game.from_state(state).root() for state in pair)
            alike = one.state.observation_tensor(0) == other.state.observation_tensor(0)
            same = (one.actions, game.player(one)) == (other.actions, game.player(other))
            assert (one == other) == (alike and same), game
            merged += one == other
            assert one != other or same_play(*pair, rng), game
    assert games > 25
    assert merged > 100


@pytest.mark.parametrize("name", ["y(board_size=5)", "havannah(board_size=3)"])
def test_a_mark_on_the_last_move_does_not_keep_positions_apart(name):
    game = OpenSpielGame(name)
    first, second, third = game.root().actions[:3]
    one, other = game.position([first, second, third]), game.position([third, second, first])
    assert str(one) != str(other)
    assert one == other


class Hidden:
    """A game of four moves, 0 or 1, with an observation and a text that may show less than matters."""

    def __init__(self, observes, shows):
        self.observes, self.shows = observes, shows
        self.get_type = lambda: SimpleNamespace(provides_observation_tensor=False)
        self.num_distinct_actions = lambda: 2

    def new_initial_state(self):
        return HiddenState(self, ())


class HiddenState:
    def __init__(self, game, moves):
        self.game, self.moves = game, moves

    def clone(self):
        return HiddenState(self.game, self.moves)

    def legal_actions(self):
        return [] if len(self.moves) == 4 else [0, 1]

    def apply_action(self, action):
        self.moves += (action,)

    def is_terminal(self):
        return len(self.moves) == 4

    def returns(self):
        first = 1.0 if self.moves[:1] == (1,) else -1.0  # who moved first decides
        return [first, -first]

    def current_player(self):
        return -4 if self.is_terminal() else len(self.moves) % 2

    def move_number(self):
        return len(self.moves)

    def history(self):
        return list(self.moves)

    def __str__(self):
        return self.game.shows(self.moves)


@pytest.mark.parametrize(
    ("shows", "kind"), [(lambda moves: str(moves), "text"), (lambda moves: str(sorted(moves)), "moves")]
)
def test_what_does_not_tell_how_play_goes_on_does_not_identify_a_position(shows, kind):
    assert Description(Hidden(None, shows)).kind == kind


@pytest.mark.parametrize(
    ("name", "plane"),
    [
        ("y(board_size=5)", 2),
        ("havannah(board_size=3)", 2),
        ("nine_mens_morris", 2),
        ("breakthrough(rows=5,columns=5)", 2),
        ("clobber(rows=5,columns=5)", 2),
        ("amazons", 0),
        ("othello", 0),
        ("mnk(m=6,n=6,k=4)", 0),
    ],
)
def test_empty_cells_are_no_features(name, plane):
    """Also where the board is not a rectangle, and where it is full at the beginning."""
    game = OpenSpielGame(name)
    shape = game.game.observation_tensor_shape()
    assert game._empty_plane == plane
    empty = np.arange(np.prod(shape)).reshape(shape)[plane].ravel()
    assert np.intersect1d(game._informative, empty).size == 0


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


def test_symmetric_positions_are_one_if_asked(minimax):
    cells = np.arange(9).reshape(3, 3)
    symmetries = [np.rot90(side, turns).ravel() for side in (cells, cells.T) for turns in range(4)]

    def canonical(state):
        board = np.array(list(str(state).replace("\n", "")))
        turned = min(symmetries, key=lambda symmetry: "".join(board[symmetry]))
        return np.argsort(turned)[state.history()].tolist()

    game = OpenSpielGame("tic_tac_toe", canonical=canonical)
    check_problem(game)
    states, level = 0, {game.root()}
    while level:
        states += len(level)
        level = {game.step(state, action) for state in level for action in game.actions(state)}
    assert states == 765
    assert minimax(game)(game.root()) == 0.0
    search = game_search(game, seed=0)
    search.run(50)
    assert len(set(search.explored.graph.children(search.explored.root).tolist())) == 3


def test_wins_sooner_are_worth_more_only_if_asked():
    quick, slow = [0, 3, 1, 4, 2], [0, 3, 1, 4, 8, 6, 2]
    plain, hasty = OpenSpielGame("tic_tac_toe"), OpenSpielGame("tic_tac_toe", sooner=0.5)
    assert plain.reward(plain.position(quick)) == plain.reward(plain.position(slow)) == 1.0
    assert hasty.reward(hasty.position(quick)) == pytest.approx(1 - 0.5 * 5 / 9)
    assert hasty.reward(hasty.position(slow)) == pytest.approx(1 - 0.5 * 7 / 9)


def test_features_are_the_pieces():
    """Empty cells say nothing; in Hex neither do the edges that a stone is connected to."""
    played = {"connect_four": [3, 3, 2], "hex(board_size=4)": [0, 5, 1], "tic_tac_toe": [4, 0, 1]}
    for name, moves in played.items():
        game = OpenSpielGame(name)
        assert game.items(game.root()) == []
        sizes = [len(game.items(game.position(moves[:count]))) for count in range(4)]
        assert sizes == [0, 1, 2, 3]


def test_moves_that_are_not_possible_are_named():
    with pytest.raises(ds.ProblemError, match=r"move 2 of \[4, 4\], 4, is not possible"):
        OpenSpielGame("tic_tac_toe", start=[4, 4])


# Covariances ---------------------------------------------------------------------------------------


def test_moves_add_to_the_features_of_a_position():
    """Children are rated without being made, with the features that they have when they are made."""
    game = OpenSpielGame("hex(board_size=3)")
    covariance = boards.moves(game)
    for made in ([], [4], [4, 0], [4, 0, 8, 1]):
        parent = game.position(made)
        children = Children(game, parent, parent.actions)
        added = covariance.added_features(children)
        whole = covariance.represent([parent, *children.states])
        for i in range(len(parent.actions)):
            entries = slice(added.starts[i], added.starts[i + 1])
            row = whole[0].copy()
            np.add.at(row, added.columns[entries], added.values[entries])
            assert row == pytest.approx(whole[i + 1])


def test_the_same_move_of_the_other_player_counts_opposite():
    game = OpenSpielGame("hex(board_size=3)")
    mine, theirs, other = (game.position(moves) for moves in ([4, 0], [0, 4], [1, 2]))
    matrix = boards.moves(game, total=1.0)([mine, theirs, other])
    move = 0.5 * (matrix[0, 0] - matrix[0, 2])
    assert move > 0.0
    assert matrix[0, 1] - matrix[0, 2] == pytest.approx(-2.0 * move)


def test_pieces_count_where_a_move_may_add_several():
    several = {
        name: OpenSpielGame(name).moves_add_several for name in ("hex", "connect_four", "breakthrough")
    }
    assert several == {"hex": False, "connect_four": False, "breakthrough": False}
    for name in ("dots_and_boxes", "othello"):
        game = OpenSpielGame(name)
        assert game.moves_add_several
        assert not isinstance(boards.suitable(game), boards.Moves)
    assert isinstance(boards.suitable(OpenSpielGame("hex")), boards.Moves)


def test_the_compiled_walk_rates_as_python_does():
    """The same searches, with and without it: every move is the same."""

    class InPython(MoveBounds):
        """Inherits ``follow``, which is then not used."""

    for name in ("hex(board_size=4)", "connect_four", "breakthrough(rows=5,columns=4)"):
        problem, found = OpenSpielGame(name), []
        for python in (False, True):
            search = game_search(problem, seed=2)
            policy = search.portfolio.descent.policy
            if python:
                search.portfolio.descent.policy = InPython(policy._values, policy.reads, policy.beta)
            found.append([evaluation.actions for evaluation in search.steps(90)])
        assert found[0] == found[1]


def test_values_follow_own_rewards_and_moves_follow_what_the_belief_does_not_explain():
    """By hand: the posterior of a Gaussian, and residuals of the games through the root."""
    problem = OpenSpielGame("hex(board_size=3)")
    search = game_search(problem, seed=1)
    search.run(40)
    search.values.current()
    graph, scores = search.explored.graph, search.index.scores
    values = search.portfolio.descent.policy._values
    open_ones = [n for n in range(len(graph)) if values.count[n] > 3 and graph.lower[n] < graph.upper[n]]
    assert len(open_ones) > 2
    for node in open_ones:
        precision = 1.0 / (scores.variance[node] + 0.003) + values.count[node]
        mean = scores.mean[node] / (scores.variance[node] + 0.003) + values.count[node] * values.mean[node]
        assert graph.v_mean[node] == pytest.approx(mean / precision)
        assert graph.v_var[node] == pytest.approx(1.0 / precision)
    made = [set(problem.position(e.actions).moves) for e in search.history]
    for move in range(9):
        assert values.move_count[0, move] == sum(move in moves for moves in made)
        assert abs(values.move_sum[0, move]) < 0.8 * values.move_count[0, move] + 1e-9


def test_moves_that_end_the_game_are_those_after_which_there_is_no_move():
    for name in (
        "tic_tac_toe",
        "connect_four",
        "breakthrough(rows=5,columns=4)",
        "clobber(rows=3,columns=3)",
    ):
        game, rng = OpenSpielGame(name), np.random.default_rng(0)
        for _ in range(20):
            state = game.root()
            while actions := game.actions(state):
                final = [n for n, a in enumerate(actions) if not game.actions(game.step(state, a))]
                assert game.final_actions(state) == final
                state = game.step(state, actions[int(rng.integers(len(actions)))])


# Proofs ----------------------------------------------------------------------------------------------


def solved(problem, most):
    search = game_search(problem, seed=0)
    assert search.run(most).stopped == "exhausted"
    return search


@pytest.mark.parametrize(("game", "most"), [("tic_tac_toe", 5000), ("hex(board_size=3)", 500), ("nim", 2500)])
def test_proven_values_are_the_solvers(game, most, minimax):
    """Every proof on the way, not only the root's, is what brute force says."""
    problem = OpenSpielGame(game)
    graph = solved(problem, most).explored.graph
    value = minimax(problem)
    proven = np.flatnonzero(proven_nodes(graph) & (graph.level[: len(graph)] >= 0))
    assert proven.size > 20
    assert graph.lower[0] == graph.upper[0] == value(problem.root())
    for node in proven:
        assert graph.lower[node] == value(graph.states[node])
        assert (graph.v_mean[node], graph.v_var[node]) == (graph.lower[node], 0.0)


def test_bounds_that_are_not_proofs_hold_the_value(minimax):
    problem = OpenSpielGame("tic_tac_toe")
    value = minimax(problem)
    search = game_search(problem, seed=1)
    search.run(60)
    graph = search.explored.graph
    for node, state in enumerate(graph.states):
        assert graph.lower[node] <= value(state) <= graph.upper[node]


def test_a_loss_is_proven_only_if_all_children_are_known():
    """One stone each in two piles, who takes the last one loses: both moves of the first player win."""
    problem = OpenSpielGame("nim(pile_sizes=1;1)")
    search = ds.Search.paper(problem, expansion=ds.expansions.OneChild(), seed=0)
    backup, explored = WithProofs(ds.backups.MomentMatching(), -1.0, 1.0), search.explored
    first = explored.enter(explored.root, explored.children(explored.root), 0)
    explored.enter(first, explored.children(first), 0)
    backup.back_up(explored, [])
    graph = explored.graph
    # The second player has no choice; the first has another move that might be worse or better, but not
    # better than a win.
    assert graph.lower[first] == graph.upper[first] == 1.0
    assert graph.lower[0] == graph.upper[0] == 1.0
    problem = OpenSpielGame("nim(pile_sizes=1;1;1)")
    explored = ds.Search.paper(problem, expansion=ds.expansions.OneChild(), seed=0).explored
    path = [explored.root]
    while not explored.graph.terminal[path[-1]]:
        path.append(explored.enter(path[-1], explored.children(path[-1]), 0))
    WithProofs(ds.backups.MomentMatching(), -1.0, 1.0).back_up(explored, [])
    # Here the first player loses, but that is not known before all three moves have been tried.
    assert (explored.graph.lower[0], explored.graph.upper[0]) == (-1.0, 1.0)


def test_search_without_a_solver_has_no_bounds():
    search = ds.Search.paper(ds.problems.TicTacToe(), seed=0)
    search.run(20)
    assert np.isinf(search.explored.graph.lower[: len(search.explored.graph)]).all()


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (1.0, -1.0)])
def test_bad_ranges_are_refused(bounds):
    with pytest.raises(ValueError, match="lowest must be less"):
        WithProofs(ds.backups.MomentMatching(), *bounds)


def test_a_state_of_openspiel_can_be_the_root():
    state = pyspiel.load_game("connect_four").new_initial_state()
    state.apply_action(3)
    assert OpenSpielGame("connect_four").from_state(state).root().history == (3,)
