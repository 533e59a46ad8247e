"""Connect Four: what to play, and why.

OpenSpiel (``pip install 'dagsearch[games]'``) knows the rules. The search analyses a position, prints its
value of each move, and then continues the game against OpenSpiel's Monte Carlo tree search.
"""

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts

import dagsearch as ds

game = pyspiel.load_game("connect_four")
state = game.new_initial_state()
for column in (3, 3, 2, 2):
    state.apply_action(column)
print(state)

player = ds.players.SearchPlayer(budget=100, seed=0)
print("column   value for x   random games")
for move in player.think(state):
    spread = "proven" if move.proven else f"± {move.value.variance**0.5:.2f}"
    print(f"{move.action:6d} {move.value.mean:+7.2f} {spread:>6} {move.visits:10d}")

rng = np.random.RandomState(0)
opponent = mcts.MCTSBot(game, 2.0, 100, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
while not state.is_terminal():
    state.apply_action((player, opponent)[state.current_player()].step(state))
print(state)
print("x, our player, got", state.returns()[0])
