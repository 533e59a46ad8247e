"""What the page shows, computed from events: every kind of problem, nothing but JSON."""

import json
import math

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

import dagsearch as ds
from dagsearch.forecasts import forecast, progress_of
from dagsearch.report.leaves import leaf_elements
from dagsearch.report.view import RunView, number
from dagsearch.sklearn import DAGSearchSelector
from dagsearch.storage.record import Observation, Record
from support.runs import events, record
from support.steps import Walk


def viewed(run, **now):
    return RunView(run.name, record(run)).view(**now)


WEIGHTS = np.random.default_rng(0).normal(size=16)


def weight(chosen):
    return float(WEIGHTS[sorted(chosen)].sum())


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture
def half_way(run):
    """30 of 50 evaluations, two pending, one failure."""
    search = ds.Search.default(ds.problems.Subsets(16, 4, reward=weight), seed=0, storage=run)
    for evaluation in search.steps(50):
        if evaluation.step == 30:
            break
    failed, *_ = search.ask(3)
    search.forget(failed, again=False, note={"failure": "ValueError: no\nmore"})
    search.close()
    return search


def test_the_view_says_what_the_search_knows(half_way, run):
    view = viewed(run)
    json.dumps(view, allow_nan=False)
    best = half_way.incumbent()
    assert view["best"] == best.reward
    assert view["best_leaf"] == [str(item) for item in sorted(best.leaf)]
    tiles = {name: (value, remark) for name, value, remark in view["tiles"]}
    assert tiles["Evaluations"] == ("30 of 50", "2 pending, 1 failed")
    assert tiles["Best so far"][1] == f"evaluation {best.step}"
    assert (view["evaluations"], view["budget"], view["left"]) == (30, 50, 50 - half_way.spent)
    assert [point["reward"] for point in view["history"]] == [one.reward for one in half_way.history]
    assert [point["best"] for point in view["history"]] == [one.best_reward for one in half_way.history]
    for point, one in zip(view["history"], half_way.history, strict=True):
        if one.predicted is None:
            assert point["predicted"] is None
        else:
            assert point["predicted"] == pytest.approx([one.predicted.mean, one.predicted.variance**0.5])
    assert view["left"] == 19  # the failure counts
    assert view["forecast"][-1]["mean"] == half_way.forecast(19).mean
    assert view["forecast"][-1]["step"] == 49
    assert (view["forecast"][-1]["n"], view["forecast"][-1]["chance"]) == (19, half_way.forecast(19).chance)
    assert len(view["pending"]) == view["pending_count"] == 2
    assert [one["text"] for one in view["failures"]] == ["ValueError: no\nmore"]
    assert view["sentence"].startswith(
        f"Best so far {best.reward:.4g} after 30 evaluations; the remaining 19"
    )


def test_pending_evaluations_have_an_age_and_the_process_that_asked(half_way, run):
    now = events(run)[-1].time + 100.0
    asked = [event.time for event in events(run, "ask")][-2:]
    view = viewed(run, now=now)
    assert [one["age"] for one in view["pending"]] == [now - at for at in asked]
    assert all(", process " in one["by"] for one in view["pending"])


def test_the_path_to_the_best_leaf_has_what_was_evaluated_instead(half_way, run):
    view = viewed(run)
    steps, told = view["path"], half_way.history
    assert sorted(step["label"] for step in steps) == sorted(view["best_leaf"])
    assert all(step["best"] == view["best"] for step in steps)
    before = set()
    for step in steps:
        below = [one for one in told if before <= set(one.leaf)]
        part = int(step["label"])
        assert step["count"] == sum(part in one.leaf for one in below)
        for other in step["others"]:
            assert other["label"] not in view["best_leaf"]
            own = [one.reward for one in below if part not in one.leaf and int(other["label"]) in one.leaf]
            assert (other["best"], other["count"]) == (max(own), len(own))
        before.add(part)


def test_what_is_minimised_is_shown_in_its_own_sign(run):
    def distance(choose):
        return abs(choose("x", range(50)) - 20) + choose("y", range(5))

    result = ds.minimize(distance, budget=25, seed=0, storage=run)
    view = viewed(run)
    assert view["minimized"]
    assert view["best"] == result.best_reward
    assert view["history"][0]["reward"] == result.history[0].reward
    assert view["best_leaf"] == [f"x={result.best_state['x']}", "y=0"]
    worth = {one["label"]: one["worth"] for one in view["effects"]}
    assert worth["y: 0"] > 0.0 > worth["y: 4"]  # having it is better, or worse
    of_result = RunView("result", Record.of_result(result)).view()
    assert of_result["best"] == view["best"]
    assert [point["reward"] for point in of_result["history"]] == [
        point["reward"] for point in view["history"]
    ]


def test_intervals_of_a_minimised_run_ascend_and_zero_has_no_sign(run):
    ds.minimize(lambda choose: choose("x", range(90)), 40, storage=run, callback=lambda one: one.step == 12)
    (text,) = (remark for *_, remark in viewed(run, running=True)["tiles"] if "interval" in (remark or ""))
    low, high = text.replace("−", "-").removeprefix("90 % interval ").split(" to ")
    assert float(low) < float(high)
    assert number(-0.0) == "0"


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (ds.problems.Orders(["a", "b", "<i>c"], reward=lambda order: order.index("a")), {"b", "<i>c"}),
        (ds.problems.Sequences("xy", 3, reward=lambda letters: letters.count("y")), {"x", "y"}),
    ],
)
def test_every_kind_of_problem_has_a_view(problem, expected, run):
    search = ds.Search.paper(problem, seed=0, storage=run)
    search.run(4)
    search.close()
    view = viewed(run)
    json.dumps(view, allow_nan=False)
    assert view["evaluations"] == 4
    assert view["best_leaf"][0] in expected


def test_forecasts_look_no_farther_than_they_were_measured(run):
    search = ds.Search.default(ds.problems.Subsets(16, 4, reward=sum), seed=0, storage=run)
    for evaluation in search.steps(500):
        if evaluation.step == 20:
            break
    search.close()
    view = viewed(run)
    assert "; the next 180 evaluations will improve it" in view["sentence"]
    assert view["forecast"][-1]["step"] == 200
    assert {1, 10, 100, 180} < {one["n"] for one in view["forecast"]}


def test_a_game_is_shown_by_its_value(run):
    search = ds.Search.default(ds.problems.TicTacToe(), seed=0, storage=run)
    result = search.run(30)
    search.close()
    for view in (viewed(run), result.report().to_dict()[0]):
        json.dumps(view, allow_nan=False)
        assert view["sentence"].startswith("Value for the first player ")
        assert view["forecast"] == view["path"] == []
        assert view["best_leaf"] is None
    assert view["best"] == pytest.approx(result.value.mean)


def test_a_run_that_failures_or_a_rule_have_ended_is_over(run, tmp_path):
    def fails_often(chosen):
        if sum(chosen) % 3 == 0:
            raise OSError("no licence")
        return sum(chosen)

    problem = ds.problems.Subsets(12, 3, reward=fails_often)
    ds.search(problem, 12, seed=0, storage=run, on_error="skip")
    view = viewed(run)
    assert view["failure_count"] > 0
    assert view["evaluations"] + view["failure_count"] == 12
    assert (view["state"], view["left"]) == ("ended", 0)
    assert view["failed"]

    ds.search(ds.problems.Subsets(12, 3, reward=sum), 60, seed=0, patience=5, storage=tmp_path / "two.db")
    assert viewed(tmp_path / "two.db")["state"] == "ended"
    ds.search(ds.problems.Subsets(4, 2, reward=sum), 60, seed=0, storage=tmp_path / "three.db")
    assert viewed(tmp_path / "three.db")["state"] == "ended"


def test_features_of_a_selection_have_their_names(run):
    X, y = load_wine(return_X_y=True, as_frame=True)
    selector = DAGSearchSelector(
        KNeighborsClassifier(), n_features_to_select=3, budget=8, random_state=0, storage=run
    ).fit(X, y)
    view = viewed(run)
    assert view["best_leaf"] == list(selector.get_feature_names_out())
    assert (view["budget"], view["state"]) == (8, "ended")


def test_of_very_many_evaluations_all_improvements_are_kept():
    known = Record()
    rewards = np.random.default_rng(0).normal(size=20_000)
    for reward in rewards:
        known.add_told(Observation("a", None, float(reward), 0.0, None))
    points = RunView("many", known).view()["history"]
    assert len(points) < 6000
    best = np.maximum.accumulate(rewards)
    steps = {point["step"] for point in points}
    assert {1 + int(place) for place in np.flatnonzero(np.diff(best) > 0.0) + 1} <= steps
    assert {1, 20_000} <= steps


@pytest.mark.parametrize(
    ("leaf", "form", "labels", "parts"),
    [
        ([3, 1], "set", None, [("", "3"), ("", "1")]),
        ([3, 1], None, None, [("1", "3"), ("2", "1")]),
        ([1, 0], "sequence", ["a", "b"], [("1", "b"), ("2", "a")]),
        ({"set": [2, 5]}, None, None, [("", "2"), ("", "5")]),
        ({"tuple": ["x", {"tuple": [1, 2]}]}, None, None, [("1", "x"), ("2", "(1, 2)")]),
        ([["depth", 3], ["model", "tree"]], None, None, [("depth", "3"), ("model", "tree")]),
        ({"board": "x", "turn": 1}, None, None, [("board", "x"), ("turn", "1")]),
        ("end", None, None, [("", "end")]),
        (7, None, None, [("", "7")]),
        ([["ratio", None], ["warm", True]], None, None, [("ratio", "None"), ("warm", "True")]),
        (["\udc80"], "set", None, [("", "?")]),
    ],
)
def test_parts_of_a_leaf(leaf, form, labels, parts):
    assert leaf_elements(leaf, form, labels) == parts


def test_costly_steps_have_the_same_page_from_a_result_and_from_the_journal(run):
    result = ds.search(Walk(), 40, seed=0, storage=run)
    (of_result,), of_journal = result.report().to_dict(), viewed(run)
    assert of_result["forecast"] == of_journal["forecast"] == []
    for what in ("best_leaf", "best_encoded", "effects", "path", "evaluations"):
        assert of_result[what] == of_journal[what], what
    assert [one["leaf"] for one in of_result["history"]] == [one["leaf"] for one in of_journal["history"]]
    assert of_result["path"][0]["label"].startswith("1: ")


def test_what_is_best_of_all_is_not_best_so_far(run):
    def total(choose):
        return choose("a", range(3)) + choose("b", range(3))

    result = ds.maximize(total, 50, seed=0, storage=run)
    for view in (result.report().to_dict()[0], viewed(run)):
        assert view["sentence"].startswith("Best 4 after")
        assert view["forecast"] == []
    assert ds.maximize(total, 9, seed=0).report().to_dict()[0]["sentence"].startswith("Best 4 after")
    assert ds.maximize(total, 8, seed=0).report().to_dict()[0]["sentence"].startswith("Best so far 4 after")


def noisy(choose):
    """Its largest reward is due to luck: the second option is better on average, and certainly so."""
    option = choose("option", range(4))
    noisy.calls += 1
    return 2.0 * (option == 1) + (6.0 if noisy.calls == 3 else 0.3 * math.sin(7.0 * noisy.calls))


@pytest.mark.parametrize("search", [ds.maximize, ds.minimize])
def test_a_noisy_run_shows_the_recommended_leaf_and_its_mean(run, search):
    noisy.calls, sign = 0, 1.0 if search is ds.maximize else -1.0
    result = search(lambda choose: sign * noisy(choose), 40, seed=0, noisy=True, storage=run)
    best = [one.reward for one in result.history if one.leaf == result.best_state]
    assert result.best_reward == pytest.approx(np.mean(best))
    assert max(sign * one.reward for one in result.history) > sign * result.best_reward + 1.0
    for view in (viewed(run), result.report().to_dict()[0]):
        assert view["noisy"]
        assert view["best"] == pytest.approx(result.best_reward)
        assert view["best_leaf"] == [f"option={result.best_state['option']}"]
        assert view["sentence"].startswith("Best mean so far")
        assert view["words"]["so far"] == "largest reward so far"


def test_a_few_very_bad_rewards_do_not_make_forecasts_absurd(run):
    """They once made +242 of errors, whose largest is 0."""

    def error(choose):
        x, y = choose("x", range(40)), choose("y", range(40))
        return -1000.0 if (x + y) % 7 == 0 else -((x - 20) ** 2) - (y - 10) ** 2

    search = ds.Search.default(ds.problems.FunctionProblem(error), seed=0, storage=run)
    for evaluation in search.steps(20):
        if evaluation.step > 5:
            ahead, rewards = search.forecast(100), [one.reward for one in search.history]
            assert evaluation.best_reward <= ahead.mean <= ahead.high
            assert ahead.high <= 4.0 * evaluation.best_reward - 3.0 * np.quantile(rewards, 0.25) + 1e-9
    told, beliefs = rewards, [one.predicted for one in search.history]
    assert forecast(progress_of(told, beliefs, largest=0.0), 100).high <= 0.0
    search.close()
