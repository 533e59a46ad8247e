"""Feature selection that can be trusted: what comes first, how the choice is made, and how sure it is."""

import math

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from dagsearch.covariances import Relevance, SetKernel
from dagsearch.problems import Subsets
from dagsearch.selection.arguments import plan_of
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import (
    is_better,
    optimism_of_choice,
    optimism_of_ranking,
    score_deviation,
    simpler_than,
    standard_error,
)
from dagsearch.selection.rankings import ranked, suggestions
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import Scored, SubsetScorer, heldout_interval, score_bounds, score_interval
from dagsearch.sklearn import DAGSearchSelector
from experiments.truth import causes as causes_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 12))
Y = X[:, 0] + 2 * X[:, 3] + X[:, 5] + 0.5 * RNG.normal(size=80)


def selector(estimator=None, **arguments):
    defaults = {"n_features_to_select": 3, "budget": 12, "cv": 3, "random_state": 0}
    return DAGSearchSelector(Ridge() if estimator is None else estimator, **defaults | arguments)


def subsets_of(fitted):
    return [frozenset(features) for features in fitted.history_["features"]]


def needles(rows, columns, seed=0):
    """Three columns decide."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(rows, columns))
    return data, (data[:, [3, 50, 170]].sum(axis=1) + 0.5 * rng.normal(size=rows) > 0.0).astype(int)


# One look at the table -------------------------------------------------------------------------------


def test_text_gaps_and_constants_are_looked_at_without_a_warning():
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["text"] = np.where(Y > 0, "yes", "no")
    frame["same"] = 1.0
    frame.loc[::3, "b"] = np.nan
    seen = ranked(frame, Y > 0, True)
    assert seen.argmax() == 4
    assert seen[5] == 0.0


def test_without_a_target_there_is_nothing_to_look_for():
    assert ranked(X, None, False) is None
    assert ranked(X, np.zeros(80), False) is None


def test_the_first_subset_is_what_a_test_of_each_column_would_choose():
    chosen = SelectKBest(f_regression, k=3).fit(X, Y).get_support(indices=True)
    assert subsets_of(selector().fit(X, Y))[0] == frozenset(chosen)


@pytest.mark.parametrize(
    "problem",
    [
        ColumnSubsets(12, 4, 4, [[0, 2], [4], [5, 6], [7], [8], [9], [10], [11]], [[1]]),
        ColumnSubsets(12, 1, 9, [[column] for column in range(1, 12)]),
        ColumnSubsets(12, 3, 12, [[column] for column in range(12) if column not in (7, 8)], [[7], [8]]),
        ColumnSubsets(12, 12, 12, [[column] for column in range(12)]),
    ],
)
def test_first_subsets_can_be_chosen_and_differ(problem):
    found = suggestions(ranked(X, Y, False), problem)
    assert len(found) == len(set(found)) >= 1
    for subset in found:
        problem.problem.path_to(subset)  # raises otherwise


def test_a_small_budget_leaves_room_for_the_search():
    fitted = selector(n_features_to_select="auto", budget=7)
    assert len(plan_of(fitted, X, Y, {}).first) == 2  # not one of each of four sizes


def test_the_search_is_not_worse_than_a_ranking_in_a_wide_table():
    data, target = needles(150, 200)
    fitted = selector(LogisticRegression(), budget=15, n_features_to_select=4).fit(data, target)
    ranked = SelectKBest(k=4).fit(data, target).get_support()
    score = cross_val_score(LogisticRegression(), data[:, ranked], target, cv=3).mean()
    assert fitted.best_score_ >= score
    assert fitted.support_[[3, 50, 170]].all()


def test_very_wide_tables_are_searched_where_they_tell_something():
    data, target = needles(120, 1300)
    fitted = selector(LogisticRegression(), budget=12, n_features_to_select=3).fit(data, target)
    assert fitted.support_[[3, 50, 170]].sum() >= 2
    assert any("only the 1,000 most relevant of 1,300 features" in note for note in fitted.notes_)
    assert fitted.inclusion_probability_.shape == (1300,)


def test_columns_that_are_multiples_of_each_other_are_no_trouble():
    base = RNG.normal(size=(60, 1))
    data = base @ np.arange(1.0, 9.0)[None] + 1e-9 * RNG.normal(size=(60, 8))
    fitted = selector(budget=15).fit(data, base[:, 0])
    assert fitted.best_score_ > 0.9


# Relevance in the covariance --------------------------------------------------------------------------


def test_relevance_has_the_gradient_of_its_matrix():
    kernel = SetKernel(Relevance(RNG.random(12), np.corrcoef(X.T) ** 2)).bind(Subsets(12, 3, sum))
    rows = kernel.represent([frozenset({0, 1, 2}), frozenset({0, 1, 5}), frozenset({7, 8, 9})])
    weights = RNG.normal(size=(3, 3))
    weights += weights.T
    logs = np.log([parameter.value for parameter in kernel.hyperparameters])
    _, gradient = kernel.value_and_gradient(rows)

    def value(at):
        return float(np.vdot(weights, kernel.with_values(np.exp(at)).value_and_gradient(rows)[0]))

    steps = 1e-5 * np.eye(len(logs))
    wanted = [(value(logs + step) - value(logs - step)) / 2e-5 for step in steps]
    assert_allclose(gradient(weights), wanted, rtol=1e-4, atol=1e-7)


def test_subsets_of_irrelevant_items_are_nearly_one():
    kernel = SetKernel(Relevance([1.0, 1.0, 0.0, 0.0], flat=0.01)).bind(Subsets(4, 2, sum))
    relevant, other = frozenset({0, 2}), frozenset({0, 3})
    apart = kernel([relevant, frozenset({1, 2}), other])
    assert apart[0, 2] > apart[0, 1]


@pytest.mark.parametrize("relevance", [[0.5, 2.0], [-0.1, 0.5], [[0.5]], [np.nan, 0.1]])
def test_relevance_is_a_share(relevance):
    with pytest.raises(ValueError, match="relevance must be numbers from 0 to 1"):
        Relevance(relevance)


# The choice -------------------------------------------------------------------------------------------


def test_the_standard_error_allows_for_training_sets_that_overlap():
    scores = np.array([0.8, 0.9, 0.7, 0.8, 0.8])
    assert_allclose(standard_error(scores), math.sqrt((1 / 5 + 1 / 4) * scores.var(ddof=1)))
    assert standard_error(scores[:1]) == 0.0


def test_simpler_is_what_has_fewest_features_within_one_standard_error():
    folds = np.array([0.9, 0.8, 0.85, 0.9])

    def scored(columns, scores):
        return Scored(columns, scores, 0.0, None)

    chosen = scored((1, 2, 3), folds)
    close = scored((1, 2), folds - np.array([0.0, 0.02, -0.01, 0.0]))
    closer = scored((1, 4), folds)
    far = scored((1,), folds - 0.3)
    found = simpler_than(chosen, [chosen, close, far, closer])
    assert found is closer


def test_the_best_mean_score_is_chosen():
    fitted = selector(budget=30).fit(X, Y)
    best = fitted.history_["features"][fitted.history_["mean_test_score"].argmax()]
    assert tuple(np.flatnonzero(fitted.support_)) == best


# Importance ---------------------------------------------------------------------------------------------


def test_noise_that_was_only_scored_together_with_the_causes_is_not_essential():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(120, 400))
    target = 2.0 * data[:, 7] + data[:, 11] + rng.normal(size=120)
    settings = {"n_features_to_select": 6, "budget": 25, "cv": 3, "random_state": 0}
    fitted = DAGSearchSelector(Ridge(), **settings).fit(data, target)

    def essential():
        return {one["name"] for one in fitted.report().to_dict()["features"] if one["essential"]}

    assert essential() == {"7", "11"}
    fitted._run.without.clear()  # as after Ctrl-C: where no score is known, the model answers
    assert essential() == {"7", "11", "326"}


@pytest.mark.parametrize(("name", "seed"), [("a leak", 0), ("two of ten", 1), ("twins", 1)])
def test_causes_come_first(name, seed):
    fitted, causes = causes_of.fitted(name, seed)
    assert set(np.argsort(fitted.ranking_)[: len(causes)]) == causes
    assert fitted.inclusion_probability_[list(causes)].min() > 0.95
    content = fitted.report().to_dict()
    essential = {feature["name"] for feature in content["features"] if feature["essential"]}
    assert essential == {str(cause) for cause in causes}
    assert "essential" in content["headline"]
    assert [feature["name"] for feature in content["features"]] == [
        str(i) for i in np.argsort(fitted.ranking_)
    ]


def test_fixed_and_forbidden_features_are_known_all_the_same():
    fitted = selector(budget=8, fixed=[1], forbidden=[2]).fit(X, Y)
    assert fitted.inclusion_probability_[1] == 1.0
    assert fitted.inclusion_probability_[2] == 0.0


@pytest.mark.parametrize(
    ("scoring", "estimator", "bounds"),
    [
        (None, LogisticRegression(), (0.0, 1.0)),
        (None, Ridge(), (-math.inf, 1.0)),
        ("f1", LogisticRegression(), (0.0, 1.0)),
        ("roc_auc", LogisticRegression(), (0.0, 1.0)),
        ("r2", Ridge(), (-math.inf, 1.0)),
        ("neg_log_loss", LogisticRegression(), (-math.inf, 0.0)),
        ("matthews_corrcoef", LogisticRegression(), (-1.0, 1.0)),
        (lambda estimator, data, target: 7.0, Ridge(), (-math.inf, math.inf)),
    ],
)
def test_scores_have_bounds(scoring, estimator, bounds):
    assert score_bounds(check_scoring(estimator, scoring=scoring), estimator) == bounds


def test_intervals_stay_in_bounds_and_have_one_centre():
    data, target = load_wine(return_X_y=True)
    fitted = selector(LogisticRegression(max_iter=2000), budget=20).fit(data, target == 0)
    low, high = fitted.score_interval_
    assert 0.0 <= low < fitted.expected_score_ <= high <= 1.0
    assert fitted.expected_score_ == pytest.approx(fitted.best_score_ - fitted.optimism_)
    content = fitted.report().to_dict()["result"]
    assert content["score_interval"] == [low, high]


# The score on new rows ----------------------------------------------------------------------------------


def test_folds_that_agree_by_accident_leave_the_interval_wide():
    perfect = np.ones(5)
    deviation = score_deviation(perfect, perfect[:0], 100, (0.0, 1.0))
    assert deviation == pytest.approx(math.sqrt(0.5 / 101 * (1 - 0.5 / 101) / 100), rel=1e-6)
    low, high = score_interval(1.0, deviation, (0.0, 1.0))
    assert low < 0.99
    assert high == 1.0
    assert score_deviation(perfect, perfect[:0], 100, (-math.inf, 1.0)) == pytest.approx(
        0.01 * math.sqrt(0.02)
    )
    # Other subsets tell how much folds usually differ.
    others = 0.9 + 0.05 * np.random.default_rng(0).normal(size=(40, 5))
    assert score_deviation(np.full(5, 0.9), others, 10**6, (0.0, 1.0)) > 0.01


def test_evidence_against_no_features_adds_up():
    weak = (0.60, 0.49, 0.50)  # the lower end is not above the score of no features
    assert is_better([weak]) is False
    assert is_better([weak, weak]) is True
    assert is_better([]) is None


def test_the_best_of_many_equal_subsets_is_too_high_by_what_it_is_ahead():
    draws = np.random.default_rng(0).normal(size=(50, 200, 5))
    wanted = np.mean([scores.mean(axis=1).max() for scores in draws])
    assert np.mean([optimism_of_choice(scores) for scores in draws]) == pytest.approx(wanted, rel=0.15)
    assert optimism_of_choice(np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.1]])) == 0.0


def test_the_ranking_is_repeated_without_the_rows_that_judge():
    """Its suggestion of about the chosen size; the same again needs no fit."""
    splits = list(KFold(40).split(X))
    score = SubsetScorer(
        Ridge(), check_scoring(Ridge(), scoring="neg_mean_squared_error"), X, Y, splits, {}, {}
    )
    asked = []

    def suggest(rows):
        asked.append(rows)
        return [(7,), (0, 3, 5) if len(rows) == 80 else (1, 2)]

    scored = {one: score(one).scores for one in [(0, 3, 5), (7,)]}
    found = optimism_of_ranking(score, suggest, scored, 2, None)
    assert found.fits == len(asked) - 1 == 40
    worse = scored[0, 3, 5] - score((1, 2)).scores
    assert_allclose(found.losses, worse)
    assert found.optimism == pytest.approx(worse.mean())
    assert optimism_of_ranking(score, suggest, scored, 1, None) == ([0.0] * 40, 0)


def test_the_estimate_is_not_paid_for_twice(tmp_path):
    first = selector(storage=tmp_path / "run.db", budget=30, cv=5).fit(X, Y)
    assert 0 < first._run.repeated.fits <= 5 * 4
    again = selector(storage=tmp_path / "run.db", budget=30, cv=5)
    again.fit(X, Y)
    assert again._run.repeated == first._run.repeated
    assert again.score_interval_ == first.score_interval_


@pytest.mark.parametrize("cv", [2, [(np.arange(40), np.arange(40, 80))]])
def test_with_few_folds_the_optimism_is_unknown(cv):
    fitted = selector(cv=cv, budget=20).fit(X, Y)
    assert fitted.optimism_ is None
    assert fitted.expected_score_ == fitted.best_score_
    low, high = fitted.score_interval_
    assert low < fitted.best_score_ < high <= 1.0


def test_the_number_of_features_may_be_left_open():
    fitted = selector(n_features_to_select="auto", budget=40).fit(X, Y)
    sizes = {len(features) for features in fitted.history_["features"]}
    assert min(sizes) == 1
    assert max(sizes) == 12
    wide = np.hstack([X, RNG.normal(size=(80, 30))])
    fitted = selector(n_features_to_select="auto", budget=30, fixed=[1]).fit(wide, Y)
    assert max(len(features) for features in fitted.history_["features"]) == 20
    assert fitted.support_[1]


def test_accuracy_does_not_say_that_nothing_predicts_a_rare_class():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(400, 4))
    rare = data[:, 0] + data[:, 1] + rng.normal(size=400) > 3.3
    fitted = DAGSearchSelector(LogisticRegression(), n_features_to_select=2, budget=6)
    for scoring, signal in ((None, None), ("balanced_accuracy", None), ("roc_auc", True)):
        fitted.set_params(scoring=scoring).fit(data, rare)
        content = fitted.report().to_dict()
        assert content["result"]["signal"] is signal
        assert ("shows no advantage over no features" in content["headline"]) == (signal is None)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_columns_of_noise_claim_no_signal_however_many_there_are(seed):
    """The default number of features, in balanced classes; the truth is 0.5."""
    rng = np.random.default_rng(seed)
    data, target = rng.normal(size=(45, 1500)), rng.permutation(np.arange(45) % 2)
    settings = {"n_features_to_select": "auto", "budget": 12, "cv": 5}
    fitted = selector(LogisticRegression(), **settings).fit(data, target)
    assert fitted.report().to_dict()["result"]["signal"] is False
    assert fitted.score_interval_[0] < 0.5
    assert fitted.baseline_score_ == pytest.approx(23 / 45)  # not below chance, as that of the other rows


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.35])
def test_tables_without_signal_are_told_and_those_with_little_are_not_overstated(strength):
    """Twenty tables; each way of asking: one column, or any number."""
    told, found, certain = 0, 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = rng.normal(size=(150, 6))
        target = strength * data[:, 0] * 2.0 + rng.normal(size=150)
        size = 1 if seed % 2 else "auto"
        fitted = selector(n_features_to_select=size, budget=30, cv=5).fit(data, target)
        content = fitted.report().to_dict()
        nothing = "nothing here predicts the target better than no features" in content["headline"]
        assert nothing == (content["result"]["signal"] is False)
        told += nothing
        found += bool(fitted.support_[0])
        known = [feature for feature in content["features"] if (feature["inclusion"] or 0.0) >= 0.9]
        certain += any(feature["name"] != "0" for feature in known)
        assert "certain" not in content["headline"] or not nothing
    assert certain <= 1
    if strength:
        assert found >= 18
        assert told <= 4
    else:
        assert told >= 18


# Held-out rows ------------------------------------------------------------------------------------------


def test_a_perfect_score_on_a_few_rows_is_not_certain():
    data = np.arange(20.0)[:, None]
    model = LogisticRegression(C=1e6).fit(data, data[:, 0] > 9)
    scorer = check_scoring(model)
    assert scorer(model, data, data[:, 0] > 9) == 1.0
    low, high = heldout_interval(scorer, model, data, data[:, 0] > 9, 1.0)
    assert 0.8 < low < 1.0
    assert high == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "r2"])
def test_intervals_of_held_out_scores_cover(scoring):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20_000, 2))
    value = data[:, 0] + rng.normal(size=20_000)
    model, target = (Ridge(), value) if scoring == "r2" else (LogisticRegression(), value > 0.0)
    fitted, scorer = model.fit(data[:500], target[:500]), check_scoring(model, scoring=scoring)
    truth = scorer(fitted, data[500:], target[500:])
    covered = 0
    for start in range(500, 3500, 100):
        part = slice(start, start + 100)
        score = scorer(fitted, data[part], target[part])
        low, high = heldout_interval(scorer, fitted, data[part], target[part], score)
        covered += low <= truth <= high
    assert covered >= 23  # of 30; 27 are expected


# Resuming -----------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


def test_a_selection_killed_before_its_first_event_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.db"
    with monkeypatch.context() as patch:
        patch.setattr(SelectionRun, "__init__", lambda *given: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            selector(storage=path).fit(X, Y)
    fitted = selector(storage=path).fit(X, Y)
    assert subsets_of(fitted) == subsets_of(selector().fit(X, Y))
    selector(storage=path).fit(X, Y)


def killed_after(monkeypatch, tells):
    left, take = [tells], SelectionRun.take

    def taking(*given):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return take(*given)

    monkeypatch.setattr(SelectionRun, "take", taking)


@pytest.mark.parametrize("tells", [3, 8])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_selection_goes_on_as_if_nothing_had_been(tmp_path, monkeypatch, tells, jobs):
    arguments = {"n_jobs": jobs, "n_features_to_select": 3}
    with joblib.parallel_config(backend="threading"):
        wanted = subsets_of(selector(**arguments).fit(X, Y))
        with monkeypatch.context() as patch:
            killed_after(patch, tells)
            with pytest.raises(Killed):
                selector(storage=tmp_path / "run.db", **arguments).fit(X, Y)
        fitted = selector(storage=tmp_path / "run.db", **arguments).fit(X, Y)
    assert subsets_of(fitted) == wanted


def test_of_equal_scores_the_smallest_subset_is_chosen():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([y, rng.normal(size=(60, 3))])  # the first column says it all
    fitted = DAGSearchSelector(
        DecisionTreeClassifier(random_state=0), n_features_to_select=(1, 4), budget=15, random_state=0
    ).fit(X, y)
    assert fitted.get_support(indices=True).tolist() == [0]
