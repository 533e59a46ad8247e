"""The arena: fair pairings, intervals, and the command."""

import numpy as np
import pyspiel

from experiments import arena
from experiments.__main__ import main
from experiments.arena import random_opening, score
from experiments.harness.runner import read_rows


def test_openings_do_not_end_the_game():
    rng = np.random.default_rng(0)
    game = pyspiel.load_game("tic_tac_toe")
    states = [random_opening(game, 5, rng) for _ in range(50)]
    assert all(not state.is_terminal() and state.move_number() == 5 for state in states)


def test_a_player_gets_the_points_of_its_own_seat(monkeypatch):
    """GRAVE with many roll-outs loses to UCT with few in neither seat."""
    monkeypatch.setattr(arena, "OPENING", 0)
    assert all(score("tic_tac_toe", "GRAVE", "UCT", number, 60) >= 0.5 for number in range(2))


def test_the_command_plays_writes_and_sums_up(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(arena, "GAMES", {"Hex, 3 × 3": "hex(board_size=3)"})
    assert main(["benchmark", "arena", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "GRAVE against RAVE" in capsys.readouterr().out
    rows = read_rows(tmp_path / "arena.csv.gz")
    assert len(rows) == 6
    assert rows == arena.run(quick=True, jobs=2).rows
