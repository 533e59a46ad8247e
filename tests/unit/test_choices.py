"""Named choices, subsets, orders and sequences: the problems, and their states as arrays."""

import itertools
import json
import math
import pickle
from itertools import combinations, permutations, product

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.problems import Choices, Chosen, Decision, Orders, Prefix, Sequences, Subsets
from dagsearch.space import Space
from dagsearch.storage.events import StateCodec, note_to_json
from dagsearch.testing import check_problem
from support.small import all_states, leaves_of

WEIGHTS = np.array([2.0, 3.0, 1.5, 5.0, 6.5, 4.0])


def fits(chosen):
    return WEIGHTS[sorted(chosen)].sum() <= 13


def described(chosen):
    return len(str(sorted(chosen.items(), key=str)))


def conditional(reward=described, allowed=None):
    return Choices(
        {
            "scaler": ["none", "standard"],
            "model": ["svm", "tree", "mean"],
            "C": lambda chosen: [0.1, 1.0, 10.0] if chosen["model"] == "svm" else None,
            "depth": lambda chosen: range(1, 4) if chosen["model"] == "tree" else (),
            "leaves": lambda chosen: range(1, chosen["depth"] + 1) if "depth" in chosen else None,
            "seed": [0, 1],
        },
        reward,
        allowed,
    )


PROBLEMS = {
    "choices": lambda: Choices({"a": [1, 2, 3], "b": ["x", "y"], "c": [None, (1, 2), 0.5]}, described),
    "conditional choices": conditional,
    "choices, one allowed": lambda: Choices(
        {"a": [1, 2, 3], "b": ["x", "y"]},
        described,
        lambda c: type(c) is dict and c["a"] == 3 and c["b"] == "x",
    ),
    "conditional, allowed": lambda: conditional(
        allowed=lambda c: c.get("leaves", 0) + c["seed"] <= 3 and c.get("C", 0.0) * c["seed"] <= 1
    ),
    "order": lambda: Orders("abcde", reward=lambda order: order.index("c")),
    "selection": lambda: Orders("abcde", reward=len, length=3),
    "order, before": lambda: Orders("abcde", len, before=["ab", "ac", "cd"]),
    "order, copies": lambda: Orders("aabbc", len),
    "order, copies, before": lambda: Orders("aabbcd", len, before=["ab", "cd"]),
    "selection, before": lambda: Orders("abcde", len, length=3, before=["ab", "cd"]),
    "selection, copies": lambda: Orders("aabbcd", len, length=4, before=["ac"]),
    "fixed": lambda: Sequences("abc", 4, reward=lambda letters: letters.count("a")),
    "letters allowed": lambda: Sequences("abc", 4, len, allowed=lambda word: "aa" not in "".join(word)),
    "free": lambda: Sequences("ab", 4, len, min_length=1),
    "free, allowed": lambda: Sequences("abc", 4, len, min_length=0, allowed=lambda word: word.count("c") < 2),
    "range": lambda: Subsets(6, (0, 3), len),
    "capacity": lambda: Subsets(6, (0, 6), len, allowed=fits),
    "capacity, one size": lambda: Subsets(6, 3, len, allowed=fits),
    "names": lambda: Subsets(list("badcefgh"), 4, len),
    "exclude": lambda: Subsets(8, 3, len, allowed=lambda chosen: not {1, 2} <= chosen),
    "plain subsets": lambda: Subsets(6, 3, len),
}
KINDS = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)


@KINDS
def test_the_problems_keep_the_contract(make):
    check_problem(make(), walks=200)


@KINDS
def test_codes_and_leaves_belong_together(make):
    problem = make()
    leaves = leaves_of(problem)
    codes = problem.coding.codes(leaves)
    layout = problem.coding.layout
    assert codes.shape == (len(leaves), layout.categories.size)
    assert codes.min() >= 0
    assert np.all(codes < layout.categories)
    assert len(np.unique(codes, axis=0)) == len(leaves)
    assert [problem.coding.leaf_of(row) for row in codes] == leaves
    for leaf in leaves[::7]:
        state = problem.root()
        for action in problem.coding.path_to(leaf):
            assert action in problem.actions(state)
            state = problem.step(state, action)
        assert state == leaf


@KINDS
def test_codes_of_a_partial_state_are_those_of_all_its_leaves_where_decided(make):
    problem = make()
    states = all_states(problem)
    below = {state: [state] for state in states if not problem.actions(state)}
    for state in reversed(states):
        if problem.actions(state):
            children = {problem.step(state, action) for action in problem.actions(state)}
            below[state] = [leaf for child in children for leaf in below[child]]
    for state in states:
        (row,), leaves = problem.coding.codes([state]), problem.coding.codes(below[state])
        decided = row >= 0
        assert np.all(leaves[:, decided] == row[decided])
        assert len(states) == 1 or problem.actions(state) or decided.all()


@KINDS
def test_random_leaves_are_those_of_random_play(make):
    problem, rng = make(), np.random.default_rng(0)
    state = problem.root()
    counts = {}
    for _ in range(1000):
        leaf, actions = Space(problem).walk(state, rng)
        counts[leaf] = counts.get(leaf, 0) + 1
        assert sorted(problem.coding.path_to(leaf), key=str) == sorted(actions, key=str)
    chances = {state: 1.0}
    for inner in all_states(problem):
        for action in problem.actions(inner):
            child = problem.step(inner, action)
            chances[child] = chances.get(child, 0.0) + chances[inner] / len(problem.actions(inner))
    leaves = leaves_of(problem)
    for leaf in leaves:
        expected = 1000 * chances[leaf] / sum(chances[other] for other in leaves)
        assert abs(counts.get(leaf, 0) - expected) < 5 * math.sqrt(expected)


@KINDS
def test_states_go_to_storage_and_to_other_processes(make):
    problem = make()
    for state in all_states(problem):
        assert problem.decode(problem.encode(state)) == state
        assert pickle.loads(pickle.dumps(state)) == state
        assert hash(pickle.loads(pickle.dumps(state))) == hash(state)
    assert all(problem.leaf(leaf) == leaf for leaf in leaves_of(problem))
    assert make().identity() == problem.identity()


@pytest.mark.parametrize(
    "make",
    [
        lambda reward: ds.problems.Subsets(5, 2, reward),
        lambda reward: Subsets(5, (1, 2), reward),
        lambda reward: Orders("abc", reward),
        lambda reward: Sequences("ab", 3, reward),
    ],
)
def test_a_stored_run_does_not_continue_with_a_reward_that_says_it_has_other_data(make, tmp_path):
    class Reward:
        def __init__(self, data):
            self.data = data

        def __call__(self, leaf):
            return float(len(leaf))

        def identity(self):
            return f"data {self.data}"

    ds.search(make(Reward(1)), budget=2, seed=0, storage=tmp_path / "j")
    with pytest.raises(ds.StorageError, match=r"its identity was (\w{8}… )?data 1, and is (\w{8}… )?data 2"):
        ds.search(make(Reward(2)), budget=3, seed=0, storage=tmp_path / "j")
    assert len(ds.search(make(Reward(1)), budget=3, seed=0, storage=tmp_path / "j").history) == 3


def rows(problem, leaves):
    return {tuple(row) for row in problem.coding.codes(list(leaves)).tolist()}


def found(problem, leaf):
    """Codes of the leaves around one; what the problem refuses is left out, as in a search."""
    moves = Space(problem).moves
    near = moves.around(problem.coding.codes([leaf])[0], 10_000, np.random.default_rng(0))
    as_rows = [tuple(row) for row in near.tolist()]
    assert len(set(as_rows)) == len(as_rows), "each once"
    assert near.shape[1] == problem.coding.layout.categories.size
    return {tuple(row.tolist()) for row in near if moves.way(row) is not None}


@pytest.mark.parametrize("kind", ["choices", "fixed", "letters allowed"])
def test_neighbours_have_one_place_changed(kind):
    problem = PROBLEMS[kind]()
    leaves = leaves_of(problem)
    codes = problem.coding.codes(leaves)
    for leaf, row in zip(leaves, codes, strict=True):
        assert found(problem, leaf) == {tuple(other) for other in codes[np.sum(codes != row, axis=1) == 1]}


@pytest.mark.parametrize("kind", ["free", "free, allowed"])
def test_neighbours_of_free_sequences_have_one_letter_changed_dropped_or_appended(kind):
    problem = PROBLEMS[kind]()
    leaves = set(leaves_of(problem))
    for leaf in leaves:
        near = {(*leaf, letter) for letter in "abc"}
        for i in range(len(leaf)):
            near |= {(*leaf[:i], letter, *leaf[i + 1 :]) for letter in "abc"}
            # Only places that may be absent are dropped: in the others a letter follows.
            near |= {leaf[:i] + leaf[i + 1 :]} if i >= problem._least else set()
        assert found(problem, leaf) == rows(problem, (near & leaves) - {leaf})


@pytest.mark.parametrize(
    "kind",
    [
        "range",
        "capacity",
        "capacity, one size",
        "names",
        "exclude",
    ],
)
def test_neighbours_of_subsets_have_one_choice_added_dropped_or_exchanged(kind):
    problem = PROBLEMS[kind]()
    leaves = leaves_of(problem)
    codes = problem.coding.codes(leaves)
    for leaf, row in zip(leaves, codes, strict=True):
        differ, change = np.sum(codes != row, axis=1), np.sum(codes - row, axis=1)
        near = codes[(differ == 1) | ((differ == 2) & (change == 0))]
        assert found(problem, leaf) == {tuple(other) for other in near.tolist()}


@KINDS
def test_every_leaf_can_be_told_as_a_person_writes_it(make):
    problem = make()
    search = ds.Search.default(problem, seed=0)
    for leaf in leaves_of(problem)[:5]:
        written = sorted(leaf) if isinstance(leaf, frozenset) else leaf
        assert search.tell(written, 1.0).leaf == leaf
        assert type(search.history[-1].leaf) is type(leaf)
        assert search.belief(written) == search.belief(leaf)


def test_a_complete_subset_is_a_frozenset_and_storage_holds_a_sorted_list():
    problem = Subsets(["b", "a", "c"], 2, lambda chosen: len(chosen & {"a", "b"}))
    leaf = ds.search(problem, budget=3, seed=0).best_state
    assert type(leaf) is frozenset
    assert leaf == {"a", "b"}
    assert json.dumps(problem.encode(leaf)) == "[0, 1]"
    assert note_to_json({"chosen": frozenset("cab")}) == {"chosen": ["a", "b", "c"]}


@pytest.mark.parametrize("kind", [kind for kind in PROBLEMS if Space(PROBLEMS[kind]()).allowed is not None])
def test_only_what_is_allowed_is_evaluated_and_all_of_it(kind):
    problem = PROBLEMS[kind]()
    leaves = set(leaves_of(problem))
    assert len(leaves) < len([state for state in all_states(problem) if not problem.actions(state)])
    for search in (ds.Search.default(problem, initial=4, seed=0), ds.Search.paper(problem, seed=0)):
        told = list(search.steps(max(len(leaves) // 2, 1)))
        assert all(problem.allowed(evaluation.leaf) for evaluation in told)
    result = ds.search(PROBLEMS[kind](), budget=1000, seed=0)
    assert result.stopped == "exhausted"
    assert {evaluation.leaf for evaluation in result.history} == leaves


def test_items_may_be_written_as_equal_numbers_and_others_are_named():
    problem = Subsets(6, 2, lambda chosen: float(sum(chosen)))
    search = ds.Search.default(problem, seed=0)
    told = search.tell({1.0, 2.0}, 3.0)
    assert sorted(map(repr, told.leaf)) == ["1", "2"]
    start = ds.search(problem, 3, start=[{1.0, 2.0}], known=[({0.0, 3.0}, 3.0)], seed=0)
    assert [sorted(map(repr, one.leaf)) for one in start.history[:2]] == [["0", "3"], ["1", "2"]]
    for bad in ({1.5, 2.0}, {"a", 1}, {1, 9}, 7, {1}, [[1], 2]):
        with pytest.raises(ds.ProblemError, match=r"is not a (complete )?subset of"):
            search.tell(bad, 1.0)
        with pytest.raises(ds.ProblemError, match=r"known\[0\]: .* is not a (complete )?subset of"):
            ds.search(problem, 3, known=[(bad, 1.0)])


def test_the_empty_set_can_be_best():
    problem = Subsets(4, (0, 4), reward=lambda chosen: -len(chosen))
    check_problem(problem)
    assert ds.search(problem, budget=16, seed=0).best_state == frozenset()
    assert problem.path_to(frozenset()) == (ds.problems.Size(0),)


def exchanged_or_reversed(order):
    """Orders with two items exchanged, or with one stretch reversed."""
    near = set()
    for i, j in combinations(range(len(order)), 2):
        swapped = list(order)
        swapped[i], swapped[j] = order[j], order[i]
        near |= {tuple(swapped), order[:i] + order[i : j + 1][::-1] + order[j + 1 :]}
    return near


def is_in_order(order, before):
    return not any(y == b and a in order[place:] for a, b in before for place, y in enumerate(order))


@pytest.mark.parametrize(
    ("items", "length", "before"),
    [
        ("abcde", 5, ["ab", "ac", "cd"]),
        ("aabbc", 5, []),
        ("aabbcd", 6, ["ab", "cd"]),
        ("abcde", 3, ["ab", "cd"]),
        ("aabbcd", 4, ["ac"]),
    ],
)
def test_orders_with_copies_and_precedence_are_all_of_these_and_no_others(items, length, before):
    problem = Orders(items, len, length=length, before=before)
    expected = {order[:length] for order in set(permutations(items)) if is_in_order(order, before)}
    assert set(leaves_of(problem)) == expected
    assert len(all_states(problem)) == len(
        {order[:level] for order in expected for level in range(length + 1)}
    )
    codes = problem.coding.codes(sorted(expected))
    for order, row in zip(sorted(expected), codes.tolist(), strict=True):
        for item in set(items):  # the k-th copy from the front has the k-th number of its item
            own = [code for code, placed in zip(row, order, strict=True) if placed == item]
            assert own == list(range(min(own), min(own) + len(own))) if own else True


@pytest.mark.parametrize(
    "kind",
    [kind for kind in PROBLEMS if kind.startswith(("order", "selection"))],
)
def test_neighbours_of_orders_are_exchanged_moved_reversed_or_replaced(kind):
    problem = PROBLEMS[kind]()
    leaves = set(leaves_of(problem))
    for leaf in leaves:
        near, n = exchanged_or_reversed(leaf), len(leaf)
        for i, j in product(range(n), repeat=2):
            moved = list(leaf)
            moved.insert(j, moved.pop(i))
            near.add(tuple(moved))
        near |= {(*leaf[:i], item, *leaf[i + 1 :]) for i in range(n) for item in problem.labels}
        assert found(problem, leaf) == rows(problem, (near & leaves) - {leaf})


@KINDS
def test_few_neighbours_are_drawn_from_all_of_them(make):
    problem, rng = make(), np.random.default_rng(0)
    space = Space(problem)
    moves = space.moves
    if not moves.certain or space.allowed is not None or problem.coding.neighbours is not None:
        return  # what is drawn may be refused, or be the same in several ways
    leaf = leaves_of(problem)[-1]
    near, row = found(problem, leaf), problem.coding.codes([leaf])[0]
    count = max(len(near) // 3, 1)
    drawn = [tuple(one) for _ in range(300) for one in moves.around(row, count, rng).tolist()]
    assert set(drawn) == near
    assert len(drawn) == 300 * count
    expected = len(drawn) / len(near)
    assert all(abs(drawn.count(one) - expected) < 5 * math.sqrt(expected) + 1 for one in near)


@pytest.mark.parametrize("base", [PROBLEMS["order"], PROBLEMS["fixed"]])
def test_a_subclass_with_other_actions_inherits_no_arrays(base):
    kind = type(base())

    class Other(kind):
        def actions(self, state):
            return super().actions(state)[:1]

    problem = base()
    assert Space(problem).coding is not None
    problem.__class__ = Other
    assert Space(problem).coding is None
    assert Space(problem).random_leaf is None
    assert Space(ds.as_tree(base())).coding is None


# Named choices ------------------------------------------------------------------------------------------


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


def test_a_name_has_the_same_place_and_categories_in_every_branch():
    problem = conditional()
    codes, layout = problem.coding.codes, problem.coding.layout
    assert layout.kind == "places"
    assert layout.categories.tolist() == [2, 3, 4, 4, 4, 2]  # three may be absent
    tree = problem.leaf({"seed": 1, "leaves": 2, "depth": 3, "model": "tree", "scaler": "none"})
    mean = problem.leaf({"model": "mean", "seed": 1, "scaler": "none"})
    assert codes([tree, mean]).tolist() == [[0, 1, 3, 2, 1, 1], [0, 2, 3, 3, 3, 1]]
    half = problem.step(problem.step(problem.root(), Decision("scaler", "none")), Decision("model", "tree"))
    assert codes([half]).tolist() == [[0, 1, -1, -1, -1, -1]]
    assert codes([problem.step(half, Decision("depth", 1))]).tolist() == [[0, 1, 3, 0, -1, -1]]


def test_the_choices_are_a_mapping():
    state = Chosen({"a": 1, "b": "x"})
    assert state == Chosen({"b": "x", "a": 1})
    assert hash(state) == hash(Chosen({"b": "x", "a": 1}))
    assert state == dict(state) == {"a": 1, "b": "x"}
    with pytest.raises(TypeError, match="are immutable"):
        state["c"] = 1


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
    problem = Choices(rare, described)
    assert problem.coding.layout.categories[-1] == 2
    leaf = problem.leaf({**{f"x{i}": 0 for i in range(6)}, "y": 2})
    assert problem.coding.codes([leaf])[0, -1] == -1
    assert problem.decode(problem.encode(leaf)) == leaf


def test_values_that_json_does_not_know_are_refused_when_they_are_stored():
    for options in ([math.sin, math.cos], [math.inf, -math.inf]):
        with pytest.raises(ds.ProblemError, match="use numbers, text, None or tuples"):
            StateCodec(Space(Choices({"x": options}, described)))
    problem = Choices({"a": [(1, ("b", None))], "b": lambda chosen: [True, 0.5]}, described)
    leaf = problem.leaf({"a": (1, ("b", None)), "b": 0.5})
    assert problem.encode(leaf) == [["a", {"tuple": [1, {"tuple": ["b", None]}]}], ["b", 0.5]]
    assert StateCodec(Space(problem)).decode(problem.encode(leaf)) == leaf


# What is refused ----------------------------------------------------------------------------------------

BAD_PROBLEMS = [
    (lambda: Subsets("abc", 4), "k must be a whole number between 1 and 3"),
    (lambda: Subsets("abc", (2, 1)), "or a pair of the smallest and the largest number"),
    (lambda: Subsets("abc", 2, allowed=3), "allowed must be a function of a complete subset, got 3"),
    (lambda: Subsets("aba", 2), "names contain 'a' twice"),
    (lambda: Subsets(0.5, 2), "whole number of at least 1, or a list of names"),
    (lambda: Subsets(5, 2.7), "k must be a whole number"),
    (lambda: Orders([1, [1]]), r"items contain \[1\], which is not hashable"),
    (lambda: Orders("abc", before=["ab", "bc", "ca"]), "'a' before 'b' before 'c' before 'a'|'b' before"),
    (lambda: Orders("abc", before=["aa"]), "before has a cycle, .* 'a' before 'a'"),
    (lambda: Orders("abc", before=["ad"]), "before must hold pairs of items, .* got 'ad'"),
    (lambda: Orders("abc", before=[3]), "before must hold pairs of items, such as .'a', 'b'., got 3"),
    (lambda: Orders([1, 2], length=3), "length must be a whole number between 1 and 2"),
    (lambda: Sequences("ab", 0), "length must be"),
    (lambda: Sequences("ab", 3, min_length=4), "min_length must be"),
    (lambda: Choices({}), "at least one"),
    (lambda: Choices({"a": []}), "options of 'a' are empty"),
    (lambda: Choices({"a": "xyz"}), "are the text 'xyz': pass a list"),
    (lambda: Choices({"a": {1, 2}}), "must be ordered"),
    (lambda: Choices({"a": [1, [2]]}), r"contain \[2\], which is not hashable"),
    (lambda: Choices({"a": [1, 2, 1.0]}), "contain 1.0 twice"),
    (lambda: Choices({"a": 3}), "must be a list, got 3"),
    (lambda: Choices({1: [2]}), "must be text, got 1"),
    (lambda: Choices({"a": lambda c: c["b"], "b": [1]}), "KeyError: 'b'.*or are listed later"),
    (lambda: Choices({"a": [1], "b": lambda c: 1 / 0}), "of 'b' for {'a': 1} failed .ZeroDivisionError"),
    (lambda: Choices({"a": [1], "b": lambda c: [[1]]}), r"contain \[1\], which is not hashable"),
    (lambda: Choices({"a": lambda c: itertools.count()}), "'a' are more than 50,000, or endless"),
    (lambda: Choices({"a": [1]}, len, 3), "allowed must be a function of complete choices, got 3"),
]


@pytest.mark.parametrize(("make", "message"), BAD_PROBLEMS, ids=[message for _, message in BAD_PROBLEMS])
def test_problems_that_cannot_be_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


GOOD = {"scaler": "none", "model": "mean", "seed": 0}


@pytest.mark.parametrize(
    ("problem", "leaf", "message"),
    [
        (Subsets(6, 3, len, allowed=fits), {3, 4, 5}, "is not allowed"),
        (Orders("abc", len), ("a", "a", "b"), "different items"),
        (Orders("add", before=["ad"]), ("d", "a", "d"), "'a' must come before 'd'"),
        (Orders("add", before=["ad"]), ("a", "a", "d"), r"of \['a', 'd'\], 'd' 2 times"),
        *(
            (Sequences("ab", 3, len, min_length=2), bad, "is not a sequence of this problem")
            for bad in (("a",), ("a", "c"), "ab", Prefix(("a", "b", "a")))
        ),
        (conditional(), {**GOOD, "seed": 3}, "3 cannot be chosen for 'seed'"),
        (conditional(), {**GOOD, "C": 1.0}, "'C' is not a choice"),
        (conditional(), {"scaler": "none"}, "'model' .* is not chosen"),
        (conditional(), (1, 2), r"\(1, 2\) is not a mapping from the names of choices to values"),
        (conditional(allowed=lambda c: c["seed"]), GOOD, "allowed returns false for it"),
    ],
)
def test_leaves_that_cannot_be_are_refused(problem, leaf, message):
    with pytest.raises(ds.ProblemError, match=message):
        ds.Search.default(problem, seed=0).tell(leaf, 1.0)
    with pytest.raises(ds.ProblemError, match=rf"known\[0\]: .*{message}"):
        ds.search(problem, 3, known=[(leaf, 1.0)])


def test_where_hardly_anything_is_allowed_an_error_says_to_write_actions():
    tried = []
    problem = Subsets(30, 10, len, allowed=lambda chosen: tried.append(chosen))
    with pytest.raises(ds.ProblemError, match=r"more than 10,000 random leaves .* actions\(state\)"):
        ds.search(problem, budget=5)
    assert len(tried) == 10_001
