"""Searches of trees and of DAGs that must coincide."""

import numpy as np
import pytest

import dagsearch as ds
from dagsearch import baselines
from dagsearch.baselines import TreeScores, TreeState
from dagsearch.covariances import SharedPath
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


def test_tree_scores_are_kernel_scores_with_the_path_covariance():
    rng = np.random.default_rng(0)
    paths = dict.fromkeys(tuple(rng.integers(3, size=rng.integers(0, 9)).tolist()) for _ in range(600))
    states = [TreeState(path, None) for path in paths]
    covariance = SharedPath(step=0.5, root=0.3)
    tree, kernel = TreeScores(covariance, 0.1, mean=0.4), FunctionScores(covariance, 0.1, mean=0.4)
    for model in (tree, kernel):
        draws = np.random.default_rng(1)
        model.track(states[:100])
        for i in range(150):
            model.condition(int(draws.integers(100)), float(draws.normal()), None if i % 2 else 0.3)
        model.track(states[100:200])
    assert np.abs(tree.mean - kernel.mean).max() < 1e-10
    assert np.abs(tree.variance - kernel.variance).max() < 1e-10
    for one, other in zip(tree.predict(states[200:]), kernel.predict(states[200:]), strict=True):
        assert np.abs(one - other).max() < 1e-10


@pytest.mark.parametrize("expansion", [ds.expansions.AllChildren(), ds.expansions.OneChild()])
def test_probabilistic_tree_search_is_the_dag_search_with_the_path_covariance(expansion):
    class Rounded(ds.policies.UpperConfidence):
        """Siblings without rewards are exact ties on a tree; rounding must not break them."""

        def rate(self, options):
            return super().rate(options).round(9)

    problem = ds.problems.Synthetic(n=6, m=3, seed=0)
    tree = baselines.probabilistic_tree(problem, c=0.25, noise=0.01, seed=0, expansion=expansion)
    tree.portfolio.descent.policy = Rounded(1.0)
    dag = ds.Search(
        ds.as_tree(problem),
        scores=FunctionScores(SharedPath(step=0.25, root=0.25), 0.01),
        proposers=Descent(Rounded(1.0), ds.rollouts.Uniform(), expansion),
        backup=tree.explored_values.backup,
        seed=0,
    )
    leaves = [[e.leaf for e in search.steps(40)] for search in (tree, dag)]
    assert leaves[0] == leaves[1]
    assert tree.belief(tree.problem.root()).v == pytest.approx(dag.belief(dag.problem.root()).v, abs=1e-8)
