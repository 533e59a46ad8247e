"""Functions that choose: which choices they make, and searches over them."""

import cProfile
import functools
import json
import logging
import pickle
import pstats
import random
import sys

import cloudpickle
import numpy as np
import pytest

import dagsearch as ds
from dagsearch.journal.journal import read_events
from dagsearch.problems import Decision, FunctionProblem
from dagsearch.space import Space
from dagsearch.testing import check_problem
from support.small import CoinFlips

worked = []


def work(*given, **named):
    """What takes long: it must not happen while choices are looked for."""
    worked.append(given)
    return 1.0


def straight(choose):
    a = choose("a", [1, 2])
    b = choose("b", range(3))
    return work(a, b)


def in_one_line(choose):
    return work(choose("a", [1, 2]), key=choose("b", [1, 2]))


def conditional(choose):
    pre = choose("pre", ["none", "pca"])
    model = choose("model", ["svm", "tree", "linear"])
    if pre == "pca":
        return work(model, choose("dims", [2, 4]))
    return work(pre)


def loop(choose):
    count, total = choose("n", [1, 2, 3]), 0
    for i in range(count):
        total += choose(f"x{i}", [0, 1])
    return work(total)


def endless_loop(choose):
    i = 0
    while True:
        if choose(f"stop{i}", [True, False]) or i == 2:
            return work(i)
        i += 1


def list_comprehension(choose):
    return work(*[choose(f"x{i}", [0, 1]) for i in range(3)])


def dictionary(choose):
    config = {name: choose(name, options) for name, options in {"a": [1, 2], "b": [3, 4]}.items()}
    return work(config)


def generator(choose):
    return work(tuple(choose(f"x{i}", [0, 1]) for i in range(3)))


def generator_in_a_loop(choose):
    total = 0
    for value in (choose(f"x{i}", [0, 1]) for i in range(3)):
        total += int(value)
    return work(total)


def mapped(choose):
    def one(i):
        return choose(f"x{i}", [3, 5])

    return work(list(map(one, range(3))))


def closure(choose):
    def one(i):
        return choose(f"x{i}", [3, 5])

    return work(one(0), one(1), [one(2)])


def helper(choose, data=None):
    a = choose("a", [1, 2])
    if a == 1:
        choose("b", [1, 2])
    return work(data)


def helped(choose):
    return work(helper(choose, "data"))


def two_helpers(choose):
    return work([choose("a", [1, 2])], helper_of_b(choose))


def helper_of_b(choose):
    return choose("b", [1, 2])


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return work(function(*args, **kwargs))

    return wrapper


class Trial:
    def __init__(self, choose):
        self.choose = choose

    def one(self, name):
        return self.choose(name, [1, 2])


def stored(choose):
    trial = Trial(choose)
    a = trial.one("a")
    return work(a, trial.one("b"))


class Objective:
    def __init__(self):
        self.data = list(range(100))

    def __call__(self, choose):
        more = self.more(choose) if choose("a", [1, 2]) == 1 else 0
        return self.score(more)

    def more(self, choose):
        return choose("b", [1, 2, 3])

    def score(self, more):
        return work(more)


def guarded(choose):
    with open("/dev/null") as file:
        a = choose("a", [1, 2])
        try:
            b = choose("b", [1, 2])
            return work(a, b, file)
        except ValueError:
            return 0.0
        finally:
            a = None


def asked_again(choose):
    return work([choose("a", [1, 2]) for _ in range(3)])


def conditional_value(choose):
    k = choose("k", [1, 2] if True else [3])
    return work(k) if k else choose("never", [1, 2])


A_AND_B, A_MAYBE_B, THREE = {("a", "b")}, {("a",), ("a", "b")}, {("x0", "x1", "x2")}


@pytest.mark.parametrize(
    ("function", "paths"),
    [
        (straight, A_AND_B),
        (in_one_line, A_AND_B),
        (conditional, {("pre", "model"), ("pre", "model", "dims")}),
        (loop, {("n", "x0"), ("n", "x0", "x1"), ("n", "x0", "x1", "x2")}),
        (endless_loop, {("stop0",), ("stop0", "stop1"), ("stop0", "stop1", "stop2")}),
        (list_comprehension, THREE),
        (dictionary, A_AND_B),
        (generator, THREE),
        (generator_in_a_loop, THREE),
        (mapped, THREE),
        (closure, THREE),
        (helper, A_MAYBE_B),
        (helped, A_MAYBE_B),
        (lambda choose: helper(choose), A_MAYBE_B),
        (functools.partial(helper, data=[1]), A_MAYBE_B),
        (decorated(helper), A_MAYBE_B),
        (two_helpers, A_AND_B),
        (stored, A_AND_B),
        (Objective(), A_MAYBE_B),
        (guarded, A_AND_B),
        (asked_again, {("a",)}),
        (conditional_value, {("k",)}),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_choices_are_found_and_nothing_is_computed(function, paths):
    worked.clear()
    problem, rng = FunctionProblem(function), np.random.default_rng(0)
    assert {problem.random_leaf(problem.root(), rng)[0].names for _ in range(100)} == paths
    check_problem(problem, rewards=0)
    assert not worked
    check_problem(problem, rewards=5)
    assert 0 < len(worked) <= 10


def test_what_was_traced_before_is_traced_again():
    seen = []

    def tracer(frame, event, arg):
        seen.append(event)

    sys.settrace(tracer)
    try:
        for function in (straight, bare_after):
            FunctionProblem(function)
            assert sys.gettrace() is tracer
        with pytest.raises(ds.ProblemError):
            FunctionProblem(endless_names)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)


def test_places_of_the_arrays_are_the_names():
    problem = FunctionProblem(conditional)
    assert problem.layout.categories.tolist() == [2, 3, 3]
    leaves = [
        problem.leaf({"model": "svm", "pre": "none"}),
        problem.leaf({"model": "tree", "pre": "pca", "dims": 4}),
    ]
    codes = problem.codes(leaves)
    assert codes.tolist() == [[0, 0, 2], [1, 1, 1]]
    assert [problem.leaf_of(row) for row in codes] == leaves
    near = [problem.neighbours(row, 100, np.random.default_rng(0)).tolist() for row in codes]
    assert {tuple(row) for row in near[0]} == {(1, 0, 0), (1, 0, 1), (0, 1, 2), (0, 2, 2)}
    assert {tuple(row) for row in near[1]} == {
        *((0, 1, 2), (1, 0, 1), (1, 2, 1), (1, 1, 0)),
    }
    assert problem.path_to(leaves[0]) == [Decision("pre", "none"), Decision("model", "svm")]


def test_without_end_of_new_names_there_are_no_arrays():
    def grammar(choose):
        def expression(at, deep):
            if deep == 10 or choose(f"{at} is", ["leaf", "sum"]) == "leaf":
                return 1
            return expression(f"{at}0", deep + 1) + expression(f"{at}1", deep + 1)

        return expression("", 0)

    problem = FunctionProblem(grammar)
    assert problem.layout is None
    search = ds.Search.default(problem, initial=2, seed=0)
    for _ in range(3):
        proposal = search.ask()
        search.tell(proposal, problem.reward(proposal.leaf))


def test_maximize_and_minimize_are_each_others_opposite(tmp_path):
    def cost(choose):
        x, y = choose("x", range(6)), choose("y", range(5))
        return (x - 2) ** 2 + (y - 3) ** 2 - 7.5

    smallest = ds.minimize(cost, budget=20, seed=0, journal=tmp_path / "j")
    largest = ds.maximize(lambda choose: -cost(choose), budget=20, seed=0)
    assert smallest.best_state == largest.best_state == {"x": 2, "y": 3}
    assert smallest.best_reward == -7.5 == -largest.best_reward
    for evaluation in smallest.history:
        assert evaluation.reward == cost(lambda name, _, leaf=evaluation.leaf: leaf[name])
    best = np.minimum.accumulate([e.reward for e in smallest.history])
    assert [e.best_reward for e in smallest.history] == best.tolist()
    again = ds.minimize(cost, budget=30, seed=0, journal=tmp_path / "j")
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


def test_a_function_that_fails_before_its_last_choice_fails_when_it_is_evaluated():
    def picky(choose):
        a = choose("a", range(4))
        if a == 3:
            raise ValueError("three")
        return a + choose("b", range(3))

    assert ds.maximize(picky, budget=13, seed=0, on_error="skip").best_state == {"a": 2, "b": 2}
    with pytest.raises(ZeroDivisionError):
        FunctionProblem(lambda choose: choose("a", [1 // 0]))


def test_progress_shows_the_sign_of_the_function(capsys):
    ds.minimize(lambda choose: choose("x", [5, 6]), budget=2, seed=0, progress=True)
    assert "best 5" in capsys.readouterr().err


def noisy_score(choose):
    x = choose("x", range(10))
    return -abs(x - 6) + random.Random(x).gauss(0.0, 0.1)


def test_processes_evaluate_functions():
    def local(choose):
        x, y = choose("x", range(8)), choose("y", ["a", "b"])
        return x + (y == "b")

    for function in (noisy_score, local):
        result = ds.maximize(function, budget=12, seed=0, n_jobs=2, deterministic=True)
        assert [e.leaf for e in result.history] == [
            e.leaf for e in ds.maximize(function, budget=12, seed=0, n_jobs=2, deterministic=True).history
        ]
    problem = pickle.loads(cloudpickle.dumps(FunctionProblem(local)))
    assert problem.reward(problem.leaf({"x": 7, "y": "b"})) == 8
    check_problem(problem)


def test_noise_is_learnt_and_all_of_it_works_by_ask_and_tell():
    assert ds.maximize(noisy_score, budget=40, seed=0, noisy=True).best_state["x"] in (5, 6, 7)
    problem = FunctionProblem(noisy_score)
    search = ds.Search.default(problem, seed=0, initial=3)
    for _ in range(8):
        proposal = search.ask()
        search.tell(proposal, float(proposal.leaf["x"]))
    search.tell(problem.leaf({"x": 9}), 9.0) if search.result().best_reward < 9 else None
    assert search.result().best_state == {"x": 9}


def test_a_journal_does_not_continue_with_a_function_that_says_it_is_another(tmp_path):
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, choose):
            return self.factor * choose("x", range(9))

        def identity(self):
            return f"times {self.factor}"

    ds.maximize(Scaled(1), budget=3, seed=0, journal=tmp_path / "j")
    with pytest.raises(ds.JournalError, match=r"its identity was times 1, and is times 2"):
        ds.maximize(Scaled(2), budget=4, seed=0, journal=tmp_path / "j")
    assert len(ds.maximize(Scaled(1), budget=4, seed=0, journal=tmp_path / "j").history) == 4


def test_a_journal_holds_names_and_values(tmp_path):
    ds.maximize(conditional, budget=5, seed=0, journal=tmp_path / "j")
    text = json.dumps([event.content for event in read_events(tmp_path / "j")])
    assert '["pre", "none"]' in text or '["pre", "pca"]' in text
    with pytest.raises(ds.JournalError, match="another problem"):
        ds.maximize(straight, budget=6, seed=0, journal=tmp_path / "j")


# What is told plainly ---------------------------------------------------------------------------------


def test_random_choices_are_noticed():
    def erratic(choose):
        a = choose("a", [1, 2])
        return choose("b", [1, 2]) if random.random() < 0.5 else a

    with pytest.raises(ds.ProblemError, match="does not choose the same way twice"):
        FunctionProblem(erratic)

    def other_options(choose):
        return choose("a", [random.random(), 2])

    with pytest.raises(ds.ProblemError, match="does not choose the same way twice"):
        FunctionProblem(other_options)


def test_choices_that_change_later_are_noticed_when_evaluated():
    mood = {"names": ["a", "b"]}

    def moody(choose):
        return sum(choose(name, [1, 2]) for name in mood["names"])

    problem = FunctionProblem(moody)
    leaf = problem.leaf({"a": 1, "b": 2})
    for names, message in [(["a", "b", "c"], "chooses 'c' from"), (["a"], "did not choose 'b'")]:
        mood["names"] = names
        with pytest.raises(ds.ProblemError, match=f"{message}.*does not choose the same way twice"):
            problem.reward(leaf)


def test_a_name_with_other_options_in_the_same_run_is_refused():
    def twice(choose):
        return choose("a", [1, 2]) + choose("a", [1, 2, 3])

    with pytest.raises(ds.ProblemError, match=r"'a' is chosen twice in one run, from \[1, 2\] and from"):
        FunctionProblem(twice)


def bare_after(choose):
    a = choose("a", [1, 2])
    try:
        return work(a)
    except:  # noqa: E722
        return 0.0


def bare_around(choose):
    try:
        return choose("a", [1, 2]) + choose("b", [1, 2])
    except BaseException:
        return 0.0


@pytest.mark.parametrize("function", [bare_after, bare_around])
def test_a_function_may_catch_everything(function):
    worked.clear()
    problem = FunctionProblem(function)
    assert not worked
    assert list(problem.leaf(dict.fromkeys(problem._survey.values, 1))) == list(problem._survey.values)


def test_computing_before_a_choice_is_told_once(caplog):
    def busy(choose):
        a = choose("a", [1, 2])
        for i in range(100_000):
            a += i
        return a + choose("b", [1, 2])

    def calls_much(choose):
        total = sum(map(abs, [helper_of_none(i) for i in range(20_000)]))
        return total + choose("a", [1, 2])

    with caplog.at_level(logging.WARNING):
        for quick in (straight, list_comprehension, closure, stored, Objective()):
            FunctionProblem(quick)
        assert not caplog.records
        FunctionProblem(busy)
        assert len(caplog.records) == 1
        assert "for more than 10,000 steps before it chooses 'b'" in caplog.records[0].getMessage()
        assert "make all choices first" in caplog.records[0].getMessage()
        FunctionProblem(calls_much)
        assert len(caplog.records) == 2


def helper_of_none(i):
    return i


def test_a_long_computation_after_the_last_choice_is_left_and_not_told(caplog):
    def inline(choose):
        a = choose("a", [1, 2])
        worked.append(a) if a > 2 else None
        while a < 10**9:
            a += 1
        return a

    worked.clear()
    with caplog.at_level(logging.WARNING):
        FunctionProblem(inline)  # or it would take minutes
    assert not caplog.records
    assert not worked


def endless_names(choose):
    i = 0
    while True:
        choose(f"x{i}", [1, 2])
        i += 1


def endless_name(choose):
    while choose("x", [1, 2]) < 3:
        pass


def endless_if_wanted(choose):
    i = 0
    while choose(f"more{i}", [True, False]):
        i += 1
    return i


@pytest.mark.parametrize(
    ("function", "first"),
    [(endless_names, "{'x0': .*'x4': [12]}"), (endless_name, "{'x'"), (endless_if_wanted, "{'more0': True")],
)
def test_a_function_without_end_is_refused_with_its_first_choices(function, first):
    with pytest.raises(
        ds.ProblemError, match=f"does not come to an end.* begins with {first}.* than 2,000 choices"
    ):
        FunctionProblem(function)


def test_a_function_is_run_once_for_what_is_known():
    runs = []

    def counted(choose):
        runs.append(1)
        return sum(choose(f"x{i}", [0, 1]) for i in range(1 + choose("n", range(10))))

    problem = FunctionProblem(counted)
    leaf = problem.leaf({"n": 4, **{f"x{i}": 1 for i in range(5)}})
    before = len(runs)
    for _ in range(10):
        codes = problem.codes([leaf])[0]
        assert problem.leaf_of(codes) == leaf
        assert len(problem.neighbours(codes, 50, np.random.default_rng(0))) > 10
        problem.validate(leaf)
    assert len(runs) - before <= 5  # the states on the way that no walk had come to
    shown = {tuple(row) for row in problem.neighbours(codes, 50, np.random.default_rng(0)).tolist()}
    assert {tuple(problem.codes([problem.leaf_of(np.array(row))])[0].tolist()) for row in shown} == shown


def test_many_states_are_noticed_before_a_leaf_is_looked_at():
    runs = []

    def wide(choose):
        runs.append(1)
        return sum(choose(f"x{i}", range(5)) for i in range(6))

    problem = FunctionProblem(wide)
    before = len(runs)
    assert Space(problem).few_leaves == []
    assert len(runs) - before < 500  # there are at most that many states with the first 2,000 below them


def test_a_deep_problem_with_conditions_goes_to_other_processes():
    def deep(choose):
        first = choose("first", [0, 1])
        names = [f"x{i}" for i in range(400)]
        return first + sum(choose(name, [0, 1]) for name in names[: 400 - 10 * first])

    problem = pickle.loads(cloudpickle.dumps(FunctionProblem(deep)))
    leaf = problem.random_leaf(problem.root(), np.random.default_rng(0))[0]
    assert problem.leaf_of(problem.codes([leaf])[0]) == leaf


def test_parts_that_hold_choose_are_followed():
    def chained(choose):
        return work(Trial(choose).one("a"), Trial(choose).one("b"))

    def in_options(choose):
        return work(choose("a", work_free([1, 2])), choose("b", work_free([1, 2])))

    def lazy(choose):
        pairs = map(functools.partial(two_of, choose), "ab")
        return work(list(pairs))

    def generated(choose):
        def names():
            for name in "ab":
                yield choose(name, [1, 2])

        return work(sum(names()))

    for function in (chained, in_options, lazy, generated):
        worked.clear()
        problem = FunctionProblem(function)
        assert list(problem._survey.values) == ["a", "b"]
        assert not worked


def two_of(choose, name):
    return choose(name, [1, 2])


def work_free(options):
    return options


hidden = []


def hides(choose):
    hidden.append(choose)
    return choose("a", [1, 2]) + hidden[-1]("b", [1, 2])


def test_other_mistakes_are_told():
    with pytest.raises(ds.ProblemError, match="makes no choice"):
        FunctionProblem(lambda choose: 1.0)
    with pytest.raises(ds.ProblemError, match="pass a function"):
        FunctionProblem(3)
    with pytest.raises(ds.ProblemError, match=r"options of 'a' after the choices \{\} are empty"):
        FunctionProblem(lambda choose: choose("a", []))
    with pytest.raises(ds.ProblemError, match="name of a choice must be text"):
        FunctionProblem(lambda choose: choose(1, [1]))
    with pytest.raises(ds.EvaluationError, match="is None, which is not a number"):
        ds.minimize(lambda choose: print(choose("a", [1, 2])), budget=2, seed=0)

    with pytest.raises(ds.EvaluationError, match=r"chooses 'b'.*nor on a copy of choose"):
        ds.maximize(hides, budget=2, seed=0)


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
        (lambda: ds.problems.Choices(3), "places must map names to options, .* got 3"),
        (lambda: ds.problems.Choices({"a": [1]}, reward=3), "reward must be a function of a leaf, got 3"),
        (lambda: ds.problems.Subsets(5, 2, reward=3), "reward must be a function of a leaf, got 3"),
        (
            lambda: ds.maximize(lambda choose: choose("a"), 3),
            r"choose\('a'\) must .*: choose\('a', \[1, 2, 3\]\)$",
        ),
        (
            lambda: ds.maximize(lambda choose: choose("b", [1]) + choose("a"), 3),
            r"choose\('a'\) must be given a name and options: choose\('a', \[1, 2, 3\]\)$",
        ),
        (
            lambda: ds.maximize(lambda choose: choose([1, 2]), 3),
            r"choose\(\[1, 2\]\) must .* choose\('name', \[1, 2\]\)$",
        ),
        (lambda: ds.maximize(lambda choose: choose(1, [1, 2]), 3), "name of a choice must be text, got 1"),
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
            "without a reward: pass reward=function, or .* ask and tell",
        ),
    ],
)
def test_mistakes_are_told_in_one_line_with_what_to_do(call, message):
    with pytest.raises(ds.DagSearchError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_missing_argument_is_named():
    with pytest.raises(TypeError, match="'n' and 'k'"):
        ds.problems.Subsets(reward=3)


@pytest.mark.parametrize("leaf", [7, None, 2.5])
def test_states_without_parts_are_warned_about(leaf):
    class Single(CoinFlips):
        def root(self):
            return "root"

        def actions(self, state):
            return [0, 1] if state == "root" else []

        def step(self, state, action):
            return leaf

        def reward(self, leaf):
            return 1.0

    with pytest.warns(UserWarning, match="have no parts by which they could be alike"):
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
    with pytest.raises(ds.ProblemError, match="9 cannot be chosen for 'a'"):
        search.tell({"a": 9, "b": 2}, 6)


def test_numbers_of_numpy_become_plain_ones():
    result = ds.maximize(lambda choose: choose("a", list(np.arange(3))) + choose("b", [np.float32(1)]), 3)
    assert json.dumps(result.best_state) == '{"a": 2, "b": 1.0}'


def deep(depth, branches, runs):
    """A function of many choices, of which the first may decide whether there is one more."""

    def function(choose):
        runs.append(depth)
        values = [choose(f"x{number}", [0, 1, 2]) for number in range(depth)]
        if branches and values[0] == 1:
            values.append(choose("more", [0, 1]))
        return sum(values)

    return function


@pytest.mark.parametrize("branches", [False, True])
def test_a_deep_function_is_run_no_more_often_than_a_shallow_one(branches):
    """Leaves that are only compared, by the thousand for the result, are not asked for one by one."""
    runs = []
    for depth in (100, 400):
        ds.maximize(deep(depth, branches, runs), budget=10, seed=0)
    # Up to 2,000 states near the root, to see whether the problem is small; walks; one or two per evaluation.
    assert runs.count(100) < 1200
    assert runs.count(400) < 1200


@pytest.mark.parametrize(
    "problem_of",
    [
        lambda depth: FunctionProblem(deep(depth, False, [])),
        lambda depth: FunctionProblem(deep(depth, True, [])),
        lambda depth: ds.problems.Choices({f"x{i}": [0, 1] for i in range(depth)}, reward=lambda c: c["x0"]),
        lambda depth: ds.problems.Subsets(2 * depth, depth, reward=sum),
    ],
    ids=["function", "function with branches", "choices", "subsets"],
)
def test_the_work_of_an_evaluation_grows_with_the_depth_and_not_its_square(problem_of):
    """Calls of functions are counted, which no other work on the machine changes."""
    calls = []
    for depth in (100, 200, 400):
        problem, profile = problem_of(depth), cProfile.Profile()
        search = ds.Search.default(problem, initial=4, seed=0)
        for evaluation in range(12):
            if evaluation == 6:
                profile.enable()
            proposal = search.ask()
            search.tell(proposal, problem.reward(proposal.leaf))
        profile.disable()
        calls.append(pstats.Stats(profile).total_calls)
    assert calls[1] < 2.5 * calls[0]
    assert calls[2] < 2.5 * calls[1]
