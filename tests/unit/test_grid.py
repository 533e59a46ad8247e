"""``DAGSearchCV`` against ``GridSearchCV``: same candidates, results and errors, from fewer fits."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from dagsearch import StorageError
from dagsearch.selection.grid import GridProblem
from dagsearch.sklearn import DAGSearchCV

X, Y = make_classification(60, 6, n_informative=3, random_state=0)
TIMES = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")


class Peak(ClassifierMixin, BaseEstimator):
    """Scores highest at a point of its parameters; counts its fits."""

    fits = 0

    def __init__(self, a=0.0, b=0.0, kind="x", bad=False):
        self.a, self.b, self.kind, self.bad = a, b, kind, bad

    def fit(self, data, target):
        Peak.fits += 1
        if self.bad is True:
            raise ValueError("bad")
        self.classes_ = np.unique(target)
        return self

    def predict(self, data):
        return np.zeros(len(data))

    def score(self, data, target):
        return -abs(self.a - 7.0) - abs(self.b - 3.0) - 2.0 * (self.kind == "y") + 1e-3 * data[0, 0]


GRID = {"a": list(range(15)), "b": list(range(15)), "kind": ["x", "y"]}


@pytest.fixture(autouse=True)
def _count():
    Peak.fits = 0


def same(found, expected, but=()):
    """Whether two ``cv_results_`` are equal."""
    assert found.keys() == expected.keys()
    for key in found.keys() - set(but):
        np.testing.assert_array_equal(found[key], expected[key], err_msg=key)


def candidates(search):
    return [tuple(sorted(one.items())) for one in search.cv_results_["params"]]


@pytest.mark.parametrize(
    "grid",
    [
        {"C": [0.1, 1, 10], "fit_intercept": [True, False]},
        [{"C": [0.1, 1]}, {"C": [1, 10], "solver": ["lbfgs"]}, {}],
        {"C": [1, 1.0, True, 1]},
        {},
    ],
)
def test_a_grid_that_is_small_enough_is_searched_as_by_grid_search(grid):
    expected = GridSearchCV(LogisticRegression(), grid, return_train_score=True).fit(X, Y)
    found = DAGSearchCV(LogisticRegression(), grid, return_train_score=True).fit(X, Y)
    same(found.cv_results_, expected.cv_results_, TIMES)
    assert (found.best_params_, found.best_score_) == (expected.best_params_, expected.best_score_)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_the_best_candidate_is_found_with_a_part_of_the_fits():
    search = DAGSearchCV(Peak(), GRID, n_iter=40, cv=3, random_state=0).fit(X, Y)
    assert search.best_params_ == {"a": 7, "b": 3, "kind": "x"}
    assert Peak.fits == 40 * 3 + 1
    assert len(set(candidates(search))) == 40
    again = DAGSearchCV(Peak(), GRID, n_iter=40, cv=3, random_state=0).fit(X, Y)
    same(again.cv_results_, search.cv_results_, TIMES)


def test_results_are_those_of_grid_search_for_the_same_candidates():
    search = DAGSearchCV(Peak(), GRID, n_iter=15, cv=3, random_state=1, return_train_score=True).fit(X, Y)
    grids = [{name: [value] for name, value in one.items()} for one in search.cv_results_["params"]]
    expected = GridSearchCV(Peak(), grids, cv=3, return_train_score=True).fit(X, Y)
    same(search.cv_results_, expected.cv_results_, TIMES)
    assert search.best_index_ == expected.best_index_


CONDITIONAL = [
    {"scale": [StandardScaler(), MinMaxScaler()], "model": [LogisticRegression()], "model__C": [0.1, 1, 10]},
    {"scale": [StandardScaler()], "model": [KNeighborsClassifier()], "model__n_neighbors": [1, 3, 5, 7, 9]},
    {"model": [DecisionTreeClassifier(random_state=0)], "model__max_depth": [1, 2, None]},
]
PIPELINE = Pipeline([("scale", "passthrough"), ("pca", PCA()), ("model", LogisticRegression())])


def every_candidate(grids):
    """The candidates that walks through the problem reach."""
    problem = GridProblem(ParameterGrid(grids).param_grid)
    states, found = [problem.root()], []
    while states:
        state = states.pop()
        actions = problem.actions(state)
        states += [problem.step(state, action) for action in actions]
        if not actions and (problem.allowed is None or problem.allowed(state)):
            found.append(problem.candidate(state))
    return found


def shown(found):
    return sorted(repr(sorted(one.items(), key=lambda item: item[0])) for one in found)


@pytest.mark.parametrize(
    "grids",
    [
        CONDITIONAL,
        [{"a": [1, 2]}, {"a": [2, 3], "b": [4]}, {"b": [4, 5]}, {}],
        [{"a": [1, 2], "b": [3]}, {"a": [2], "b": [3, 4]}],
        {"a": [1, 1.0, True, "1", None, "None", "(not set)", float("nan")]},
        {"a": [[1, 2], (1, 2), {"x": 1}, len, lambda: 1]},
        [{"a": np.logspace(-2, 2, 5)}, {"a": [0.01, 0.1], "b": np.array([1, 2])}],
    ],
)
def test_the_space_has_every_candidate_of_every_dict_once(grids):
    dicts = grids if isinstance(grids, list) else [grids]
    plain = [
        {name: [getattr(v, "item", lambda v=v: v)() for v in grid[name]] for name in grid} for grid in dicts
    ]
    expected = [one for grid in plain for one in set(shown(ParameterGrid(grid)))]
    found = [
        {name: getattr(v, "item", lambda v=v: v)() for name, v in one.items()}
        for one in every_candidate(grids)
    ]
    assert shown(found) == sorted(expected)


def test_the_candidates_nearest_to_the_present_parameters_come_first():
    powers = [0.001, 0.1, 1, 10, 100]
    grids = [
        {"model": [Ridge()], "model__alpha": powers},
        {"model": [SVC(C=100)], "model__C": powers, "model__gamma": [*powers, "scale"]},
        {"model": [LogisticRegression()], "model__C": powers, "pca__n_components": [1, 2, 3]},
    ]
    problem = GridProblem(grids)
    first, *others = map(problem.candidate, problem.nearest(PIPELINE))
    assert first == {"model": grids[2]["model"][0], "model__C": 1, "pca__n_components": 2}
    assert {"model": grids[1]["model"][0], "model__C": 100, "model__gamma": "scale"} in others
    search = DAGSearchCV(LogisticRegression(C=0.1), {"C": powers}, n_iter=2, random_state=0).fit(X, Y)
    assert search.cv_results_["params"][0] == {"C": 0.1}


def test_a_list_of_dicts_is_one_conditional_space():
    search = DAGSearchCV(PIPELINE, CONDITIONAL, n_iter=10, cv=3, random_state=0).fit(X, Y)
    kinds = {type(one["model"]) for one in search.cv_results_["params"]}
    assert len(kinds) == 3
    assert search.cv_results_["param_model__C"].mask.any()
    grid = GridSearchCV(PIPELINE, CONDITIONAL, cv=3).fit(X, Y)
    every = DAGSearchCV(PIPELINE, CONDITIONAL, cv=3).fit(X, Y)
    assert every.best_score_ == grid.best_score_


def test_numbers_are_placed_by_value_and_the_rest_by_name():
    problem = GridProblem([{"a": [0.1, 1, 10], "b": ["u", "v", None], "c": np.array([1, 2, 4])}])
    layout = problem.coding.layout
    numbers = dict(zip("abc", layout.numbers, strict=True))
    np.testing.assert_array_equal(numbers["a"], [0.1, 1, 10])
    np.testing.assert_array_equal(numbers["c"], [1, 2, 4])
    assert numbers["b"] is None


def test_with_several_metrics_the_one_of_refit_is_searched():
    scoring = {"low": lambda model, *data: -model.a, "high": lambda model, *data: model.a}
    for metric, best in (("low", 0), ("high", 14)):
        search = DAGSearchCV(Peak(), GRID, n_iter=30, scoring=scoring, refit=metric, cv=2, random_state=0)
        search.fit(X, Y)
        assert search.best_params_["a"] == best
        assert search.multimetric_
        assert {"rank_test_low", "mean_test_high"} <= search.cv_results_.keys()
    assert not hasattr(DAGSearchCV(Peak(), GRID, scoring=scoring, refit=False).fit(X, Y), "best_index_")


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.parametrize("error_score", [np.nan, -100.0])
def test_candidates_that_fail_are_ranked_last_and_do_not_end_the_search(error_score):
    grid = {"a": list(range(20)), "b": [0, 3], "bad": [True, False]}
    search = DAGSearchCV(Peak(), grid, n_iter=30, cv=2, error_score=error_score, random_state=0)
    with pytest.warns(
        FitFailedWarning, match=r"^candidates \[\{'a': .*'bad': True\}\]: \sAll the 2 fits failed"
    ):
        search.fit(X, Y)
    results = search.cv_results_
    bad = np.array([one["bad"] for one in results["params"]])
    assert search.best_params_ == {"a": 7, "b": 3, "bad": False}
    assert 0 < bad.sum() < 15  # it has learnt to avoid them
    np.testing.assert_array_equal(results["mean_test_score"][bad], error_score)
    assert (results["rank_test_score"][bad] > results["rank_test_score"][~bad].max()).all()


def test_errors_are_those_of_grid_search():
    def error(kind, estimator, grid, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                kind(estimator, grid, cv=2, **settings).fit(X, Y)
            except Exception as found:
                return type(found), str(found).replace("GridSearchCV", "DAGSearchCV").splitlines()[:2]
        return None

    for grid in (
        *({"a": []}, {"a": "xyz"}, {"a": 3}, {3: [1, 2]}, [{"a": [1]}, 3], 3, {"a": np.ones((2, 2))}),
        *({"wrong": list(range(99))}, {"a__wrong": list(range(99))}),
    ):
        assert error(DAGSearchCV, Peak(), grid) == error(GridSearchCV, Peak(), grid) is not None, grid
    every = {"a": list(range(99)), "bad": [True]}
    kind, text = error(DAGSearchCV, Peak(), every)
    assert kind is ValueError
    assert "fits failed" in text[1]
    assert error(DAGSearchCV, Peak(), every, error_score="raise") == (ValueError, ["bad"])
    with pytest.raises(ValueError, match="n_iter"):
        DAGSearchCV(Peak(), GRID, n_iter=0).fit(X, Y)


def test_random_folds_are_the_same_for_all_candidates():
    grid = {"alpha": [1.0, 1.0 + 1e-15, 1.0 + 2e-15, 1.0 + 4e-15]}
    search = DAGSearchCV(Ridge(), grid, n_iter=3, cv=ShuffleSplit(3)).fit(X, Y)
    assert np.ptp(search.cv_results_["split0_test_score"]) < 1e-9


def test_jobs_score_as_many_candidates_at_a_time_as_keep_them_busy():
    sizes = []

    class Watched(DAGSearchCV):
        def _format_results(self, candidate_params, *rest, **more):
            sizes.append(len(candidate_params))
            return super()._format_results(candidate_params, *rest, **more)

    with parallel_config("threading"):
        search = Watched(Peak(), GRID, n_iter=11, cv=2, random_state=0, n_jobs=5).fit(X, Y)
    assert sizes == [3, 6, 9, 11]
    assert len(set(candidates(search))) == 11


def test_jobs_may_be_processes():
    with parallel_config("multiprocessing"):
        search = DAGSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, n_iter=3, n_jobs=2).fit(X, Y)
    assert len(set(candidates(search))) == 3


# Storage ---------------------------------------------------------------------------------------------


class Interrupted(Exception):
    pass


def test_a_stored_run_is_continued_without_fitting_again(tmp_path):
    settings = {"cv": 3, "random_state": 0, "return_train_score": True}
    whole = DAGSearchCV(Peak(), GRID, n_iter=25, storage=tmp_path / "whole.db", **settings).fit(X, Y)
    stored = {"storage": tmp_path / "run.db", **settings}

    class Dying(DAGSearchCV):
        def _format_results(self, candidate_params, *rest, **more):
            if len(candidate_params) == 14:
                raise Interrupted
            return super()._format_results(candidate_params, *rest, **more)

    with pytest.raises(Interrupted):
        Dying(Peak(), GRID, n_iter=25, **stored).fit(X, Y)
    Peak.fits = 0
    resumed = DAGSearchCV(Peak(), GRID, n_iter=25, **stored).fit(X, Y)
    assert Peak.fits == (25 - 13) * 3 + 1
    same(resumed.cv_results_, whole.cv_results_, TIMES)
    Peak.fits = 0
    again = DAGSearchCV(Peak(), GRID, n_iter=25, **stored).fit(X, Y)
    assert Peak.fits == 3 + 1  # one candidate, for the names of the metrics, and the refit
    same(again.cv_results_, resumed.cv_results_)
    more = DAGSearchCV(Peak(), GRID, n_iter=30, **stored).fit(X, Y)
    assert candidates(more)[:25] == candidates(again)


def test_failures_and_metrics_are_stored_too(tmp_path):
    grid = {"a": list(range(20)), "bad": [True, False]}
    settings = {"scoring": ["accuracy", "balanced_accuracy"], "refit": "accuracy", "cv": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = DAGSearchCV(Peak(), grid, n_iter=12, storage=tmp_path / "run.db", **settings).fit(X, Y)
        again = DAGSearchCV(Peak(), grid, n_iter=12, storage=tmp_path / "run.db", **settings).fit(X, Y)
    assert np.isnan(one.cv_results_["mean_test_accuracy"]).any()
    same(again.cv_results_, one.cv_results_)


@pytest.mark.parametrize(
    "change",
    [
        {"estimator": Peak(kind="y")},
        {"cv": 4},
        {"scoring": "accuracy"},
        {"param_grid": {**GRID, "kind": ["x", "z"]}},
        {"data": X + 1},
        {"target": 1 - Y},
    ],
)
def test_a_stored_run_is_of_one_search(tmp_path, change):
    given = {"estimator": Peak(), "param_grid": GRID, "cv": 3, "data": X, "target": Y}

    def fit(estimator, param_grid, data, target, **settings):
        return DAGSearchCV(estimator, param_grid, n_iter=3, storage=tmp_path / "run.db", **settings).fit(
            data, target
        )

    fit(**given)
    with pytest.raises(StorageError, match="another problem"):
        fit(**{**given, **change})


def test_storage_needs_folds_that_do_not_change(tmp_path):
    search = DAGSearchCV(Peak(), GRID, n_iter=3, cv=KFold(3, shuffle=True), storage=tmp_path / "run.db")
    with pytest.raises(ValueError, match="random_state"):
        search.fit(X, Y)
    search.set_params(cv=KFold(3, shuffle=True, random_state=0)).fit(X, Y)


# scikit-learn ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_it_is_an_estimator():
    settings = {"n_iter": 3, "cv": 2, "random_state": 0}
    search = DAGSearchCV(LogisticRegression(), {"C": [0.01, 0.1, 1.0, 10.0]}, **settings)
    check_estimator(search, on_skip=None)
