"""Players: whole games through OpenSpiel's API, and positions in which the right move is known."""

from collections import Counter

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots, mcts

import dagsearch as ds
from dagsearch import baselines
from dagsearch.games import OpenSpielGame
from dagsearch.games.players import Opinion, SearchPlayer, best_move, opinions
from dagsearch.results import Gaussian
from dagsearch.values.proofs import WithProofs


def after(game, moves):
    state = pyspiel.load_game(game).new_initial_state()
    for move in moves:
        state.apply_action(move)
    return state


@pytest.mark.parametrize(
    "name", ["tic_tac_toe", "connect_four", "hex(board_size=4)", "breakthrough(rows=5,columns=4)", "nim"]
)
def test_complete_games_through_openspiels_runners(name):
    game = pyspiel.load_game(name)
    rng = np.random.RandomState(0)
    ours = SearchPlayer(budget=20, seed=0)
    theirs = mcts.MCTSBot(game, 2.0, 20, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
    for bots in ([ours, theirs], [theirs, ours]):
        python = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
        compiled = pyspiel.evaluate_bots(game.new_initial_state(), bots, 0)
        assert sum(python) == sum(compiled) == 0.0
    assert ours.rollouts > 0


@pytest.mark.parametrize("budget", [1, 5, 30])
def test_wins_at_once_and_blocks(budget):
    """Whatever the noise: a move that wins is made, and one that lets the other win is not."""
    for seed in range(10):
        player = SearchPlayer(budget=budget, seed=seed)
        assert player.step(after("connect_four", [0, 6, 0, 6, 0, 6])) == 0
    threatened = after("connect_four", [0, 6, 0, 6, 0])
    assert {SearchPlayer(budget=30, seed=seed).step(threatened) for seed in range(10)} == {0}


def test_a_won_position_is_not_thrown_away():
    """Two open threes: whatever the other one does, and with next to no thought, the win is kept."""
    for seed in range(5):
        state = after("connect_four", [2, 2, 3, 3])
        player = SearchPlayer(budget=150, seed=seed)
        known = player.think(state)
        assert best_move(known).at_least == 1.0
        rng = np.random.default_rng(seed)
        player.budget = 1
        while not state.is_terminal():
            ours = state.current_player() == 0
            state.apply_action(player.step(state) if ours else int(rng.choice(state.legal_actions())))
        assert state.returns()[0] == 1.0


def test_no_roll_outs_are_spent_on_what_is_solved():
    player = SearchPlayer(budget=1000, seed=0)
    player.step(after("tic_tac_toe", [0, 3, 1, 4]))
    assert player.rollouts < 5


def move(action, mean, visits, at_least=-1.0, at_most=1.0):
    return Opinion(action, Gaussian(mean, 0.1), visits, at_least, at_most)


@pytest.mark.parametrize(
    ("known", "chosen"),
    [
        ([move(0, 0.9, 50), move(1, 1.0, 1, 1.0, 1.0)], 1),  # a proven win before anything else
        ([move(0, -0.9, 50), move(1, -1.0, 99, -1.0, -1.0)], 0),  # a proven loss after anything else
        ([move(0, 0.4, 50), move(1, 0.0, 99, 0.0, 0.0)], 0),  # better than a draw, as is believed
        ([move(0, -0.4, 50), move(1, 0.0, 1, 0.0, 0.0)], 1),  # a draw rather than what looks like a loss
        ([move(0, 0.4, 50, -1.0, 0.0), move(1, 0.1, 3, 0.0, 1.0)], 1),  # at most a draw, at least a draw
        ([move(0, 0.2, 9), move(1, 0.1, 10)], 1),  # most visits
        ([move(0, 0.1, 9), move(1, 0.2, 9)], 1),  # and of those the best mean
        ([move(0, -1.0, 9, -1.0, -1.0), move(1, -1.0, 9, -1.0, -1.0)], 0),  # all is lost
    ],
)
def test_which_move_is_made(known, chosen):
    assert best_move(known).action == chosen


def paper_with_proofs(problem, *, seed):
    """The paper's search of a game whose rewards are ±1."""
    backup = WithProofs(ds.backups.MomentMatching(prior=(0.0, 1.0)), *problem.reward_range)
    return ds.Search.paper(problem, noise=1.0, backup=backup, seed=seed)


@pytest.mark.parametrize("make", [paper_with_proofs, baselines.grave, baselines.uct, baselines.ucd])
def test_games_through_the_next_position_are_kept_and_a_new_game_begins_afresh(make):
    player = SearchPlayer(make, budget=60, seed=1)
    state = after("tic_tac_toe", [])
    first = player.step(state)
    replies = Counter(e.actions[1] for e in player.search.history if e.actions[0] == first)
    made = (first, replies.most_common(1)[0][0])
    through = [(e.actions[2:], e.reward) for e in player.search.history if e.actions[:2] == made]
    for move in made:
        state.apply_action(move)
    player.step(state)
    kept = len(player.search.history) - 60
    assert kept > 1
    # Those whose descent ended before the position are not kept.
    assert [(e.actions, e.reward) for e in player.search.history[:kept]] == through[-kept:]
    assert player.search.belief(player.search.problem.root()).visits == 60 + kept
    for other in (after("tic_tac_toe", [(first + 1) % 9]), after("connect_four", [])):
        player.step(other)
        assert len(player.search.history) == 60
    player.restart()
    assert player.search is None


def test_time_is_kept(clock):
    clock.tick = 0.01
    player, began = SearchPlayer(seconds=0.5, seed=0), clock.now
    player.step(after("connect_four", []))  # nothing is proven yet
    assert 0.5 <= clock.now - began < 0.6
    assert player.rollouts > 1


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"budget": 1.5}, {"seconds": 0}, {"seconds": float("nan")}])
def test_bad_limits_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SearchPlayer(**wrong)


def test_a_finished_game_has_no_move():
    with pytest.raises(ValueError, match="the game is over"):
        SearchPlayer().step(after("tic_tac_toe", [0, 3, 1, 4, 2]))


def test_values_are_within_what_is_proven():
    """A model that trusts every reward predicts more than there is to win; this is not reported."""
    problem = OpenSpielGame("connect_four")
    search = ds.Search.paper(problem, c=5.0, noise=1e-4, backup=ds.backups.MomentMatching(), seed=0)
    search.run(8)
    known = opinions(search)
    graph = search.explored.graph
    assert np.abs(graph.v_mean[graph.children(0)]).max() > 1.0
    assert all(-1.0 <= move.value.mean <= 1.0 for move in known)
    almost_won = problem.from_state(after("connect_four", [0, 6, 0, 6, 0, 6]))
    win = opinions(baselines.grave(almost_won, look_ahead=True))[0]
    assert win.proven
    assert win.value == Gaussian(1.0, 0.0)


def test_looking_at_beliefs_between_rewards_changes_nothing():
    game = OpenSpielGame("hex(board_size=4)")
    asked = []
    for looks in (False, True):
        search, own = baselines.grave(game, seed=0), []
        for _ in range(40):
            proposals = search.ask(3)
            own += [proposal.leaf for proposal in proposals]
            for proposal in proposals:
                search.tell(proposal, game.reward(proposal.leaf))
                if looks:
                    search.belief(game.root())
        asked.append(own)
    assert asked[0] == asked[1]
