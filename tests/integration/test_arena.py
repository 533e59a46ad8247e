"""The arena: fair pairings, intervals, and files."""

import math
import re
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import mcts

from dagsearch.games import OpenSpielGame
from experiments import arena
from experiments.__main__ import main
from experiments.arena import matches
from experiments.arena.matches import Pairing, Record, play_game, random_opening
from experiments.harness.csv_files import read_csv


def pairing(**changes):
    usual = {
        "game": "tic_tac_toe",
        "against": "mcts-solver",
        "simulations": 8,
        "seconds": None,
        "opening": 2,
        "uct_c": math.sqrt(2),
        "seed": 0,
    }
    return Pairing(**{**usual, **changes})


def record(score, **changes):
    usual = Record("g", "mcts", "100 roll-outs", 0, 0, "", score, 9, 100.0, 0.1, 0.01)
    return usual._replace(**changes)


def test_pairs_share_the_opening_and_exchange_seats():
    games = [play_game(pairing(), number) for number in range(4)]
    assert [game.seat for game in games] == [0, 1, 0, 1]
    assert games[0].opening == games[1].opening
    assert games[2].opening == games[3].opening
    assert all(game.our_rollouts <= 8 for game in games)
    assert all(game.score in (0.0, 0.5, 1.0) for game in games)


def test_the_same_seed_gives_the_same_games_in_any_number_of_processes():
    def played(jobs):
        return [game[:9] for game in arena.run([pairing(), pairing(against="mcts")], 4, jobs, progress=False)]

    assert played(1) == played(2)


def test_openings_do_not_end_the_game():
    rng = np.random.default_rng(0)
    game = pyspiel.load_game("tic_tac_toe")
    states = [random_opening(game, 5, rng) for _ in range(50)]
    assert all(not state.is_terminal() and state.move_number() == 5 for state in states)


def test_a_time_limit_holds_for_both(clock, monkeypatch):
    def taking_a_millisecond(method):
        def slowed(*arguments):
            clock.advance(1e-3)
            return method(*arguments)

        return slowed

    for owner, name in ((mcts.RandomRolloutEvaluator, "evaluate"), (OpenSpielGame, "reward")):
        monkeypatch.setattr(owner, name, taking_a_millisecond(getattr(owner, name)))
    played = play_game(pairing(simulations=None, seconds=0.02, game="connect_four"), 0)
    assert played.budget == "0.02 s"
    # The opponent learns its speed from the move before; the first one is measured beforehand.
    assert 0.015 < played.their_seconds < 0.06
    assert 0.01 < played.our_seconds < 0.03  # on average; a move that is proven takes less than it may


def test_wilsons_interval():
    """60 of 100: 0.502 to 0.691, as in textbooks; and no interval of width 0 if all are won."""
    result = arena.score([record(1.0)] * 60 + [record(0.0)] * 40)
    assert (result.mean, result.games) == (0.6, 100)
    assert (result.low, result.high) == pytest.approx((0.5020, 0.6906), abs=1e-4)
    assert arena.score([record(1.0)] * 10).low == pytest.approx(0.7225, abs=1e-3)
    assert arena.score([record(0.5)] * 10).mean == 0.5


def test_the_command_plays_writes_and_sums_up(tmp_path, capsys):
    command = ["arena", "tic_tac_toe", "hex(board_size=3)", "--against", "mcts", "--simulations", "5", "10"]
    options = ["--games", "2", "--jobs", "1", "--quiet", "--out", str(tmp_path)]
    assert main([*command, *options]) == 0
    shown = capsys.readouterr().out
    assert "5 roll-outs" in shown
    assert "arena.png" in shown
    assert (tmp_path / "arena.png").stat().st_size > 1000
    games = arena.read(tmp_path / "arena.csv.gz")
    assert len(games) == 2 * 2 * 2
    assert {(game.game, game.budget) for game in games} == {
        (name, budget)
        for name in ("tic_tac_toe", "hex(board_size=3)")
        for budget in ("5 roll-outs", "10 roll-outs")
    }
    assert list(read_csv(tmp_path / "arena.csv.gz")[0]) == list(Record._fields)


@pytest.mark.parametrize(("name", "games"), [("grave", 1), ("grave-ahead", 0)])
def test_grave_sees_a_win_ahead_only_if_its_name_says_so(name, games):
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    for move in (0, 3, 1, 4):
        state.apply_action(move)
    player = matches._player(name, pairing(simulations=1), state.get_game(), [0])
    player.step(state)
    assert player.rollouts == games


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["arena", "backgammon"], "it has chance moves"),
        (["arena", "tic_tac_to"], "did you mean 'tic_tac_toe'"),
    ],
)
def test_bad_input_is_named(command, message, capsys):
    assert main(command) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["arena", "nim", "--seconds", "0"],
        ["arena", "nim", "--simulations", "5", "--seconds", "1"],
        ["arena", "nim", "--opening", "-1"],
    ],
)
def test_bad_usage_is_refused(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(command)
    assert "error" in capsys.readouterr().err


RESULTS = Path(__file__).parents[2] / "results" / "arena"
PAGE = (Path(__file__).parents[2] / "docs" / "games.md").read_text().splitlines()


def played(*names):
    return arena.by_pairing([record for name in names for record in arena.read(RESULTS / f"{name}.csv.gz")])


def check_line(shown, *scores):
    """Compare the first cells of the page's line with scores; a cell has a mean, or an interval, too."""
    (line,) = [line for line in PAGE if line.startswith(f"| {shown} | ")]
    cells = [cell.strip() for cell in line.strip("| ").split(" | ")][1:]
    assert len(cells) >= len(scores)
    for cell, result in zip(cells, scores, strict=False):
        numbers = [float(number) for number in re.findall(r"[0-9.]+", cell)]
        assert numbers == pytest.approx([result.mean, result.low, result.high][: len(numbers)], abs=0.00501)


@pytest.mark.parametrize(
    ("game", "shown"),
    [
        ("hex(board_size=5)", "Hex, 5 × 5, baselines"),
        ("breakthrough(rows=5,columns=5)", "Breakthrough, 5 × 5, baselines"),
    ],
)
def test_grave_rave_and_uct_are_in_the_order_of_the_literature(game, shown):
    scores = [
        arena.score(played(f"order-{player}")[game, against, "100 roll-outs"])
        for player, against in (("grave", "rave"), ("grave", "mcts"), ("rave", "mcts"))
    ]
    assert min(result.mean for result in scores) >= 0.5
    check_line(shown, *scores)
