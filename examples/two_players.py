"""Two players: how to open the game of Domineering.

On a board of four times four squares MAX lays vertical dominoes and MIN lays horizontal ones; the player who
cannot move loses. A state holds the covered squares and whose turn it is. MAX wants large rewards, MIN small
ones.
"""

import dagsearch as ds

SIZE = 4


class Domineering:
    """A state is (covered squares, player)."""

    def root(self):
        return (frozenset(), ds.MAX)

    def player(self, state):
        return state[1]

    def actions(self, state):
        covered, player = state
        rows, columns = (SIZE - 1, SIZE) if player == ds.MAX else (SIZE, SIZE - 1)
        squares = [(row, column) for row in range(rows) for column in range(columns)]
        return [square for square in squares if covered.isdisjoint(domino(square, player))]

    def step(self, state, square):
        covered, player = state
        return (covered.union(domino(square, player)), -player)

    def reward(self, leaf):
        return -leaf[1]  # the one to move has lost


def domino(square, player):
    """The two squares that a domino covers; ``square`` is the upper or left one."""
    row, column = square
    return {square, (row + 1, column) if player == ds.MAX else (row, column + 1)}


game = Domineering()
ds.testing.check_problem(game)
search = ds.Search.default(game, seed=0)
result = search.run(300)

print(len(result.history), "evaluations, stopped because of:", result.stopped)
print("opening   value for MAX   visits")
for square in game.actions(game.root()):
    belief = search.belief(game.step(game.root(), square))
    print(f"{square!s:9} {belief.v.mean:6.2f} ± {belief.v.variance**0.5:.2f} {belief.visits:8d}")
print("best opening:", search.best_action(game.root()))
print("best known line of play:", *search.recommend().actions)
