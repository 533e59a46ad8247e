"""How well Tic-Tac-Toe is played, compared with OpenSpiel's searches.

Shortened, every 16th or 64th position is looked at; all of them, with ``--long``, take some minutes.
"""

import math

import numpy as np
import pytest

import dagsearch as ds
from experiments.arena import score
from experiments.paper.moves import openspiels_move, player_move, positions_that_matter, uct_move


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("simulations", "theirs_overall", "every"), [(50, 0.945, 16), (200, 0.985, 64)])
def test_uct_plays_as_well_as_openspiels(simulations, theirs_overall, every, minimax, long):
    game = ds.problems.TicTacToe(symmetric=False)
    value = minimax(game)
    positions = positions_that_matter()
    assert len(positions) == 3_191
    sample = positions if long else positions[::every]
    share = {}
    for name, move in (("ours", uct_move), ("theirs", openspiels_move)):
        optimal = [
            value(game.step(board, move(board, simulations, seed))) == value(board)
            for seed, board in enumerate(sample)
        ]
        share[name] = float(np.mean(optimal))
    print(f"{simulations} simulations, {len(sample)} positions: {share}")
    noise = math.sqrt(theirs_overall * (1 - theirs_overall) / len(sample))
    assert abs(share["ours"] - share["theirs"]) < 3 * math.sqrt(2) * noise
    assert abs(share["ours"] - theirs_overall) < 3 * noise


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("budget", "least"), [(50, 0.973), (100, 0.987)])
def test_tic_tac_toe_is_played_as_well_as_by_uct_with_a_solver(budget, least, minimax, long):
    game = ds.problems.TicTacToe(symmetric=False)
    value, matters = minimax(game), positions_that_matter()
    optimal = [
        value(game.step(board, player_move(board, budget, seed))) == value(board)
        for seed, board in enumerate(matters if long else matters[::16])
    ]
    print(f"{budget} roll-outs, {len(optimal)} positions: {np.mean(optimal):.4f}")
    noise = 0.0 if long else (least * (1 - least) / len(optimal)) ** 0.5
    assert np.mean(optimal) > least - 2 * noise


@pytest.mark.slow
@pytest.mark.long
def test_grave_and_rave_beat_uct_as_the_literature_has_it(long):
    """In Hex and Breakthrough, 0.8 and 0.6 are expected; 40 games have an error of 0.08, 20 of 0.11."""
    games = {"hex(board_size=5)": ("GRAVE", "RAVE"), "breakthrough(rows=5,columns=5)": ("GRAVE",)}
    for game, players in games.items() if long else [("hex(board_size=5)", ("GRAVE",))]:
        for player in players:
            numbers = range(40 if long else 20)
            mean = float(np.mean([score(game, player, "UCT", number, seed=5) for number in numbers]))
            print(f"{game}: {player} against UCT {mean:.3f}")
            assert mean > (0.6 if game.startswith("hex") else 0.5)
