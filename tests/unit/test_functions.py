"""Functions that choose: what a run shows, and searches over it."""

import cProfile
import inspect
import json
import pickle
import pstats
import random
import re

import cloudpickle
import numpy as np
import pytest

import dagsearch as ds
from dagsearch.problems import FunctionProblem
from support.runs import events, record
from support.small import CoinFlips


class Counted:
    """A function that counts its calls, and knows all leaves that it was called for."""

    def __init__(self, function):
        self.function, self.leaves = function, []

    def __call__(self, choose):
        self.leaves.append(None)
        made = {}

        def noting(name, options):
            made[name] = choose(name, options)
            return made[name]

        result = self.function(noting)
        self.leaves[-1] = frozenset(made.items())
        return result


def conditional(choose):
    pre = choose("pre", ["none", "pca"])
    model = choose("model", ["svm", "tree", "linear"])
    dims = choose("dims", [2, 4]) if pre == "pca" else 0
    return dims + len(model)


def loop(choose):
    return sum(choose(f"x{i}", [0, 1]) for i in range(choose("n", [1, 2, 3])))


def straight(choose):
    return choose("a", [1, 2]) + choose("b", range(3))


def kinds(choose):
    kind = choose("kind", ["x", "y", "z"])
    if kind == "x":
        return 1.0 + choose("a", range(2))
    if kind == "y":
        return 2.0 + choose("b", range(3)) * (1 if choose("flag", [True, False]) else -1)
    return 0.0


# What a search does with a function -----------------------------------------------------------------


@pytest.mark.parametrize("function", [conditional, loop, straight, kinds])
@pytest.mark.parametrize("settings", [{}, {"noisy": True}])
def test_the_function_is_called_once_for_every_evaluation_and_never_before(function, settings):
    counted = Counted(function)
    problem = FunctionProblem(counted)
    search = ds.Search.default(problem, seed=0, initial=3, noisy=bool(settings))
    assert not counted.leaves
    search.ask(2)
    search.result()
    assert not counted.leaves
    result = ds.maximize(counted, 5, seed=0, **settings)
    assert len(counted.leaves) == 5 == len(result.history)
    assert [frozenset(e.leaf.items()) for e in result.history] == counted.leaves


@pytest.mark.parametrize(("function", "leaves"), [(kinds, 9), (loop, 14), (conditional, 9), (straight, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_ends_when_every_leaf_was_evaluated_once(function, leaves, seed):
    counted = Counted(function)
    result = ds.maximize(counted, 100, seed=seed)
    assert result.stopped == "exhausted"
    assert len(counted.leaves) == leaves == len(set(counted.leaves))


def test_a_leaf_that_comes_again_by_chance_is_an_evaluation():
    problem = FunctionProblem(kinds)
    search = ds.Search.default(problem, seed=0, initial=2)
    first, second = search.ask(), search.ask()
    leaf, reward = problem.evaluate({"kind": "z"})
    for proposal in (first, second):
        assert search.tell(proposal, reward, leaf=leaf).leaf == {"kind": "z"}
    assert len(search.history) == 2
    assert not search.pending
    assert len(ds.maximize(kinds, 8, seed=0, n_jobs=4).history) == 8


@pytest.mark.parametrize("on_error", ["skip", -5.0])
def test_what_was_asked_before_an_error_is_not_proposed_again(on_error):
    def picky(choose):
        a = choose("a", range(4))
        if a == 3:
            raise ValueError("three")
        if choose("b", range(3)) == 1:
            raise KeyError("one")
        return a + choose("c", range(2))

    for jobs in ({}, {"n_jobs": 2}):
        counted = Counted(picky)
        result = ds.maximize(counted, 100, seed=0, on_error=on_error, **jobs)
        assert result.stopped == "exhausted"
        assert result.best_state["a"] == 2
        assert len({e.leaf for e in result.history if e.reward >= 0}) == 3 * 2 * 2
        assert jobs or len(counted.leaves) == 12 + 3 + 1


def test_an_error_names_a_leaf_of_many_choices_in_a_short_message():
    with pytest.raises(ds.EvaluationError) as error:
        ds.maximize(lambda choose: sum(choose(str(i), [0, 1]) for i in range(9999)), 9, seed=1)
    assert "characters" in str(error.value)
    assert len(str(error.value)) < 2000


def test_an_error_names_what_was_suggested_and_loses_nothing(caplog):
    def late(choose):
        if choose("a", range(9)) > 6:
            raise ValueError("too large")
        return 1.0

    with pytest.raises(ds.EvaluationError, match="ValueError: too large") as error:
        ds.maximize(late, 9, seed=1)
    assert all(e.leaf["a"] <= 6 for e in error.value.result.history)
    ds.maximize(late, 9, seed=1, on_error="skip")
    assert re.search(r"^evaluating \{'a': [78]\} failed \(ValueError: too large\)$", caplog.messages[0])
    with pytest.raises(ValueError, match="too large") as raised:
        FunctionProblem(late).evaluate({"a": 8})
    assert raised.value.asked == {"a": 8}


def test_two_searches_of_one_problem_learn_for_themselves():
    problem = FunctionProblem(kinds)
    first, second = (ds.search(problem, 8, seed=2) for _ in range(2))
    assert [e.leaf for e in first.history] == [e.leaf for e in second.history]
    with pytest.raises(ds.ProblemError, match=r"declare them with problems\.Choices, or use"):
        ds.Search.paper(problem)


# Suggestions ------------------------------------------------------------------------------------------


def test_values_are_taken_from_the_suggestion_and_the_rest_is_random_but_repeatable():
    problem = FunctionProblem(conditional)
    leaf, reward = problem.evaluate({"model": "linear", "dims": 4, "pre": "pca", "unknown": 1})
    assert leaf == {"pre": "pca", "model": "linear", "dims": 4}
    assert tuple(leaf) == ("pre", "model", "dims")
    assert leaf.options == (("none", "pca"), ("svm", "tree", "linear"), (2, 4))
    assert reward == 10
    found = {problem.evaluate({"pre": "pca", "…": seed})[0] for seed in range(60)}
    assert len(found) == 6
    assert problem.evaluate({"…": 7}) == problem.evaluate({"…": 7})
    assert problem.evaluate({"model": "no option", "pre": "none"})[0]["model"] in ("svm", "tree", "linear")


def test_places_are_the_names_in_the_order_in_which_they_are_asked():
    problem = FunctionProblem(conditional)
    one = problem.learn(problem.evaluate({"pre": "none", "model": "svm"})[0])
    coding = problem.coding
    assert coding.layout.categories.tolist() == [2, 3]
    two = problem.learn(problem.evaluate({"pre": "pca", "model": "tree", "dims": 4})[0])
    assert problem.coding is not coding
    coding = problem.coding
    assert coding.layout.categories.tolist() == [2, 3, 3]
    problem.learn(problem.evaluate({"pre": "none", "model": "tree"})[0])
    problem.learn(problem.evaluate({"pre": "pca", "model": "svm", "dims": 2})[0])
    assert problem.coding is coding
    codes = coding.codes([one, two])
    assert codes.tolist() == [[0, 0, 2], [1, 1, 1]]
    assert [coding.leaf_of(row) for row in codes] == [one, two]
    near = [coding.neighbours(row, 100, np.random.default_rng(0)).tolist() for row in codes]
    # The other value of "pre" comes with "dims", or without it, as in the leaves that were seen.
    assert {tuple(row[:2]) for row in near[0]} == {(1, 0), (0, 1), (0, 2)}
    assert all((row[2] == 2) == (row[0] == 0) for row in near[0])
    assert {tuple(row) for row in near[1]} == {(0, 1, 2), (1, 0, 1), (1, 2, 1), (1, 1, 0)}
    assert coding.leaf_of(np.array([1, 2, 0])) == {"pre": "pca", "model": "linear", "dims": 2, "…": 0}


# Searches -------------------------------------------------------------------------------------------


def test_maximize_and_minimize_are_each_others_opposite(tmp_path):
    def cost(choose):
        x, y = choose("x", range(6)), choose("y", range(5))
        return (x - 2) ** 2 + (y - 3) ** 2 - 7.5

    smallest = ds.minimize(cost, budget=20, seed=0, storage=tmp_path / "j")
    largest = ds.maximize(lambda choose: -cost(choose), budget=20, seed=0)
    assert smallest.best_state == largest.best_state == {"x": 2, "y": 3}
    assert smallest.best_reward == -7.5 == -largest.best_reward
    for evaluation in smallest.history:
        assert evaluation.reward == cost(lambda name, _, leaf=evaluation.leaf: leaf[name])
    best = np.minimum.accumulate([e.reward for e in smallest.history])
    assert [e.best_reward for e in smallest.history] == best.tolist()
    again = ds.minimize(cost, budget=30, seed=0, storage=tmp_path / "j")
    assert len(again.history) == 30 == again.history[-1].step
    assert [e.reward for e in again.history[:20]] == [e.reward for e in smallest.history]


def test_the_rules_to_stop_are_in_the_sign_of_the_function():
    def cost(choose):
        return choose("x", range(50)) + 3

    assert ds.minimize(cost, budget=50, seed=0, target=5).best_reward <= 5
    assert ds.minimize(cost, budget=50, seed=0, target=5).stopped == "target"
    assert ds.minimize(cost, budget=50, seed=0).best_reward == 3
    assert ds.maximize(cost, budget=50, seed=0, target=50).stopped == "target"
    assert len(ds.maximize(cost, budget=50, seed=0, patience=3).history) < 50

    def failing(choose):
        if choose("x", range(50)) % 2:
            raise ValueError("odd")
        return 1.0

    result = ds.minimize(failing, budget=20, seed=0, on_error=99.0)
    assert {e.reward for e in result.history} == {1.0, 99.0}
    with pytest.raises(ds.EvaluationError, match="ValueError: odd") as error:
        ds.minimize(failing, budget=20, seed=0)
    assert all(e.reward == 1.0 for e in error.value.result.history)


def test_ready_made_problems_are_minimised_with_the_users_own_numbers(tmp_path):
    problem, seen = ds.problems.Subsets(12, 3, reward=lambda chosen: sum(chosen) - 1.5), []
    settings = {"seed": 0, "storage": tmp_path / "run.db", "target": 1.5, "callback": seen.append}
    result = ds.minimize(problem, 60, n_jobs=2, **settings)
    assert (result.best_reward, result.best_state, result.stopped) == (1.5, {0, 1, 2}, "target")
    assert result.minimized
    assert all(e.reward == problem.reward(e.leaf) for e in (*result.history, *seen))
    assert record(tmp_path / "run.db").minimized
    with pytest.raises(ds.StorageError, match=r"its minimize was True, and is False"):
        ds.search(problem, 70, storage=tmp_path / "run.db")
    known = ds.minimize(problem, 5, seed=1, known=result)
    assert known.best_reward == 1.5
    assert len(known.history) == len(result.history) + 5
    assert ds.maximize(problem, 40, seed=0, known=result).best_reward == 28.5
    assert ds.minimize(FunctionProblem(straight), 6, seed=0).best_reward == 1
    with pytest.raises(ds.ProblemError, match="TicTacToe cannot be minimised"):
        ds.minimize(ds.problems.TicTacToe(), 5)


@pytest.mark.parametrize("call", [ds.search, ds.maximize, ds.minimize])
@pytest.mark.parametrize(
    ("name", "word"),
    [
        *((name, "budget") for name in ("n_trials", "n_iter", "n_calls", "max_evals")),
        *(("random_state", "seed"), ("direction", "ds.minimize"), ("verbose", "progress")),
        *(("maximize", "ds.minimize"), ("n_workers", "n_jobs"), ("study_name", "name")),
        *(("callbacks", "callback"), ("x0", "start"), ("n_job", "n_jobs")),
    ],
)
def test_words_of_other_libraries_are_translated(call, name, word):
    with pytest.raises(TypeError, match=rf"^'{name}' is not a setting of a search: .*\b{word}\b"):
        call(straight, **{name: 3})


def test_editors_are_told_the_keywords():
    names = list(inspect.signature(ds.search).parameters)[1:]
    assert {"budget", "seed", "n_jobs", "callback", "lost_after"} < set(names)
    for function in (ds.maximize, ds.minimize):
        assert list(inspect.signature(function).parameters) == ["function", *names]


def test_progress_shows_the_sign_of_the_function(capsys):
    ds.minimize(lambda choose: choose("x", [5, 6]), budget=2, seed=0, progress=True)
    assert "best=5" in capsys.readouterr().err


def test_processes_evaluate_functions():
    def local(choose):
        x, y = choose("x", range(8)), choose("y", ["a", "b"])
        return x + (y == "b")

    one, other = (ds.maximize(local, 12, seed=0, n_jobs=2, deterministic=True) for _ in range(2))
    assert [e.leaf for e in one.history] == [e.leaf for e in other.history]
    problem = pickle.loads(cloudpickle.dumps(FunctionProblem(local)))
    assert problem.reward(problem.leaf({"x": 7, "y": "b"})) == 8


def test_a_stored_run_does_not_continue_with_a_function_that_says_it_is_another(tmp_path):
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, choose):
            return self.factor * choose("x", range(9))

        def identity(self):
            return f"times {self.factor}"

    ds.maximize(Scaled(1), budget=3, seed=0, storage=tmp_path / "j")
    with pytest.raises(ds.StorageError, match=r"its identity was times 1, and is times 2"):
        ds.maximize(Scaled(2), budget=4, seed=0, storage=tmp_path / "j")
    assert len(ds.maximize(Scaled(1), budget=4, seed=0, storage=tmp_path / "j").history) == 4


def test_a_stored_run_holds_names_and_values(tmp_path):
    ds.maximize(conditional, budget=5, seed=0, storage=tmp_path / "j")
    text = json.dumps([event.body for event in events(tmp_path / "j")])
    assert '["pre", "none"]' in text or '["pre", "pca"]' in text
    with pytest.raises(ds.StorageError, match="its identity was conditional, and is straight"):
        ds.maximize(straight, budget=6, seed=0, storage=tmp_path / "j")
    other = lambda choose: straight(choose)  # noqa: E731
    other.__name__ = "conditional"
    with pytest.raises(ds.ProblemError, match=r"the function chose 'pre' with .* then 'a' with"):
        ds.maximize(other, budget=6, seed=0, storage=tmp_path / "j")
    with pytest.raises(ds.ProblemError, match="cannot be stored"):
        ds.maximize(lambda choose: choose("a", [print, len])(()) or 0, 3, storage=tmp_path / "k")


@pytest.mark.parametrize("function", [kinds, loop, conditional])
def test_a_resumed_search_is_the_same_search(function, tmp_path):
    def failing(choose):
        result = function(choose)
        if result == 2.0:
            raise ValueError("two")
        return result

    whole = ds.Search.default(FunctionProblem(failing), seed=3, initial=2)
    whole.run(8, on_error="skip")
    search = ds.Search.default(FunctionProblem(failing), seed=3, initial=2, storage=tmp_path / "j")
    for budget in (1, 3, 4):
        search.run(budget, on_error="skip")
        search.close()
        search = ds.Search.resume(tmp_path / "j", FunctionProblem(failing))
    assert [e.leaf for e in search.history] == [e.leaf for e in whole.history]
    leaf = search.history[0].leaf
    assert search.belief(leaf).g == whole.belief(leaf).g
    assert search.ask().leaf == whole.ask().leaf


# Errors and warnings ----------------------------------------------------------------------------------


def endless_names(choose):
    i = 0
    while True:
        choose(f"x{i}", [1, 2])
        i += 1


def test_a_function_without_end_is_refused_with_its_first_choices():
    with pytest.raises(
        ds.ProblemError, match=r"the function does not end.* begins with {'x0': .*'x4': [12]}"
    ):
        FunctionProblem(endless_names).evaluate({})


def test_random_choices_are_noticed():
    def other_options(choose):
        return choose("a", [random.random(), 2])

    with pytest.raises(ds.ProblemError, match="must depend on earlier choices alone"):
        ds.maximize(other_options, 5, seed=0)
    with pytest.raises(ds.ProblemError, match=r"'a' is chosen from \[1, 2\] and then from \[1\]"):
        FunctionProblem(lambda choose: choose("a", [1, 2]) + choose("a", [1])).evaluate({})


def test_a_flaky_error_is_no_other_way_to_choose():
    runs = []

    def flaky(choose):
        runs.append(choose("a", range(3)))
        if len(runs) % 3 == 0:
            raise OSError("once")
        return choose("b", range(5))

    assert len(ds.maximize(flaky, 10, seed=0, on_error=0.0).history) == 10


class OneArgument(CoinFlips):
    def step(self, state):
        return state


class NoLeaf(CoinFlips):
    def reward(self):
        return 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ds.problems.Choices([1]), r"places must map names to options, .* got \[1\]"),
        (lambda: ds.problems.Subsets(5, 2, reward=3), "reward must be a function of a leaf, got 3"),
        (
            lambda: ds.maximize(lambda choose: choose("b", [1]) + choose("a"), 3),
            r"choose\('a'\) must be given a name and options: choose\('a', \[1, 2, 3\]\)\)\. ",
        ),
        (
            lambda: ds.maximize(lambda choose: choose([1, 2]), 3),
            r"choose\(\[1, 2\]\) must .* choose\('name', \[1, 2\]\)\)\. ",
        ),
        (lambda: ds.maximize(lambda choose: choose(1, [1, 2]), 3), "name of a choice must be text, got 1"),
        (lambda: ds.maximize(lambda choose: choose("a", []), 3), r"options of 'a' after .* are empty"),
        (lambda: ds.maximize(lambda choose: 1.0, 3), "the function makes no choice"),
        (
            lambda: ds.maximize(lambda choose: print(choose("a", [1])), 3),
            "is None, .*nothing was returned",
        ),
        (
            lambda: ds.maximize(lambda choose: choose("a", [object(), object()]) is None, 3),
            "new objects, not equal to the earlier ones",
        ),
        (lambda: FunctionProblem(3), "pass a function"),
        (lambda: ds.maximize(lambda: 1, 3), r"must take one argument, choose, .* def function\(choose\)"),
        (lambda: ds.search(lambda choose: choose("a", [1]), 3), r"ds\.maximize\(function, budget\)"),
        (
            lambda: ds.search(OneArgument(), 3),
            r"OneArgument.step must take state and action: define it as step\(self, state, action\), "
            r"not step\(self, state\)$",
        ),
        (lambda: ds.search(NoLeaf(), 3), r"NoLeaf.reward must take leaf: .* not reward\(self\)$"),
        (
            lambda: ds.search(ds.problems.Orders("abc"), 3),
            "has no reward: pass reward=function, or .* ask and tell",
        ),
    ],
)
def test_mistakes_are_told_in_one_line_with_what_to_do(call, message):
    with pytest.raises(ds.DagSearchError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_states_without_parts_are_warned_about():
    class Single(CoinFlips):
        def root(self):
            return "root"

        def actions(self, state):
            return [0, 1] if state == "root" else []

        def step(self, state, action):
            return 7

        def reward(self, leaf):
            return 1.0

    with pytest.warns(UserWarning, match="cannot tell what the state .* consists of"):
        ds.testing.check_problem(Single())
    Single.items = lambda self, state: [state]
    ds.testing.check_problem(Single())


def test_choices_of_a_function_are_told_as_a_dictionary():
    problem = ds.problems.FunctionProblem(lambda choose: choose("a", range(5)) * choose("b", range(3)))
    search = ds.Search.default(problem, seed=0)
    assert search.tell({"b": 2, "a": 3}, 6).leaf == {"a": 3, "b": 2}
    result = search.run(5)
    assert json.loads(json.dumps(result.best_state)) == dict(result.best_state) == result.best_state
    assert result.best_state["a"] in range(5)
    assert search.tell({"a": 9, "b": 2}, 6).leaf["a"] == 9  # it is taken at its word


def test_numbers_of_numpy_become_plain_ones():
    result = ds.maximize(lambda choose: choose("a", list(np.arange(3))) + choose("b", [np.float32(1)]), 3)
    assert json.dumps(result.best_state) == '{"a": 2, "b": 1.0}'


def deep(depth):
    """A function of many choices; the first one decides whether there is one more."""

    def function(choose):
        values = [choose(f"x{number}", [0, 1, 2]) for number in range(depth)]
        return sum(values) + (choose("more", [0, 1]) if values[0] == 1 else 0)

    return FunctionProblem(function)


@pytest.mark.parametrize("problem_of", [deep, lambda depth: ds.problems.Subsets(2 * depth, depth, sum)])
def test_the_work_of_an_evaluation_grows_with_the_depth_and_not_its_square(problem_of):
    """Calls of functions are counted, which no other work on the machine changes."""
    calls = []
    for depth in (100, 200):
        problem, profile = problem_of(depth), cProfile.Profile()
        search = ds.Search.default(problem, initial=4, seed=0)
        for evaluation in range(12):
            if evaluation == 6:
                profile.enable()
            proposal = search.ask()
            leaf, reward = None, problem.reward(proposal.leaf)
            if isinstance(problem, FunctionProblem):
                leaf, reward = problem.evaluate(proposal.leaf)
            search.tell(proposal, reward, leaf=leaf)
        profile.disable()
        calls.append(pstats.Stats(profile).total_calls)
    assert calls[1] < 2.5 * calls[0]
