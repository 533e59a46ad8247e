"""The parts of the feature selector: how alike columns are, how noisy scores, subsets of several sizes."""

import copy
import subprocess
import sys
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, mean_squared_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import dagsearch as ds
from dagsearch.covariances import SetKernel
from dagsearch.errors import ProblemError, StorageError
from dagsearch.posterior import FunctionScores
from dagsearch.problems import Size, Subsets
from dagsearch.proposers import Descent
from dagsearch.proposers.expansions import OneChild
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Greedy
from dagsearch.selection.batches import identity_of
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.scoring import fold_noise
from dagsearch.space import Space

pandas = pytest.importorskip("pandas")


# Noise --------------------------------------------------------------------------------------------


def test_hard_folds_are_no_noise():
    rng = np.random.default_rng(0)
    own = 0.1 * rng.normal(size=(200, 5)) + rng.normal(size=(200, 1))
    noise = fold_noise(own)
    assert fold_noise(own + 10.0 * rng.normal(size=5)) == pytest.approx(noise)
    assert noise.mean() == pytest.approx(0.1**2 / 5, rel=0.1)


def test_the_first_and_the_only_fold_tell_what_they_can():
    assert fold_noise(np.array([[0.5, 0.7]])) == pytest.approx(np.var([0.5, 0.7], ddof=1) / 2)
    assert fold_noise(np.array([[0.5], [0.7]])).tolist() == [0.0, 0.0]
    assert fold_noise(np.array([[0.5, 0.5], [0.7, 0.7]])).tolist() == [0.0, 0.0]


# Sizes --------------------------------------------------------------------------------------------


def ranges():
    return Subsets(9, (2, 4), reward=lambda chosen: float(sum(chosen)) - 6.5 * len(chosen))


def test_ranges_are_good_problems():
    problem = ranges()
    ds.testing.check_problem(problem, rewards=0)
    for state in [problem.root(), *Space(problem).random_leaves]:
        assert problem.decode(problem.encode(state)) == state


def test_columns_are_chosen_in_groups_with_what_is_fixed():
    columns = ColumnSubsets(7, 3, 3, [[3], [4], [6, 5]], [[0], [2, 1]])
    search = ds.Search.default(columns.problem, seed=0)
    found = {columns.columns_of(search.ask().leaf) for _ in range(3)}
    assert found == {(0, 1, 2, 3), (0, 1, 2, 4), (0, 1, 2, 5, 6)}
    only = ColumnSubsets(9, 2, 2, [[column] for column in range(9) if column not in (1, 2)], [[1], [2]])
    assert [only.columns_of(leaf) for leaf in Space(only.problem).random_leaves[:1]] == [(1, 2)]


def test_every_size_is_found_and_none_twice():
    problem = ranges()
    result = ds.search(problem, budget=1000, seed=0)
    everything = {frozenset(chosen) for size in (2, 3, 4) for chosen in combinations(range(9), size)}
    assert {evaluation.leaf for evaluation in result.history} == everything
    assert len(result.history) == len(everything)
    assert result.best_state == {7, 8}


def test_inclusion_in_a_range_is_the_probability_under_random_play():
    problem, rng = ranges(), np.random.default_rng(0)
    for state in (problem.root(), frozenset({0, 4, 5})):
        counts = np.zeros(9)
        for _ in range(4000):
            now = state
            while actions := problem.actions(now):
                now = problem.step(now, actions[int(rng.integers(len(actions)))])
            counts[list(now)] += 1
        assert problem.coding.inclusion([state])[0] == pytest.approx(counts / 4000, abs=0.03)


def test_what_is_no_subset_of_a_range_is_refused():
    problem = ranges()
    for leaf in ({0}, {0, 3, 4, 5, 6}):
        with pytest.raises(ProblemError, match="is not a complete subset of this problem: it needs 2 to 4"):
            problem.path_to(frozenset(leaf))
    with pytest.raises(ProblemError, match="is not a complete subset of this problem: it needs 2 items"):
        ds.problems.Subsets(5, 2, reward=sum).path_to(frozenset({1}))
    for least in (-1, 5, 2.5, "2"):
        with pytest.raises(ValueError, match="k must be a whole number between 1 and 9"):
            Subsets(9, (least, 4), reward=sum)
    assert problem.actions(problem.root()) == [Size(2), Size(3), Size(4)]


def test_leaves_of_small_sizes_have_nothing_left_to_gain():
    problem = Subsets(60, (1, 8), reward=lambda chosen: float(sum(chosen)))
    search = ds.Search(
        problem,
        scores=FunctionScores(SetKernel().bind(problem), 0.01),
        proposers=Descent(UpperConfidence(0.5), Greedy(1.0), OneChild()),
        standardize=8,
        seed=0,
    )
    search.run(20)
    node = search.index.nodes([problem.step(problem.root(), Size(1))])[0]
    options = search.portfolio.descent.expansion.options(search.explored, node)
    unseen = options.children < 0
    g, _ = search.index.scores.predict_children(search.explored.children(node), node)
    assert options.mean[unseen] == pytest.approx(g[unseen])


def test_what_is_beside_a_leaf_may_still_gain():
    class Uneven:
        def root(self):
            return ""

        def actions(self, state):
            return "" if state.endswith("stop") or len(state) > 3 else ["a", "b", "stop"]

        def step(self, state, action):
            return state + action

        def items(self, state):  # no codes, so that the search descends
            return list(enumerate(state))

        def reward(self, leaf):
            return float(leaf.count("a"))

    search = ds.Search.default(Uneven(), initial=3, seed=0)
    options = search.portfolio.descent.expansion.options(search.explored, search.explored.root)
    g, _ = search.index.scores.predict_children(search.explored.children(search.explored.root))
    gain = (options.mean - g)[options.children < 0]
    assert (gain[:-1] > 0.1).all()  # the others can go on
    assert gain[-1] == 0.0  # stop cannot


# Identity -----------------------------------------------------------------------------------------


def scaled(data):
    return 2.0 * data


def columns_of(parameter):
    steps = [(f"s{i}", StandardScaler(with_mean=i != parameter), [i]) for i in range(40)]
    return ColumnTransformer(steps)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (columns_of(7), columns_of(8)),
        (FunctionTransformer(partial(np.add, 1)), FunctionTransformer(partial(np.add, 2))),
        (FunctionTransformer(np.log1p), FunctionTransformer(np.expm1)),
        (Ridge(random_state=np.random.RandomState(0)), Ridge(random_state=np.random.RandomState(1))),
        (make_scorer(r2_score), make_scorer(r2_score, greater_is_better=False)),
        (make_scorer(r2_score), make_scorer(mean_squared_error)),
        (
            make_pipeline(SimpleImputer(fill_value=np.array([0.0]))),
            make_pipeline(SimpleImputer(fill_value=np.array([1.0]))),
        ),
    ],
)
def test_what_scores_differently_has_another_identity(one, other):
    assert identity_of(one) != identity_of(other)
    assert identity_of(one) == identity_of(one) == identity_of(copy.deepcopy(one))


def test_identities_survive_a_new_process():
    script = "import test_selection as t; print(t.identity_of(t.columns_of(7), t.scaled))"
    given = [sys.executable, "-c", script]
    there = Path(__file__).parent
    found = subprocess.run(given, capture_output=True, text=True, cwd=there, check=True).stdout
    assert found.strip() == identity_of(columns_of(7), scaled)


def test_what_cannot_be_identified_is_refused():
    with pytest.raises(StorageError, match="Use functions and objects that can be pickled"):
        identity_of(FunctionTransformer(lambda data: data))
