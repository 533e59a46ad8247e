"""Searches of trees and of DAGs that must coincide."""

import numpy as np
import pytest

import dagsearch as ds
from dagsearch import baselines
from dagsearch.baselines import SharedPath, TreeState
from dagsearch.covariances import Pairwise
from dagsearch.posterior import FunctionScores
from dagsearch.proposers import Descent


def test_on_a_tree_ucd_is_uct():
    class Path:
        def root(self):
            return ()

        def actions(self, state):
            return range(3) if len(state) < 4 else []

        def step(self, state, action):
            return (*state, action)

        def reward(self, leaf):
            return float(np.sin(np.dot(leaf, (1, 3, 9, 27))))

    uct, ucd = baselines.uct(Path(), c=0.5, seed=0), baselines.ucd(Path(), c=0.5, seed=0)
    rewards = [[e.reward for e in search.steps(60)] for search in (uct, ucd)]
    assert rewards[0] == rewards[1]


def walk(step, root):
    """The covariance of a random walk down a tree, as a plain function of two states."""

    def function(x, y):
        shared = 0
        while shared < min(len(x.path), len(y.path)) and x.path[shared] == y.path[shared]:
            shared += 1
        return root + step * shared

    return Pairwise(function)


def test_states_share_the_walk_to_where_their_paths_part():
    rng = np.random.default_rng(0)
    paths = dict.fromkeys(tuple(rng.integers(3, size=rng.integers(0, 9)).tolist()) for _ in range(200))
    states = [TreeState(path, None) for path in paths]
    ours, plain = SharedPath(step=0.5, root=0.3), walk(0.5, 0.3)
    assert np.array_equal(ours(states[:50]), plain(states[:50]))  # with shorter rows than those to come
    assert ours(states[:90], states[90:]) == pytest.approx(plain(states[:90], states[90:]))
    rows = ours.represent(states)
    assert ours.variances(rows) == pytest.approx(np.diag(plain(states)))


@pytest.mark.parametrize("expansion", [ds.expansions.AllChildren(), ds.expansions.OneChild()])
def test_probabilistic_tree_search_is_the_dag_search_with_the_path_covariance(expansion):
    problem = ds.problems.Synthetic(n=6, m=3, seed=0)
    tree = baselines.probabilistic_tree(problem, c=0.25, noise=0.01, seed=0, expansion=expansion)
    dag = ds.Search(
        ds.as_tree(problem),
        scores=FunctionScores(walk(0.25, 0.25), 0.01),
        proposers=Descent(ds.policies.UpperConfidence(1.0), ds.rollouts.Uniform(), expansion),
        backup=tree.values.backup,
        seed=0,
    )
    leaves = [[e.leaf for e in search.steps(40)] for search in (tree, dag)]
    assert leaves[0] == leaves[1]
    assert tree.belief(tree.problem.root()).v == pytest.approx(dag.belief(dag.problem.root()).v, abs=1e-8)


def test_probabilistic_tree_search_takes_a_prior_on_increments():
    problem = ds.problems.TicTacToe()
    plain, shrunk = (
        baselines.probabilistic_tree(problem, c=0.5, increment_prior=prior).explored.increments
        for prior in (None, (0.0, 0.1))
    )
    assert np.all(shrunk.variance[:-1] < 0.1)
    assert np.any(plain.variance > 0.1)
