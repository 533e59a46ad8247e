"""A result as a table and as a figure."""

import sys
from itertools import pairwise

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.report.plots import importances, slice_of
from support.steps import Walk, WalkToTheEnd

pytest.importorskip("matplotlib").use("Agg")
HEAD = ["step", "reward", "best_reward", "seconds", "known"]


def area(choose):
    shape = choose("shape", ["square", "rectangle"])
    width = choose("width", range(1, 6))
    return width * (choose("height", range(1, 4)) if shape == "rectangle" else width)


def test_a_column_for_every_choice():
    result = ds.maximize(area, 15, seed=0, known=[({"shape": "square", "width": 5}, 25.0)])
    frame = result.to_frame()
    assert list(frame.columns) == [*HEAD, "shape", "width", "height", "leaf"]
    assert frame.known.tolist() == [True] + [False] * 15
    squares = frame[frame["shape"] == "square"]
    assert (squares.reward == squares.width**2).all()
    assert squares.height.isna().all()
    others = frame[frame["shape"] == "rectangle"]
    assert (others.reward == others.width * others.height).all()
    assert frame.reward.max() == frame.best_reward.iloc[-1] == result.best_reward


def with_none(choose):
    if choose("cut", [False, True]):
        ratio = choose("ratio", [None, 2, 10])
        return (0 if ratio is None else ratio) + 0.1 * choose("depth", range(5))
    return choose("depth", range(5))


def test_a_chosen_none_is_not_a_choice_that_was_not_made():
    result = ds.maximize(with_none, 20, seed=0)
    frame = result.to_frame()
    made = frame[frame.cut]["ratio"]
    assert {None, 2, 10} == set(made)
    assert all(value is None or isinstance(value, int) for value in made)
    left_out = frame[~frame.cut]["ratio"]
    assert len(left_out) == 5
    assert all(isinstance(value, float) and np.isnan(value) for value in left_out)
    assert all(row["ratio"] is None for row in result.to_dicts() if not row["cut"])
    assert slice_of(result, ("ratio", "depth")).values[0] == [2, 10, None]
    assert np.isfinite(slice_of(result, ("ratio", "depth")).best[2]).all()


def test_a_column_for_every_item():
    names = ["ash", "birch", "cedar", "oak"]
    frame = ds.search(ds.problems.Subsets(names, 2, reward=lambda s: float("oak" in s)), 6, seed=0).to_frame()
    assert list(frame.columns) == [*HEAD, *names, "leaf"]
    assert (frame[names].sum(axis=1) == 2).all()
    assert (frame.reward == frame.oak).all()


def test_a_column_for_every_position_and_decision():
    orders = ds.search(ds.problems.Orders("abc", reward=lambda o: float(o[0] == "c")), 6, seed=0).to_frame()
    assert list(orders.columns) == [*HEAD, "position 1", "position 2", "position 3", "leaf"]
    assert (orders.reward == (orders["position 1"] == "c")).all()

    class Sum:
        def root(self):
            return "0/0"

        def actions(self, state):
            return [1, 2, 3] if not state.endswith("3") else []

        def step(self, state, action):
            total, count = state.split("/")
            return f"{int(total) + action}/{int(count) + 1}"

        def reward(self, leaf):
            return float(leaf.split("/")[0])

    sums = ds.search(Sum(), 5, seed=0).to_frame()
    assert list(sums.columns) == [*HEAD, "decision 1", "decision 2", "decision 3", "leaf"]
    assert (sums.reward == sums.filter(like="decision").sum(axis=1)).all()


def test_a_choice_that_is_named_as_a_column_is_kept_apart():
    rows = ds.maximize(
        lambda choose: choose("reward", [1, 2]) + 10 * choose("leaf", [1, 2]), 4, seed=0
    ).to_dicts()
    assert list(rows[0]) == [*HEAD, "reward of the leaf", "leaf of the leaf", "leaf"]
    assert all(row["reward"] == row["reward of the leaf"] + 10 * row["leaf of the leaf"] for row in rows)


def test_a_result_without_evaluations_has_an_empty_frame():
    frame = ds.Search.default(ds.problems.Subsets(4, 2, reward=sum)).result().to_frame()
    assert (list(frame.columns), len(frame)) == ([*HEAD, "leaf"], 0)


# Plots -------------------------------------------------------------------------------------------------


def weighted(choose):
    return 10 * choose("large", range(5)) + choose("small", range(5)) + 0 * choose("nothing", range(5))


def test_choices_are_ordered_by_what_they_explain():
    result = ds.maximize(weighted, 60, seed=0)
    found = dict(importances(result))
    assert list(found) == ["large", "small", "nothing"]
    spread = np.std([10 * one.leaf["large"] for one in result.history])
    assert found["large"] == pytest.approx(spread, rel=0.1)
    assert found["nothing"] < 0.1 * found["large"]


def test_a_slice_holds_the_best_reward_of_each_combination():
    for function in (ds.maximize, ds.minimize):
        result = function(weighted, 60, seed=0)
        found = slice_of(result, ("large", "small"))
        best = min if function is ds.minimize else max
        for i, large in enumerate(found.values[0]):
            for j, small in enumerate(found.values[1]):
                own = [
                    e.reward for e in result.history if (e.leaf["large"], e.leaf["small"]) == (large, small)
                ]
                assert np.isnan(found.best[i, j]) if not own else found.best[i, j] == best(own)


def test_a_slice_is_of_choices_that_leaves_have_together():
    def depends(choose):
        if choose("kind", ["a", "b"]) == "a":
            return choose("x", range(9)) + 0.1 * choose("y", range(3))
        return choose("z", range(9))

    *_, two = drawn(ds.maximize(depends, 60, seed=0))
    assert {two.get_ylabel(), two.get_xlabel()} < {"kind", "x", "y", "z"}
    assert {two.get_ylabel(), two.get_xlabel()} != {"x", "z"}
    assert "None" not in [label.get_text() for label in (*two.get_yticklabels(), *two.get_xticklabels())]


def drawn(result):
    from matplotlib import pyplot

    figure = result.plot()
    figure.canvas.draw()
    pyplot.close(figure)
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def test_a_figure_is_saved_in_one_line_and_shown_once(tmp_path, monkeypatch):
    from matplotlib import pyplot

    pyplot.close("all")
    result = ds.maximize(weighted, 20, seed=0)
    result.plot().savefig(tmp_path / "search.png")
    assert (tmp_path / "search.png").read_bytes().startswith(b"\x89PNG")
    assert len(pyplot.get_fignums()) == 1  # pyplot.show() shows it
    pyplot.close("all")
    monkeypatch.setattr(pyplot, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    result.plot()
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("function", [ds.maximize, ds.minimize])
def test_a_plot_has_rewards_importances_and_a_slice(function):
    result = function(weighted, 40, seed=0)
    rewards, importance, two = drawn(result)
    assert rewards.lines[1].get_ydata().tolist() == [one.best_reward for one in result.history]
    ahead = rewards.lines[2].get_ydata()
    assert (np.diff(ahead) * (1 if function is ds.maximize else -1) >= 0).all()
    assert [text.get_text() for text in importance.get_yticklabels()] == [
        name for name, _ in importances(result)
    ]
    assert (two.get_ylabel(), two.get_xlabel()) == ("large", "small")


@pytest.mark.parametrize(
    ("problem", "panels"),
    [
        (ds.problems.Subsets(12, 3, reward=sum), 3),
        (ds.problems.Orders("abcd", reward=lambda order: float(order.index("a"))), 3),
        (ds.problems.Choices({"a": range(30)}, reward=lambda chosen: chosen["a"]), 2),
        (ds.problems.Choices({"a": range(30)}, reward=lambda chosen: 1.0), 1),
        (ds.problems.Choices({"a": [1, "b", None, (2, 3)], "b": range(60)}, reward=lambda c: c["b"]), 3),
    ],
)
def test_every_kind_of_leaf_can_be_plotted(problem, panels):
    assert len(drawn(ds.search(problem, 20, seed=0))) == panels


def test_little_is_plotted_of_little():
    assert len(drawn(ds.maximize(weighted, 2, seed=0))) == 1
    with pytest.raises(ValueError, match="nothing was evaluated"):
        ds.Search.default(ds.problems.Subsets(4, 2, reward=sum)).result().plot()


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"dagsearch\[plot\]"):
        ds.maximize(weighted, 2, seed=0).plot()


@pytest.mark.parametrize("problem", [Walk, WalkToTheEnd])
def test_costly_steps_are_plotted_by_their_path_and_without_a_forecast(problem):
    result = ds.search(problem(), 60, seed=0)
    rewards, _, two = drawn(result)
    assert len(rewards.lines) == 2
    assert len(rewards.collections) == 0
    assert {two.get_ylabel(), two.get_xlabel()} < {f"decision {place}" for place in range(1, 61)}
    assert "decision 1" in result.to_frame().columns


@pytest.mark.parametrize("budget", [25, 100])
def test_nothing_is_forecast_when_every_leaf_was_evaluated(budget):
    result = ds.maximize(lambda choose: choose("a", range(5)) + choose("b", range(5)), budget, seed=0)
    assert result.probability_best == 1.0
    rewards = drawn(result)[0]
    assert len(rewards.lines) == 2
    assert rewards.get_title() == "Best so far"


@pytest.mark.parametrize("form", ["{}", "{:03}", "automatic choice of the kind number {}"])
def test_labels_of_values_do_not_overlap_and_differ(form):
    values = [form.format(place) for place in range(25)]
    choices = {"the colour of the paint": values, "the temperature of the oven": values}
    problem = ds.problems.Choices(choices, reward=lambda leaf: float(sum(map(values.index, leaf.values()))))
    known = [(dict.fromkeys(choices, value), float(place)) for place, value in enumerate(values)]
    *_, two = drawn(ds.search(problem, 20, seed=0, known=known))
    for labels, along in ((two.get_xticklabels(), "x"), (two.get_yticklabels(), "y")):
        assert len({label.get_text() for label in labels}) == len(labels) == 25
        boxes = sorted([getattr(label.get_window_extent(), f"interval{along}") for label in labels], key=min)
        assert all(max(first) <= min(second) for first, second in pairwise(boxes))
