"""The arena: fair pairings, intervals, and files."""

import numpy as np
import pyspiel
import pytest

from experiments import arena
from experiments.__main__ import main
from experiments.arena import Pairing, play_game, random_opening
from experiments.harness.runner import read_rows

PAIRING = Pairing("tic_tac_toe", "grave-ahead", "mcts-solver", 8)


def test_openings_do_not_end_the_game():
    rng = np.random.default_rng(0)
    game = pyspiel.load_game("tic_tac_toe")
    states = [random_opening(game, 5, rng) for _ in range(50)]
    assert all(not state.is_terminal() and state.move_number() == 5 for state in states)


def test_a_player_gets_the_points_of_its_own_seat():
    """GRAVE with many roll-outs loses to a random-like MCTS in neither seat."""
    strong = Pairing("tic_tac_toe", "grave-ahead", "mcts", 60, opening=0)
    assert all(play_game(strong, number).value >= 0.5 for number in range(2))


def test_the_same_seed_gives_the_same_games_in_any_number_of_processes():
    settings = {"games": ["tic_tac_toe"], "against": ["mcts"], "simulations": 5, "count": 4}
    assert arena.run(jobs=1, **settings).rows == arena.run(jobs=2, **settings).rows


def test_wilsons_interval():
    """60 of 100: 0.502 to 0.691, as in textbooks; and no interval of width 0 if all are won."""
    assert arena.interval([1.0] * 60 + [0.0] * 40) == pytest.approx((0.5020, 0.6906), abs=1e-4)
    assert arena.interval([1.0] * 10)[0] == pytest.approx(0.7225, abs=1e-3)


def test_the_command_plays_writes_and_sums_up(tmp_path, capsys):
    command = ["benchmark", "arena", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    assert main([*command, "--games", "tic_tac_toe", "hex(board_size=3)", "--against", "mcts"]) == 0
    assert "grave-ahead against mcts" in capsys.readouterr().out
    assert len(read_rows(tmp_path / "arena.csv.gz")) == 4


@pytest.mark.parametrize(("name", "games"), [("grave", 1), ("grave-ahead", 0)])
def test_grave_sees_a_win_ahead_only_if_its_name_says_so(name, games):
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    for move in (0, 3, 1, 4):
        state.apply_action(move)
    player = arena._player(name, PAIRING._replace(simulations=1), state.get_game(), [0])
    player.step(state)
    assert player.rollouts == games


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--games", "backgammon"], "it has chance moves"),
        (["--games", "tic_tac_to"], "did you mean 'tic_tac_toe'"),
        (["--player", "me"], "there is no player 'me'"),
    ],
)
def test_bad_input_is_named(options, message, capsys, tmp_path):
    assert main(["benchmark", "arena", "--out", str(tmp_path), *options]) == 1
    assert message in capsys.readouterr().err
