"""A result as a table and as a figure."""

import numpy as np
import pytest

import dagsearch as ds
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


# Plots -------------------------------------------------------------------------------------------------


def weighted(choose):
    return 10 * choose("large", range(5)) + choose("small", range(5)) + 0 * choose("nothing", range(5))


def drawn(result):
    from matplotlib import pyplot

    figure = result.plot()
    figure.canvas.draw()
    pyplot.close(figure)
    return figure.axes


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
def test_a_plot_has_rewards_and_importances(function):
    result = function(weighted, 40, seed=0)
    rewards, importance = drawn(result)
    assert rewards.lines[1].get_ydata().tolist() == [one.best_reward for one in result.history]
    ahead = rewards.lines[2].get_ydata()
    assert (np.diff(ahead) * (1 if function is ds.maximize else -1) >= 0).all()
    first = importance.get_yticklabels()[0].get_text()
    assert first == ("large: 4" if function is ds.maximize else "large: 0")
    assert importance.patches[0].get_width() == pytest.approx(10.0, rel=0.1)


def test_little_is_plotted_of_little():
    assert len(drawn(ds.maximize(weighted, 2, seed=0))) == 1
    nothing = ds.Search.default(ds.problems.Subsets(4, 2, reward=sum)).result()
    assert (list(nothing.to_frame().columns), len(nothing.to_frame())) == ([*HEAD, "leaf"], 0)
    with pytest.raises(ValueError, match="nothing was evaluated"):
        nothing.plot()


@pytest.mark.parametrize("problem", [Walk, WalkToTheEnd])
def test_costly_steps_are_plotted_by_their_path_and_without_a_forecast(problem):
    result = ds.search(problem(), 60, seed=0)
    rewards, _ = drawn(result)
    assert len(rewards.lines) == 2
    assert len(rewards.collections) == 0
    assert "decision 1" in result.to_frame().columns


@pytest.mark.parametrize("budget", [25, 100])
def test_nothing_is_forecast_when_every_leaf_was_evaluated(budget):
    result = ds.maximize(lambda choose: choose("a", range(5)) + choose("b", range(5)), budget, seed=0)
    assert result.probability_best == 1.0
    rewards = drawn(result)[0]
    assert len(rewards.lines) == 2
    assert rewards.get_title() == "Best so far"
