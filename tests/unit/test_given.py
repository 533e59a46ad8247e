"""What the user gives a search: known results, leaves to evaluate first, a callback."""

import math

import pytest

import dagsearch as ds
from dagsearch.run.runner import checked_given, give
from dagsearch.storage.database import Database
from support.runs import events


def product(choose):
    return choose("a", range(10)) * choose("b", range(10))


class Places:
    """Nine decisions; the state shows how often each was made, so nothing says how to get to a leaf."""

    def root(self):
        return (0, 0, 0)

    def actions(self, state):
        return range(3) if sum(state) < 9 else ()

    def step(self, state, action):
        return tuple(count + (place == action) for place, count in enumerate(state))

    def reward(self, leaf):
        return float(leaf[0] - leaf[1])


PROBLEMS = {
    "subsets by names": (
        ds.problems.Subsets(["ash", "birch", "cedar", "oak", "yew"], 2, reward=lambda s: float("yew" in s)),
        ["yew", "oak"],
    ),
    "sizes": (ds.problems.Subsets(8, (1, 3), reward=sum), {6, 7}),
    "orders": (ds.problems.Orders(["x", "y", "z", "w"], reward=lambda o: o.index("x")), ["y", "z", "w", "x"]),
    "sequences": (ds.problems.Sequences("ab", 3, reward=lambda s: s.count("a")), ["a", "a", "a"]),
    "choices": (
        ds.problems.Choices({"a": range(5), "b": range(5)}, reward=lambda c: c["a"] * c["b"]),
        {"b": 4, "a": 4},
    ),
    "choose": (ds.problems.FunctionProblem(product), {"a": 9, "b": 9}),
}


@pytest.fixture(params=PROBLEMS)
def case(request):
    problem, written = PROBLEMS[request.param]
    is_written = isinstance(written, (list, set)) or isinstance(problem, ds.problems.Choices)
    leaf = problem.leaf(written) if is_written else written
    return problem, written, leaf


def test_known_results_are_learnt_and_do_not_count(case):
    problem, written, leaf = case
    result = ds.search(problem, 5, seed=0, known=[(written, 1000.0)])
    assert len(result.history) == 6
    assert (result.best_state, result.best_reward) == (leaf, 1000.0)
    assert [one.known for one in result.history] == [True] + [False] * 5
    assert result.best_path is not None
    assert leaf not in [one.leaf for one in result.history[1:]]


def test_leaves_to_start_with_are_evaluated_first_and_count(case):
    problem, written, leaf = case
    result = ds.search(problem, 5, seed=0, start=[written])
    assert len(result.history) == 5
    first = result.history[0]
    assert (first.leaf, first.reward, first.known) == (leaf, problem.reward(leaf), False)


def test_known_results_take_the_place_of_random_leaves():
    known = [({"a": a, "b": b}, a * b) for a in range(3) for b in range(5)]
    problem = ds.problems.Choices({"a": range(10), "b": range(10)}, reward=lambda c: c["a"] * c["b"])
    search = ds.Search.default(problem, seed=0)
    give(search, checked_given(problem, known, ()))
    assert search.portfolio.state[1] == 10
    assert search.ask().leaf["a"] * search.ask().leaf["b"] > 8  # where the rewards grow
    assert search.portfolio.state[1] == 10  # no turn was a random one


@pytest.mark.parametrize("form", [list, dict, "history"])
def test_known_results_may_be_pairs_a_mapping_or_a_history(form):
    problem = PROBLEMS["choices"][0]
    earlier = ds.search(problem, 4, seed=1)
    pairs = [(one.leaf, one.reward) for one in earlier.history]
    result = ds.search(problem, 3, seed=0, known=earlier.history if form == "history" else form(pairs))
    assert [(one.leaf, one.reward) for one in result.history[:4]] == pairs
    assert len(result.history) == 7


def test_the_result_of_a_function_is_known_to_another_search():
    def product(choose):
        return choose("a", range(9)) * (choose("b", range(9)) if choose("more", [False, True]) else 1)

    earlier = ds.maximize(product, 6, seed=0)
    result = ds.maximize(product, 3, seed=1, known=earlier)
    assert [one.known for one in result.history] == [True] * 6 + [False] * 3
    assert result.best_reward >= earlier.best_reward


def test_minimize_takes_known_results_in_the_functions_sign():
    seen = []
    result = ds.minimize(
        lambda choose: 10.0 + choose("a", range(10)),
        4,
        seed=0,
        known=[({"a": 0}, 10.0)],
        start=[{"a": 3}],
        callback=seen.append,
    )
    assert (result.best_state, result.best_reward) == ({"a": 0}, 10.0)
    assert result.history[1].reward == 13.0
    assert seen == list(result.history[1:])


def test_patience_does_not_count_known_results():
    problem = ds.problems.Choices({"a": range(100)}, reward=lambda chosen: 0.0)
    known = [({"a": 99 - a}, float(-a)) for a in range(20)]
    result = ds.search(problem, 50, seed=0, known=known, patience=5)
    assert (result.stopped, len(result.history)) == ("patience", 25)


# With storage ------------------------------------------------------------------------------------------

KNOWN = [({"a": 2, "b": 3}, 6.0), ({"a": 1, "b": 1}, 1.0), ({"a": 5, "b": 0}, 0.0)]
START = [{"a": 4, "b": 4}, {"a": 2, "b": 3}, {"a": 0, "b": 9}]


class Died(BaseException):
    pass


@pytest.mark.parametrize("noisy", [False, True])
def test_a_run_that_was_killed_anywhere_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch, noisy):
    problem = ds.problems.FunctionProblem(product)
    settings = {"seed": 0, "known": KNOWN, "start": START, "noisy": noisy}
    whole = ds.search(problem, 12, **settings)
    assert [dict(one.leaf) for one in whole.history[:5]] == [leaf for leaf, _ in KNOWN] + [START[0], START[2]]
    uninterrupted = tmp_path / "whole.db"
    ds.search(problem, 12, storage=uninterrupted, **settings)
    written = len(events(uninterrupted))
    for last in range(1, written, 3):
        path, append = tmp_path / f"{last}.db", Database.append

        def dying(self, *event, last=last, append=append):
            number = append(self, *event)
            if number > last:
                raise Died
            return number

        with monkeypatch.context() as patched:
            patched.setattr(Database, "append", dying)
            with pytest.raises(Died):
                ds.search(problem, 12, storage=path, **settings)
        assert ds.search(problem, 12, storage=path, **settings).history == whole.history


def test_the_budget_of_a_continued_run_does_not_count_known_results(tmp_path):
    path, problem = tmp_path / "run.db", ds.problems.FunctionProblem(product)
    ds.search(problem, 4, seed=0, storage=path, known=KNOWN)
    more = ({"a": 9, "b": 1}, 9.0)
    result = ds.search(problem, 6, storage=path, known=[*KNOWN, more])
    assert (len(result.history), sum(one.known for one in result.history)) == (10, 4)
    assert (result.history[7].leaf, result.history[7].known) == (more[0], True)
    assert ds.search(problem, 6, storage=path).history == result.history  # not even if they are left out
    assert [event.body["known"] for event in events(path) if "known" in event.body] == [True] * 4


def test_a_leaf_that_failed_is_not_started_with_again(tmp_path):
    tried = []

    def failing(chosen):
        tried.append(chosen["a"])
        if chosen["a"] == 7:
            raise OSError("a broken machine")
        return chosen["a"]

    problem = ds.problems.Choices({"a": range(9)}, reward=failing)
    for budget in (3, 6):
        ds.search(problem, budget, seed=0, storage=tmp_path / "run.db", start=[{"a": 7}], on_error="skip")
    assert tried[0] == 7
    assert tried.count(7) == 1


# Bad input ----------------------------------------------------------------------------------------------

BAD = {
    "no pair": (
        {"known": [{"a": 1}]},
        r"known\[0\] must be a pair of a leaf and its reward, got \{'a': 1\}",
    ),
    "one pair": ({"known": ({"a": 1, "b": 2}, 3.0)}, r"known\[0\] must be a pair"),
    "a number": ({"known": 3}, "known must be a list of pairs of a leaf and its reward, got 3"),
    "nan": ({"known": [({"a": 1, "b": 2}, math.nan)]}, r"the reward of \{'a': 1, 'b': 2\} is nan"),
    "text": ({"known": [({"a": 1, "b": 2}, "good")]}, r"the reward of \{'a': 1, 'b': 2\} .* is not a number"),
    "one leaf": ({"start": {"a": 1, "b": 1}}, r"start\[0\]: 'a' is not a "),
    "letters": ({"start": "ab"}, "start must be a list of leaves, got 'ab'"),
    "actions": ({"start": [ds.Proposal({"a": 1, "b": 1}, ())]}, r"start\[0\]: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_in_one_line_before_a_run_begins(name, tmp_path):
    settings, message = BAD[name]
    for function in (ds.maximize, ds.minimize):
        with pytest.raises((ValueError, ds.DagSearchError), match=message) as caught:
            function(product, 3, storage=tmp_path / "run.db", **settings)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize(
    ("problem", "leaf", "message"),
    [
        (PROBLEMS["subsets by names"][0], ["yew", "elm"], r"start\[0\]: .*'elm'.* is not a subset"),
        (PROBLEMS["choices"][0], {"a": 1}, r"start\[0\]: .*'b'.* is not chosen"),
        (PROBLEMS["choices"][0], {"a": 77, "b": 1}, r"start\[0\]: .* 77 cannot be chosen"),
        (PROBLEMS["orders"][0], ["x", "y"], r"start\[0\]: .* is not an order"),
        (Places(), 7, r"start\[0\]: 7 is not a leaf of the problem \(TypeError"),
        (Places(), (10, 0, 0), r"the path to \(10, 0, 0\) .* on Places, or pass Proposal\(leaf, act"),
    ],
)
def test_an_unknown_leaf_is_named(problem, leaf, message):
    with pytest.raises(ds.ProblemError, match=message) as caught:
        ds.search(problem, 3, start=[leaf])
    assert "\n" not in str(caught.value)


def test_where_nothing_says_how_to_get_to_a_leaf_a_proposal_does():
    problem, actions = Places(), (0,) * 7 + (1,) * 2
    result = ds.search(problem, 3, seed=0, start=[ds.Proposal((7, 2, 0), actions)])
    assert result.history[0].reward == 5.0
    told = ds.search(problem, 3, seed=0, known=[((7, 2, 0), 100.0)])  # nothing needs to be known for that
    assert (told.best_state, told.best_path) == ((7, 2, 0), None)


def test_a_leaf_can_be_proposed_as_it_is_written():
    search = ds.Search.default(PROBLEMS["choices"][0], seed=0)
    proposal = search.propose({"b": 2, "a": 1})
    assert search.pending == (proposal,)
    assert [decision.value for decision in proposal.actions] == [1, 2]


# A callback ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, 2])
def test_a_callback_sees_every_evaluation_and_may_end_the_run(workers):
    seen = []

    def callback(evaluation):
        seen.append(evaluation)
        return evaluation.step == 5

    result = ds.maximize(product, 50, seed=0, callback=callback, n_jobs=workers)
    assert result.stopped == "callback"
    assert seen == list(result.history)  # evaluations that had begun are taken
    assert len(seen) in (range(5, 9) if workers else (5,))


def test_an_error_in_a_callback_loses_nothing(tmp_path):
    def callback(evaluation):
        if evaluation.step == 4:
            raise ZeroDivisionError("of the user")

    with pytest.raises(ZeroDivisionError, match="of the user") as caught:
        ds.maximize(product, 9, seed=0, callback=callback, storage=tmp_path / "run.db")
    assert len(caught.value.result.history) == 4
    whole = ds.maximize(product, 9, seed=0)
    assert ds.maximize(product, 9, storage=tmp_path / "run.db").history == whole.history


@pytest.mark.parametrize("callback", [3, lambda: True, lambda search, trial: True])
def test_what_cannot_be_called_with_an_evaluation_is_refused(callback, tmp_path):
    for function in (ds.maximize, ds.minimize):
        with pytest.raises(ValueError, match="callback must be a function of one argument, an Evaluation"):
            function(product, 3, callback=callback, storage=tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()
