"""Arguments and rewards that newcomers get wrong: one line that names the argument, and no lost reward."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dagsearch as ds
from dagsearch._internal.texts import shown
from dagsearch.errors import EvaluationError, RewardError
from support.problems import Sum
from support.runs import events

HUGE = 10**400  # too large for a float
ENDLESS = 10**5000  # has more digits than Python converts to text

WRONG = [
    ("seed", "x"),
    ("seed", -1),
    ("progress", "foo"),
    ("progress", None),
    ("storage", 3),
    ("noisy", "yes"),
    ("deterministic", "no"),
    ("target", HUGE),
    ("target", Decimal("nan")),
    ("patience", 0),
    ("seconds", HUGE),
    ("seconds", -1.0),
    ("tolerance", -HUGE),
    ("tolerance", float("nan")),
    ("on_error", HUGE),
    ("on_error", "ignore"),
    ("timeout", HUGE),
    ("budget", ENDLESS),
    ("budget", "10"),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: shown(value)[:16])
def test_an_argument_that_makes_no_sense_is_named_in_one_line(name, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = {"budget": 5, "storage": "run.db", "seed": 0, name: value}
    with pytest.raises(ValueError if name != "storage" else ds.StorageError, match=name) as caught:
        ds.search(Sum(), **arguments)
    assert re.fullmatch(r".{10,300}", str(caught.value))


@pytest.mark.parametrize("optimize", [ds.maximize, ds.minimize])
@pytest.mark.parametrize(
    ("name", "value"), [("on_error", None), ("on_error", HUGE), ("target", "a"), ("target", Decimal("nan"))]
)
def test_a_function_is_searched_with_the_same_checks(optimize, name, value):
    with pytest.raises(ValueError, match=f"^{name} must be") as caught:
        optimize(lambda choose: choose("x", range(3)), 5, seed=0, **{name: value})
    with pytest.raises(ValueError, match=f"^{name} must be") as of_search:
        ds.search(Sum(), 5, seed=0, **{name: value})
    assert str(caught.value) == str(of_search.value)


@pytest.mark.parametrize(
    ("name", "value"), [("seed", "x"), ("noisy", "yes"), ("storage", 3), ("initial", "x"), ("initial", -1)]
)
def test_the_constructor_names_them_too(name, value):
    with pytest.raises((ValueError, ds.StorageError), match=name) as caught:
        ds.Search.default(Sum(), **{name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target", Fraction(1000)),
        ("target", np.float32(1000)),
        ("patience", np.int64(5)),
        ("seconds", Fraction(1000)),
        ("tolerance", np.float32(0.5)),
    ],
)
def test_rules_for_stopping_may_be_numbers_of_any_library(name, value, tmp_path):
    assert len(ds.search(Sum(), 4, storage=tmp_path / "run.db", seed=0, **{name: value}).history) == 4


@pytest.mark.parametrize(
    "reward",
    [
        1e308,
        HUGE,
        -HUGE,
        ENDLESS,
        Decimal("1e400"),
        Decimal("sNaN"),
        np.finfo(float).max,
        np.longdouble("1e400"),
        np.array([1.0, 2.0]),
        "1.0",
        "x" * 10_000_000,
        b"1",
        1j,
        None,
    ],
    ids=lambda reward: type(reward).__name__,
)
def test_a_reward_that_cannot_be_told_is_an_error_in_one_line(reward, tmp_path):
    check_refused(reward, tmp_path)


def test_so_it_is_from_another_process(tmp_path):
    check_refused(ENDLESS, tmp_path, n_jobs=1)


def check_refused(reward, tmp_path, **where):
    problem = ds.problems.Subsets(6, 2, reward=lambda leaf: reward)
    with pytest.raises(EvaluationError, match="RewardError: the reward of") as caught:
        ds.search(problem, 5, seed=0, storage=tmp_path / "run.db", **where)
    assert len(str(caught.value)) < 1000
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, RewardError)
    again = ds.Search.resume(tmp_path / "run.db", problem)
    assert (again.history, again.pending) == ([], ())
    again.close()


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (Fraction(1, 4), 0.25),
        (Decimal("0.25"), 0.25),
        (10**99, 1e99),
        (-1e100, -1e100),
        (np.float16(2.5), 2.5),
        (np.int64(-(2**63)), -(2.0**63)),
        (np.bool_(True), 1.0),
        (np.array(3), 3.0),
    ],
)
def test_numbers_of_any_library_are_rewards(reward, told, tmp_path):
    problem = ds.problems.Subsets(6, 2, reward=lambda leaf: reward if 0 in leaf else 0.0)
    result = ds.search(problem, 15, seed=0, storage=tmp_path / "run.db")
    assert {evaluation.reward for evaluation in result.history} == {told, 0.0}
    ds.Search.resume(tmp_path / "run.db", problem).close()


def test_a_timeout_longer_than_the_system_can_wait_is_none():
    assert len(ds.search(Sum(), 3, seed=0, n_jobs=1, timeout=1e300).history) == 3


# Long texts ---------------------------------------------------------------------------------------


MEGABYTES = "begin " + 4_000_000 * "x" + " end"


class Verbose(Sum):
    """Its errors are long."""

    def reward(self, leaf):
        if 15 in leaf:
            raise RuntimeError(MEGABYTES)
        return super().reward(leaf)


@pytest.mark.parametrize("where", [{}, {"n_jobs": 1}])
def test_the_run_holds_both_ends_of_a_long_error(where, tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(Verbose(), initial=4, seed=0, storage=path)
    search.propose(frozenset({0, 1, 2, 15}), (0, 1, 2, 15))
    search.data.offered.extend(search.pending)
    search.run(3, on_error="skip", **where)
    search.close()
    failed = [event.body["note"] for event in events(path) if event.kind == "forget"]
    assert failed[0]["failure"].startswith("RuntimeError: begin xxx")
    assert failed[0]["failure"].endswith("xxx end")
    assert path.stat().st_size < 100_000
