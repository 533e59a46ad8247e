"""What the default search reaches, on problems whose optimum is known."""

import numpy as np
import pytest

import dagsearch as ds
from experiments.paper import tictactoe

# Statements about many seeds.
pytestmark = pytest.mark.slow


def test_synthetic_optimum_within_25_evaluations():
    found = []
    for seed in range(20):
        problem = ds.problems.Synthetic(seed=seed)
        found.append(ds.search(problem, 25, seed=seed).best_reward >= problem.best_reward - 1e-9)
    assert sum(found) >= 19


def test_tic_tac_toe_is_perfect_when_all_leaves_are_known():
    game = ds.problems.TicTacToe()
    for seed in range(3):
        search = ds.Search.default(game, seed=seed)
        search.run(200)
        rng = np.random.default_rng(seed)
        assert min(tictactoe.play(search, game, rng) for _ in range(20)) == 0.0


def test_digits_beat_hill_climbing_by_far():
    problem = ds.problems.DigitsPixels()
    reached = [ds.search(problem, 100, seed=seed).best_reward for seed in range(3)]
    assert np.mean(reached) > 0.86  # hill-climbing 0.83
