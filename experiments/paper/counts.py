"""Every count in the paper's text, computed."""

from collections import Counter
from math import comb, perm

from dagsearch.problem import Problem, State
from dagsearch.problems import Synthetic, TicTacToe
from experiments.harness.runner import Outcome, Row

PAPER = {
    "Tic-Tac-Toe, nodes of the tree": 58_524,
    "Tic-Tac-Toe, board states": 765,
    "MNIST, subsets of 10 of 784": 2.28e22,
    "MNIST, nodes of the tree": 8.29e28,
    "MNIST, nodes of the DAG": 2.31e22,
    "synthetic, nodes": 4_944,
    "synthetic, leaves": 3_003,
}


def run(quick: bool = False, jobs: int = 1) -> Outcome:
    """Count; a row's method names what is counted, its setting is the paper's number."""
    problem = Synthetic(seed=0)
    synthetic, game = states_by_paths(problem), states_by_paths(TicTacToe())
    found = {
        "Tic-Tac-Toe, nodes of the tree": sum(game.values()),
        "Tic-Tac-Toe, board states": len(game),
        "MNIST, subsets of 10 of 784": comb(784, 10),
        "MNIST, nodes of the tree": sum(perm(784, i) for i in range(11)),
        "MNIST, nodes of the DAG": sum(comb(784, i) for i in range(11)),
        "synthetic, nodes": len(synthetic),
        "synthetic, leaves": sum(1 for state in synthetic if not problem.actions(state)),
    }
    rows = [Row(name, f"paper: {PAPER[name]:.6g}", 0, 0, float(count)) for name, count in found.items()]
    return Outcome("counts", rows, {})


def states_by_paths(problem: Problem) -> dict[State, int]:
    """The number of paths to every state."""
    total, level = Counter[State](), Counter({problem.root(): 1})
    while level:
        total += level
        following = Counter[State]()
        for state, paths in level.items():
            for action in problem.actions(state):
                following[problem.step(state, action)] += paths
        level = following
    return total
