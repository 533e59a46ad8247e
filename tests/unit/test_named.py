"""Named choices: the problem, and its states as arrays."""

import itertools
import math

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.problems import Choices, Chosen, Decision
from dagsearch.storage.encoding import StateCodec
from support.small import leaves_of


def pipeline(chosen):
    return len(str(sorted(chosen.items(), key=str)))


def plain(reward=pipeline):
    return Choices({"a": [1, 2, 3], "b": ["x", "y"], "c": [None, (1, 2), 0.5]}, reward)


def conditional(reward=pipeline):
    return Choices(
        {
            "scaler": ["none", "standard"],
            "model": ["svm", "tree", "mean"],
            "C": lambda chosen: [0.1, 1.0, 10.0] if chosen["model"] == "svm" else None,
            "depth": lambda chosen: range(1, 6) if chosen["model"] == "tree" else (),
            "leaves": lambda chosen: range(1, chosen["depth"] + 1) if "depth" in chosen else None,
            "seed": [0, 1],
        },
        reward,
    )


def test_neighbours_of_conditional_choices_keep_what_can_be_kept():
    problem, rng = conditional(), np.random.default_rng(0)
    coding, names = problem.coding, ["scaler", "model", "C", "depth", "leaves", "seed"]
    for leaf in leaves_of(problem):
        row = coding.codes([leaf])[0]
        near = coding.neighbours(row, 1000, rng)
        assert len(np.unique(near, axis=0)) == len(near)
        assert row.tolist() not in near.tolist()
        found = [coding.leaf_of(one) for one in near]
        for one, other in zip(near, found, strict=True):
            changed = [name for name in names if name in leaf and other.get(name) != leaf[name]]
            # Only what depends on the change is another value, or is dropped.
            assert set(changed[1:]) <= {"C", "depth", "leaves"}
            is_likely = coding.codes([other])[0].tolist() == one.tolist()
            assert is_likely or "leaves" in other  # whose options depend on the depth
        assert {other["model"] for other in found} == {"svm", "tree", "mean"}
        few = coding.neighbours(row, 3, rng)
        assert 0 < len({tuple(one[:2]) for one in few.tolist()}) <= 3


def test_options_without_end_are_refused():
    with pytest.raises(ds.ProblemError, match="options of 'a' are more than 50,000, or without end"):
        Choices({"a": lambda chosen: itertools.count()}, pipeline)


def test_a_name_has_the_same_place_and_categories_in_every_branch():
    problem = conditional()
    codes, layout = problem.coding.codes, problem.coding.layout
    assert layout.kind == "places"
    assert layout.categories.tolist() == [2, 3, 4, 6, 6, 2]  # three may be absent
    tree = problem.leaf({"seed": 1, "leaves": 2, "depth": 3, "model": "tree", "scaler": "none"})
    mean = problem.leaf({"model": "mean", "seed": 1, "scaler": "none"})
    assert codes([tree, mean]).tolist() == [[0, 1, 3, 2, 1, 1], [0, 2, 3, 5, 5, 1]]
    half = problem.step(problem.step(problem.root(), Decision("scaler", "none")), Decision("model", "tree"))
    assert codes([half]).tolist() == [[0, 1, -1, -1, -1, -1]]
    assert codes([problem.step(half, Decision("depth", 1))]).tolist() == [[0, 1, 3, 0, -1, -1]]


def test_the_choices_are_a_mapping():
    state = Chosen({"a": 1, "b": "x"})
    assert state == Chosen({"b": "x", "a": 1})
    assert hash(state) == hash(Chosen({"b": "x", "a": 1}))
    assert state == {"a": 1, "b": "x"}
    assert state != {"a": 1}
    assert state != (1, "x")
    assert dict(state) == {"a": 1, "b": "x"}
    assert "a" in state
    assert state.get("c") is None
    with pytest.raises(KeyError):
        state["c"]


def test_the_reward_gets_a_plain_dictionary_of_what_exists():
    seen = []

    def reward(chosen):
        seen.append(chosen)
        return 1.0

    problem = conditional(reward)
    problem.reward(problem.leaf({"scaler": "none", "model": "mean", "seed": 0}))
    assert seen == [{"scaler": "none", "model": "mean", "seed": 0}]
    assert type(seen[0]) is dict


def test_values_that_appear_later_can_be_chosen_and_count_as_undecided():
    rare = {f"x{i}": range(10) for i in range(6)}
    rare["y"] = lambda chosen: [0, 1] if any(chosen[f"x{i}"] for i in range(6)) else [0, 1, 2]
    problem = Choices(rare, pipeline)
    assert problem.coding.layout.categories[-1] == 2
    leaf = problem.leaf({**{f"x{i}": 0 for i in range(6)}, "y": 2})
    assert problem.coding.codes([leaf])[0, -1] == -1
    assert problem.decode(problem.encode(leaf)) == leaf


def test_values_that_json_does_not_know_are_refused_when_they_are_stored():
    for options in ([math.sin, math.cos], [math.inf, -math.inf]):
        with pytest.raises(ds.ProblemError, match="use numbers, text, None or tuples"):
            StateCodec(Choices({"x": options}, pipeline))
    problem = Choices({"a": [(1, ("b", None))], "b": lambda chosen: [True, 0.5]}, pipeline)
    leaf = problem.leaf({"a": (1, ("b", None)), "b": 0.5})
    assert problem.encode(leaf) == [["a", {"tuple": [1, {"tuple": ["b", None]}]}], ["b", 0.5]]
    assert StateCodec(problem).decode(problem.encode(leaf)) == leaf


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({}, "at least one"),
        ({"a": []}, "options of 'a' are empty"),
        ({"a": "xyz"}, r"are the text 'xyz': pass a list"),
        ({"a": {1, 2}}, "must be in an order"),
        ({"a": [1, [2]]}, r"contain \[2\], which is not hashable"),
        ({"a": [1, 2, 1.0]}, r"contain 1.0 twice"),
        ({"a": 3}, "must be a list, got 3"),
        ({1: [2]}, "must be text, got 1"),
        ([("a", [1]), ("b", [2])], "places must map names to options"),
        ({"a": lambda chosen: chosen["b"], "b": [1]}, "KeyError: 'b'.*or is listed later"),
        ({"a": [1], "b": lambda chosen: 1 / 0}, "options of 'b' for {'a': 1} failed .ZeroDivisionError"),
        ({"a": [1], "b": lambda chosen: None, "c": lambda chosen: [chosen["b"]]}, r"\.get\(name\)"),
        ({"a": [1], "b": lambda chosen: [[1]]}, r"contain \[1\], which is not hashable"),
    ],
)
def test_places_that_cannot_be_are_refused_by_name(places, message):
    with pytest.raises(ds.ProblemError, match=message):
        Choices(places, pipeline)


def test_leaves_that_cannot_be_are_refused():
    problem = conditional()
    good = {"scaler": "none", "model": "mean", "seed": 0}
    for bad, message in [
        ({**good, "seed": 3}, "3 cannot be chosen for 'seed'"),
        ({**good, "C": 1.0}, "'C' is not a choice of"),
        ({"scaler": "none"}, "'model' .* is not chosen"),
        ((1, 2), r"\(1, 2\) is not a mapping from the names of choices to values"),
    ]:
        with pytest.raises(ds.ProblemError, match=message):
            problem.leaf(bad)
        search = ds.Search.default(problem, seed=0)
        search.tell(good, 1.0)
        with pytest.raises(ds.ProblemError, match=message):
            search.tell(bad, 1.0)


def test_searches_find_the_best():
    target = dict(zip("abcd", (3, 1, 4, 1), strict=True))
    found = ds.search(
        Choices({name: range(5) for name in "abcd"}, lambda c: -sum(abs(c[n] - target[n]) for n in c)),
        budget=80,
        seed=0,
    )
    assert found.best_state == target
    assert found.best_path == tuple(Decision(name, value) for name, value in target.items())
    assert ds.search(conditional(), 100, seed=0).stopped == "exhausted"


@pytest.mark.parametrize(
    ("make", "allowed"),
    [
        (plain, lambda c: not (c["b"] == "y" and c["c"] == 0.5) and (c["a"] < 3 or c["c"] is None)),
        (
            conditional,
            lambda c: (
                c.get("leaves", 0) + c["seed"] <= 3 and (c["model"] != "svm" or c["C"] * c["seed"] <= 1)
            ),
        ),
        (plain, lambda c: c == {"a": 3, "b": "x", "c": (1, 2)}),
    ],
)
def test_what_is_not_allowed_is_never_evaluated(make, allowed):
    given = []

    def predicate(chosen):
        given.append(chosen)
        return allowed(chosen)

    free = make()
    limited = Choices({n: getattr(o, "options", o) for n, o in free._places.items()}, pipeline, predicate)
    leaves = {leaf for leaf in leaves_of(free) if allowed(dict(leaf))}
    result = ds.search(limited, budget=1000, seed=0)
    assert result.stopped == "exhausted"
    assert {evaluation.leaf for evaluation in result.history} == leaves
    assert len(result.history) == len(leaves)
    assert {type(one) for one in given} == {dict}


def test_a_choice_that_is_not_allowed_cannot_be_told():
    search = ds.Search.default(
        Choices({"a": [1, 2], "b": [1, 2]}, allowed=lambda c: c["a"] != c["b"]), seed=0
    )
    with pytest.raises(ds.ProblemError, match="allowed is false for it"):
        search.tell({"a": 1, "b": 1}, 3.0)
    search.tell({"b": 1, "a": 2}, 3.0)
    assert search.ask().leaf == {"a": 1, "b": 2}
    with pytest.raises(ds.ProblemError, match="allowed is false for more than 10,000 random leaves"):
        ds.search(Choices({"a": range(3)}, pipeline, lambda c: False), 3)
    with pytest.raises(ds.ProblemError, match="allowed must be a function of complete choices, got 3"):
        Choices({"a": range(3)}, pipeline, 3)
