"""The scikit-learn selector."""

import io
import json
import pickle
import tracemalloc
from functools import partial
from itertools import combinations
from math import comb
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import make_scorer, mean_absolute_error, silhouette_score
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from dagsearch.errors import StorageError
from dagsearch.search import Search
from dagsearch.sklearn import DAGSearchSelector, SelectionError

NAMES = ["a", "b", "c", "d", "e", "f"]
ALL_TRIPLES = [frozenset(triple) for triple in combinations(range(6), 3)]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 6))
Y = X[:, 0] + 2 * X[:, 3] + 0.3 * X[:, 5] + 0.5 * RNG.normal(size=60)
CLASSES = np.where(Y > 0, "yes", "no")
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = np.arange(60.0)
KEYS = {
    "leaks",
    "headline",
    "question",
    "by_size",
    "code",
    "schema",
    "dagsearch",
    "settings",
    "data",
    "result",
    "features",
    "comparisons",
    "history",
    "notes",
    "warnings",
}


def selector(estimator=None, **arguments):
    defaults = {"n_features_to_select": 3, "budget": 8, "cv": 3, "random_state": 0}
    return DAGSearchSelector(Ridge() if estimator is None else estimator, **defaults | arguments)


def subsets_of(fitted):
    return [frozenset(features) for features in fitted.history_["features"]]


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts like a ridge regression, and keeps what it was fitted with."""

    fits: ClassVar[list] = []

    def fit(self, data, y, sample_weight=None):
        self.fits.append((data, y, sample_weight))
        self.model_ = Ridge().fit(np.asarray(data, dtype=float), y)
        return self

    def predict(self, data):
        return self.model_.predict(np.asarray(data, dtype=float))


@pytest.fixture
def recorder():
    Recorder.fits.clear()
    return Recorder()


class Fussy(RegressorMixin, BaseEstimator):
    """Refuses data with a column that is 7 everywhere; in one with 8, predicts nothing that is a number."""

    def fit(self, data, y):
        if np.any(np.all(np.asarray(data) == 7.0, axis=0)):
            raise RuntimeError("seven it shall not be")
        self.model_ = Ridge().fit(data, y)
        return self

    def score(self, data, y):
        return np.nan if np.any(np.all(np.asarray(data) == 8.0, axis=0)) else self.model_.score(data, y)


class Interrupting(Ridge):
    """Ctrl-C after some fits."""

    left = 0

    def fit(self, data, y):
        type(self).left -= 1
        if type(self).left < 0:
            raise KeyboardInterrupt
        return super().fit(data, y)


def with_constants(*values):
    return np.column_stack([X, *(np.full(len(X), value) for value in values)])


# scikit-learn's conventions -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("estimator", [LogisticRegression(), Ridge()], ids=["classifier", "regressor"])
def test_estimator_checks_find_nothing(estimator):
    checks = check_estimator(DAGSearchSelector(estimator, budget=2, cv=2), on_fail=None, on_skip=None)
    assert len(checks) > 30
    assert [check for check in checks if check["status"] == "failed"] == []
    assert {check["check_name"] for check in checks if check["status"] == "skipped"} <= {
        "check_array_api_input"
    }


def test_works_in_a_pipeline_under_search_and_cross_validation():
    data, target = load_wine(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        selector(KNeighborsClassifier(), budget=6),
        KNeighborsClassifier(),
    )
    found = GridSearchCV(pipeline, {"dagsearchselector__n_features_to_select": [1, 4]}, cv=2)
    found.fit(data, target)
    assert found.best_params_ == {"dagsearchselector__n_features_to_select": 4}
    assert set(found.best_estimator_[:-1].get_feature_names_out()) < set(data.columns)
    assert cross_val_score(pipeline, data, target, cv=2).min() > 0.6


def test_clone_is_unfitted_with_the_same_settings():
    fitted = selector(fixed=["a"], groups=[["b", "c"]]).fit(FRAME, Y)
    copy = clone(fitted)
    assert not hasattr(copy, "support_")
    assert copy.get_params()["groups"] == [["b", "c"]]
    assert copy.fit(FRAME, Y).best_score_ == fitted.best_score_


def test_pickles_do_not_hold_the_data():
    rows = 20_000
    data = RNG.normal(size=(rows, 6))
    fitted = selector(budget=6).fit(data, data[:, 0])
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(file)):
        assert_array_equal(copy.transform(X), fitted.transform(X))
        assert copy.report().to_dict() == fitted.report().to_dict()
    assert len(pickle.dumps(fitted)) < data.nbytes / 2


def test_selected_columns_keep_names_and_types():
    frame = FRAME.assign(a=FRAME["a"].astype("float32"), b=pd.array([1, None] * 30, dtype="Int64"))
    fitted = selector(make_pipeline(SimpleImputer(), Ridge()), fixed=["a", "b"]).fit(frame, Y)
    chosen = fitted.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(chosen, frame[list(fitted.get_feature_names_out())])
    assert list(fitted.get_feature_names_out()) == [NAMES[i] for i in fitted.get_support(indices=True)]


def test_fitting_again_begins_anew():
    fitted = selector().fit(FRAME, Y)
    first = fitted.history_
    assert_array_equal(fitted.fit(FRAME, Y).history_["mean_test_score"], first["mean_test_score"])
    fitted.fit(X[:, :4], Y)
    assert fitted.n_features_in_ == len(fitted.support_) == 4
    assert not hasattr(fitted, "feature_names_in_")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_same_seed_same_search(n_jobs):
    # With few columns, what one look at the table tells leaves nothing to chance.
    wide = np.random.default_rng(0).normal(size=(60, 14))
    target = wide[:, 0] * wide[:, 1] + wide[:, 2]
    fitted = [selector(n_jobs=n_jobs, random_state=seed, budget=30).fit(wide, target) for seed in (1, 1, 2)]
    seen = [subsets_of(one) for one in fitted]
    assert seen[0] == seen[1] != seen[2]


def test_parallel_scores_are_those_of_one_process(tmp_path):
    fitted = selector(n_jobs=2, budget=7, storage=tmp_path / "run.db").fit(X, Y)
    seen = subsets_of(fitted)
    assert len(set(seen)) == 7
    for subset, score in zip(seen, fitted.history_["mean_test_score"], strict=True):
        assert_allclose(score, cross_val_score(Ridge(), X[:, sorted(subset)], Y, cv=3).mean())


# Metadata -----------------------------------------------------------------------------------------


def assert_weights_are_of_their_rows(fits):
    assert fits
    for data, target, weights in fits:
        rows = [int(np.flatnonzero(value == Y)[0]) for value in target]
        assert_array_equal(weights, WEIGHTS[rows])
        assert len(data) == len(rows)


def test_weights_reach_the_estimator_row_by_row(recorder):
    with pytest.raises(ValueError, match=r"sample_weight must have one entry per row \(60\), got \(3,\)"):
        selector(recorder).fit(X, Y, sample_weight=WEIGHTS[:3])
    selector(recorder).fit(X, Y, sample_weight=WEIGHTS.tolist())
    assert_weights_are_of_their_rows(recorder.fits)


def test_groups_reach_the_splitter(recorder):
    groups = np.repeat(np.arange(6), 10)
    fitted = selector(recorder, cv=GroupKFold(3), budget=5).fit(X, Y, groups=groups)
    assert len(recorder.fits) == 3 * len(fitted.history_["features"]) + fitted._run.repeated.fits
    for _, target, _ in recorder.fits:
        trained = groups[np.isin(Y, target)]
        assert set(np.bincount(trained, minlength=6)) == {0, 10}


def test_unknown_metadata_is_refused():
    with pytest.raises(TypeError, match=r"'colour'.*enable_metadata_routing"):
        selector().fit(X, Y, colour=1)


def test_weights_reach_the_last_step_of_an_inner_pipeline(recorder):
    inner = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), recorder))
    selector(inner).fit(X, Y, sample_weight=WEIGHTS)
    assert recorder.fits
    assert all(weights is not None and len(weights) == len(y) for _, y, weights in recorder.fits)


def test_rows_without_weight_do_not_count_in_scores():
    spoilt, target = np.vstack([X, X]), np.concatenate([Y, 1e6 * np.arange(len(Y))])
    weights = np.concatenate([np.ones(len(Y)), np.zeros(len(Y))])
    splits = [(np.arange(len(target)), np.arange(len(target)))]
    weighted = selector(cv=splits).fit(spoilt, target, sample_weight=weights)
    alone = selector(cv=[(np.arange(len(Y)), np.arange(len(Y)))]).fit(X, Y)
    assert weighted.best_score_ == pytest.approx(alone.best_score_)
    # A scorer that knows no weights is used without them.
    plain = selector(cv=splits, scoring=lambda fitted, data, y: fitted.score(data, y))
    assert plain.fit(spoilt, target, sample_weight=weights).best_score_ < 0.0


def weighted_error(truth, prediction, sample_weight=None):
    rows = [int(np.flatnonzero(value == Y)[0]) for value in truth]
    assert_array_equal(sample_weight, WEIGHTS[rows])
    return -mean_absolute_error(truth, prediction, sample_weight=sample_weight)


def test_metadata_is_routed_as_requested(recorder):
    groups = np.repeat(np.arange(6), 10)
    with config_context(enable_metadata_routing=True):
        routed = selector(
            recorder.set_fit_request(sample_weight=True),
            scoring=make_scorer(weighted_error).set_score_request(sample_weight=True),
            cv=GroupKFold(3).set_split_request(groups=True),
        )
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), routed)
        pipeline.fit(X, Y, sample_weight=WEIGHTS, groups=groups)
        assert list(routed.history_["failure"]) == [None] * 8
        assert_weights_are_of_their_rows(recorder.fits)
        with pytest.raises(ValueError, match=r"sample_weight.*not explicitly set"):
            selector().fit(X, Y, sample_weight=WEIGHTS)


# Data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [scipy.sparse.csr_matrix, scipy.sparse.csc_array, pd.DataFrame, np.asfortranarray, np.ndarray.tolist],
)
def test_containers_give_the_same_result(convert):
    data = np.where(np.abs(X) > 0.7, X, 0.0)
    expected, fitted = selector().fit(data, Y), selector().fit(convert(data), Y)
    assert subsets_of(fitted) == subsets_of(expected)
    assert_allclose(fitted.history_["mean_test_score"], expected.history_["mean_test_score"])
    assert_allclose(fitted.inclusion_probability_, expected.inclusion_probability_, atol=0.05)


@pytest.mark.slow
def test_large_sparse_data_fit_into_memory():
    data = scipy.sparse.random(1000, 3000, density=0.01, format="csr", random_state=0)
    target = data[:, :20].sum(axis=1) > 1.0
    tracemalloc.start()
    fitted = selector(RidgeClassifier(), n_features_to_select=10, budget=6).fit(data, np.ravel(target))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    chosen = fitted.transform(data)
    assert scipy.sparse.issparse(chosen)
    assert chosen.shape == (1000, 10)
    assert peak < 5e8


def test_frames_reach_the_estimator_untouched(recorder):
    frame = pd.DataFrame(
        {
            "number": X[:, 0],
            "small": X[:, 1].astype("float32"),
            "class": pd.Categorical(np.arange(60) % 3),
            "object": pd.Series(np.arange(60) % 2, dtype=object),
            "nullable": pd.array(np.arange(60), dtype="Int64"),
            "flag": Y > 0,
        }
    )
    selector(recorder).fit(frame, pd.Series(Y))
    for data, target, _ in recorder.fits:
        pd.testing.assert_frame_equal(data, frame.loc[target.index, list(data.columns)])
    assert set().union(*(data.columns for data, _, _ in recorder.fits)) == set(frame.columns)


def test_text_and_missing_values_are_the_estimators_business():
    frame = FRAME.assign(
        colour=np.where(X[:, 1] > 0, "red", "blue"), b=np.where(X[:, 1] > 1, np.nan, X[:, 1])
    )
    frame.loc[3, "colour"] = None
    encoded = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include="number")),
        remainder=make_pipeline(
            SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
        ),
    )
    fitted = selector(make_pipeline(encoded, Ridge()), fixed=["colour", "b"]).fit(frame, Y + (X[:, 1] > 0))
    assert list(fitted.history_["failure"]) == [None] * len(fitted.history_["failure"])
    assert fitted.transform(frame).shape == (60, 3)


def test_missing_values_in_arrays_are_imputed():
    data = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    fitted = selector(make_pipeline(SimpleImputer(), Ridge())).fit(data, Y)
    assert np.isnan(fitted.transform(data)).any()


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_columns_without_content_do_no_harm():
    data = np.column_stack([X[:, :4], X[:, 0], np.full(60, np.nan), np.ones(60)])
    fitted = selector(make_pipeline(SimpleImputer(), Ridge()), budget=20).fit(data, Y)
    assert fitted.best_score_ > 0.7
    assert fitted.support_[3]
    assert np.isfinite(fitted.expected_score_)


def silhouette(estimator, data, target=None):
    return silhouette_score(data, estimator.predict(data))


def test_unsupervised_scores_need_no_target():
    data = X.copy()
    data[:, [1, 4]] += 10.0 * (np.arange(60) % 2)[:, None]
    fitted = selector(
        KMeans(2, n_init=1, random_state=0), scoring=silhouette, n_features_to_select=2, budget=20
    )
    assert list(fitted.fit(data).get_support(indices=True)) == [1, 4]


@pytest.mark.parametrize(
    ("folds", "count"),
    [
        (ShuffleSplit(1, random_state=0), 1),
        (LeaveOneOut(), 60),
        ([(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))], 2),
    ],
)
def test_any_splitter_will_do(folds, count):
    fitted = selector(cv=folds, scoring="neg_mean_squared_error", budget=6).fit(X, Y)
    number = sum(key.startswith("split") for key in fitted.history_)
    assert number == count
    best = cross_val_score(Ridge(), fitted.transform(X), Y, cv=folds, scoring="neg_mean_squared_error").mean()
    assert_allclose(fitted.best_score_, best)


# What the arguments mean ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "sizes"), [(2, {2}), (None, {3}), (0.34, {2}), ((2, 4), {2, 3, 4}), (np.int64(4), {4})]
)
def test_as_many_features_as_asked_for(wanted, sizes):
    fitted = selector(n_features_to_select=wanted, budget=25).fit(X, Y)
    assert {len(subset) for subset in subsets_of(fitted)} == sizes
    assert fitted.n_features_to_select_ == fitted.support_.sum() in sizes


def test_fixed_features_count():
    fitted = selector(n_features_to_select=(1, 3), fixed=["a", "f"], budget=20).fit(FRAME, Y)
    assert {len(subset) for subset in subsets_of(fitted)} == {2, 3}
    assert all({"a", "f"} <= subset for subset in subsets_of(fitted))
    assert selector(n_features_to_select=None, fixed=[0, 1, 2, 3]).fit(X, Y).support_.sum() == 4
    with pytest.raises(ValueError, match="n_features_to_select=3, but 4 are fixed"):
        selector(fixed=[0, 1, 2, 3]).fit(X, Y)


@pytest.mark.parametrize(("wanted", "taken"), [(6, 6), (9, 6), ((5, 9), None)])
def test_more_features_than_there_are_is_warned_of(wanted, taken):
    with pytest.warns(UserWarning, match="there are 6 features to choose from"):
        fitted = selector(n_features_to_select=wanted).fit(X, Y)
    assert taken is None or fitted.support_.sum() == taken


@pytest.mark.parametrize("fixed", ["b", 1, ["b"], [1], np.array([1]), [False, True] + 4 * [False]])
def test_features_are_named_by_name_number_or_mask(fixed):
    seen = subsets_of(selector(fixed=fixed, forbidden=["f", 0]).fit(FRAME, Y))
    assert all("b" in subset and not {"a", "f"} & subset for subset in seen)


def test_groups_enter_together():
    fitted = selector(n_features_to_select=2, groups=[["a", "b"], ["d", "e"]], budget=20).fit(FRAME, Y)
    seen = subsets_of(fitted)
    assert len(set(seen)) == comb(4, 2) == len(seen)
    assert all(len({"a", "b"} & subset) != 1 and len({"d", "e"} & subset) != 1 for subset in seen)
    assert fitted.n_features_to_select_ == fitted.support_.sum()


def test_every_subset_is_scored_exactly_once(recorder):
    assert len(subsets_of(selector(budget=5).fit(X, Y))) == 5
    fitted = selector(recorder, budget=1000).fit(FRAME, Y)
    assert fitted.stopped_ == "exhausted"
    # Later fits estimate the optimism, and leave out features that seem essential.
    fits = [tuple(data.columns) for data, _, _ in recorder.fits[: 3 * comb(6, 3)]]
    assert fitted.report().to_dict()["result"]["extra_fits"] == len(recorder.fits) - len(fits) > 0
    assert {fits.count(subset) for subset in fits} == {3}


@pytest.mark.parametrize("budget", [1, 3])
def test_a_small_budget_is_enough_for_an_interval(budget):
    fitted = selector(budget=budget).fit(X, Y)
    low, high = fitted.score_interval_
    assert low <= fitted.best_score_
    assert high - low < 10 * np.ptp(fitted.history_["split0_test_score"]) + 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": 0}, "budget must be a positive whole number"),
        ({"estimator": 3}, "estimator must be an estimator with a method fit, got 3"),
        ({"budget": 2.5}, "budget"),
        ({"n_features_to_select": 0}, "n_features_to_select must be at least 1"),
        ({"n_features_to_select": 1.5}, "n_features_to_select must be a whole number"),
        ({"n_features_to_select": "all"}, "n_features_to_select must be a whole number"),
        ({"n_features_to_select": (3, 2)}, "n_features_to_select must be .* ascending"),
        ({"fixed": ["colour"]}, "fixed: there is no feature 'colour'; did you mean 'color'?"),
        ({"forbidden": [17]}, "forbidden: there is no feature 17: features are numbered 0 to 5"),
        ({"fixed": [True, False]}, r"fixed: a mask must have one entry per feature \(6\), got 2"),
        ({"fixed": 1.5}, "fixed must be a sequence of features, got 1.5"),
        ({"fixed": [["a", "b"], "c"]}, r"fixed: there is no feature \['a', 'b'\]"),
        ({"forbidden": range(6)}, "forbidden: no feature is left to choose"),
        ({"fixed": ["a"], "forbidden": ["a"]}, "both fixed and forbidden"),
        ({"groups": ["a", "b"]}, "groups must be a sequence of groups, got 'a'"),
        ({"groups": [0, 1]}, "groups must be a sequence of groups, got 0"),
        ({"groups": [["a", "z"]]}, "groups: there is no feature 'z'"),
        ({"groups": [["a", "b"], ["b", "c"]]}, "groups must not overlap"),
        ({"scoring": "acuracy"}, "no scorer .acuracy.; did you mean .accuracy."),
        ({"scoring": ["r2", "max_error"]}, "scoring must be one score"),
        ({"cv": []}, "cv gave no folds"),
        ({"cv": "five"}, "cv"),
        ({"random_state": "dice"}, "dice"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        selector(**arguments).fit(FRAME.rename(columns={"f": "color"}), Y)


# What goes wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [7.0, 8.0], ids=["raises", "scores NaN"])
def test_failed_subsets_are_told_and_avoided(value, monkeypatch):
    told, tell = [], Search.tell
    monkeypatch.setattr(
        Search, "tell", lambda *given, **more: (told.append(given[2]), tell(*given, **more))[1]
    )
    data = with_constants(value)
    with pytest.warns(
        UserWarning, match="subsets could not be scored; the first, .*: (Runtime|the score is)"
    ):
        fitted = selector(Fussy(), budget=20).fit(data, Y)
    failed = np.array([6 in subset for subset in subsets_of(fitted)])
    assert failed.any()
    assert_array_equal(failed, [failure is not None for failure in fitted.history_["failure"]])
    assert_array_equal(failed, np.isnan(fitted.history_["mean_test_score"]))
    assert np.isfinite(told).all()
    assert not fitted.support_[6]
    assert fitted.best_score_ == np.nanmax(fitted.history_["mean_test_score"])
    assert fitted.history_["rank_test_score"][failed].min() > (~failed).sum() - 1
    report = fitted.report().to_dict()
    assert report["result"]["failed"] == failed.sum()
    assert "could not be scored" in report["warnings"][0]


def test_nothing_but_failures_is_an_error_with_the_cause():
    with pytest.raises(
        SelectionError, match=r"none of the 8 subsets .*: RuntimeError: seven it shall not be"
    ):
        selector(Fussy(), fixed=[6]).fit(with_constants(7.0), Y)


@pytest.mark.parametrize(
    ("estimator", "rows", "target", "message"),
    [
        (LogisticRegression(), 60, np.zeros(60), "only one class"),
        (Ridge(), 60, np.full(60, np.nan), "Input y contains NaN"),
        (Ridge(), 2, Y, r"cv: .*n_splits=3.*; use fewer folds, or more rows"),
        (LogisticRegression(), 60, np.arange(60), "n_splits=3"),
        (Ridge(), 60, None, "requires y"),
        (Ridge(), 60, Y[:5], "inconsistent numbers of samples"),
    ],
)
def test_hopeless_data_are_told(estimator, rows, target, message):
    if target is not None and rows < 60:
        target = target[:rows]
    with pytest.raises(ValueError, match=message):
        selector(estimator).fit(X[:rows], target)


@pytest.mark.parametrize("data", [pd.Series(Y), Y, FRAME[[]], FRAME[:0], np.empty((60, 0))])
def test_data_without_columns_or_rows_are_refused(data):
    with pytest.raises(ValueError, match=r"2D|2-dimensional|0 sample\(s\)|0 feature\(s\)"):
        selector().fit(data, Y[: len(data)])


@pytest.mark.parametrize("fits", [3, 13, 45])
def test_interrupted_selector_is_fitted(fits):
    Interrupting.left = fits
    fitted = selector(Interrupting(), budget=100)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, Y)
    assert fitted.stopped_ == "interrupted"
    assert len(fitted.history_["features"]) == fits // 3
    assert fitted.transform(X).shape == (60, 3)
    low, high = fitted.score_interval_
    assert low <= fitted.best_score_
    assert fitted.report().to_dict()["result"]["stopped"] == "interrupted"
    assert high - low < 5.0


def test_interrupted_before_anything_was_scored():
    Interrupting.left = 1
    fitted = selector(Interrupting())
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, Y)
    assert not hasattr(fitted, "support_")


# Is it true? ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def usual():
    return selector(budget=20).fit(FRAME, Y)


def test_best_is_that_of_brute_force():
    scores = {triple: cross_val_score(Ridge(), X[:, sorted(triple)], Y, cv=3) for triple in ALL_TRIPLES}
    best = max(scores, key=lambda triple: scores[triple].mean())
    fitted = selector(budget=20).fit(X, Y)
    assert_allclose(max(fitted.history_["mean_test_score"]), scores[best].mean())
    assert frozenset(fitted.get_support(indices=True)) == best
    for number, triple in enumerate(subsets_of(fitted)):
        folds = [fitted.history_[f"split{fold}_test_score"][number] for fold in range(3)]
        assert_allclose(folds, scores[triple])


def test_scores_are_told_as_they_are(usual):
    history = usual.history_
    folds = np.column_stack([history[f"split{number}_test_score"] for number in range(3)])
    assert_allclose(history["mean_test_score"], folds.mean(axis=1))
    assert_allclose(history["std_test_score"], folds.std(axis=1))
    assert_array_equal(history["best_score"], np.maximum.accumulate(history["mean_test_score"]))
    assert usual.best_score_ in history["mean_test_score"]
    assert history["rank_test_score"][np.argmax(history["mean_test_score"])] == 1
    assert np.all(np.diff(history["seconds"]) >= 0.0)


def test_beliefs_are_sound(usual):
    low, high = usual.score_interval_
    assert low < high
    assert low <= usual.best_score_
    inclusion, worth = usual.inclusion_probability_, usual.importances_
    assert np.all((inclusion >= 0.0) & (inclusion <= 1.0))
    assert_allclose(inclusion.sum(), 3.0, atol=0.2)
    assert np.all(usual.importance_intervals_[:, 0] <= worth)
    assert np.all(usual.importance_intervals_[:, 1] >= worth)
    assert sorted(usual.ranking_) == [1, 2, 3, 4, 5, 6]
    assert np.all(np.diff(worth[np.argsort(usual.ranking_)]) <= 0.0)


def test_every_score_comes_with_its_own_noise(monkeypatch):
    told, tell = [], Search.tell
    monkeypatch.setattr(Search, "tell", lambda *given, **more: (told.append(given), tell(*given, **more))[1])
    selector().fit(X, Y)
    noises = [given[3] for given in told]
    assert len(set(noises)) == len(noises) == 8
    assert min(noises) > 0.0


# The report -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        ({}, FRAME),
        ({"n_features_to_select": (2, 4), "fixed": ["a", "b"], "budget": 30}, FRAME),
        ({"groups": [["a", "b"], ["c", "d"]], "n_features_to_select": 2}, FRAME),
        ({"budget": 1}, FRAME),
        ({"fixed": ["a", "b", "c"]}, FRAME),
        ({"scoring": silhouette, "estimator": KMeans(2, n_init=1, random_state=0)}, FRAME),
    ],
)
def test_report_is_whole(arguments, data, tmp_path):
    fitted = selector(**arguments).fit(data, Y)
    report = fitted.report()
    content = report.to_dict()
    assert set(content) == KEYS
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    names = [str(name) for name in fitted.get_feature_names_out(None if data is FRAME else np.arange(6))]
    assert content["result"]["features"] == names
    assert content["result"]["score"] == fitted.best_score_
    assert {feature["name"] for feature in content["features"] if feature["selected"]} == set(names)
    assert report._repr_html_()
    written = report.write(tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["result.json", "history.csv", "report.html"]
    assert json.loads(written[0].read_text()) == content
    table = pd.read_csv(written[1])
    assert_allclose(table["score"], fitted.history_["mean_test_score"])


def test_names_are_untrusted():
    name = "<img src=x onerror=alert(1)>"
    fitted = selector(fixed=[name]).fit(FRAME.rename(columns={"a": name}), Y)
    report = fitted.report()
    assert name in report.to_dict()["result"]["features"]
    assert name not in report.to_html()
    assert name not in report._repr_html_()


class Stubborn(ClassifierMixin, BaseEstimator):
    """Knows one answer."""

    def fit(self, data, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, data):
        return np.repeat(self.classes_[:1], len(data))


def test_scores_that_do_not_vary_are_no_trouble():
    fitted = selector(Stubborn(), budget=12).fit(X, CLASSES)
    low, high = fitted.score_interval_
    assert low - 1e-6 <= fitted.best_score_ <= high + 1e-6
    assert fitted.report().to_dict()["result"]["failed"] == 0


# What a stored run, held-out rows and weights must not get wrong ------------------------------------------


def test_a_run_is_not_shared_by_estimators_that_look_alike(tmp_path):
    def with_power(power):
        model = make_pipeline(FunctionTransformer(partial(np.power, power)), Ridge())
        return selector(model, storage=tmp_path / "run.db")

    with_power(1).fit(X, Y)
    with pytest.raises(StorageError, match="holds scores of other data, folds, estimator or scoring"):
        with_power(2).fit(X, Y)
    again = with_power(1).set_params(budget=10).fit(X, Y)
    assert len(again.history_["features"]) == 10
