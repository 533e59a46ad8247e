"""Choices, orders and sequences: the problems, and their states as arrays."""

import json
import math
import pickle
from itertools import combinations, permutations, product

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.problems import Choices, Orders, Prefix, Sequences, Subsets
from dagsearch.space import Space
from dagsearch.space.moves import moves_in
from dagsearch.storage.encoding import note_to_json
from dagsearch.testing import check_problem
from support.small import all_states, leaves_of

WEIGHTS = np.array([2.0, 3.0, 1.5, 5.0, 6.5, 4.0])


def fits(chosen):
    return WEIGHTS[sorted(chosen)].sum() <= 13


def described(chosen):
    return len(str(sorted(chosen.items(), key=str)))


def conditional():
    return Choices(
        {
            "scaler": ["none", "standard"],
            "model": ["svm", "tree", "mean"],
            "C": lambda chosen: [0.1, 1.0, 10.0] if chosen["model"] == "svm" else None,
            "depth": lambda chosen: range(1, 4) if chosen["model"] == "tree" else (),
            "leaves": lambda chosen: range(1, chosen["depth"] + 1) if "depth" in chosen else None,
            "seed": [0, 1],
        },
        described,
    )


PROBLEMS = {
    "choices": lambda: Choices({"a": [1, 2, 3], "b": ["x", "y"], "c": [None, (1, 2), 0.5]}, described),
    "conditional choices": conditional,
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
    "one size": lambda: Subsets(6, (3, 3), len),
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
def test_few_leaves_are_all_of_them_each_once(make):
    problem = make()
    leaves = Space(problem).few_leaves
    assert len(leaves) == len(set(leaves))
    assert set(leaves) == set(leaves_of(problem))


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
    for _ in range(3000):
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
        expected = 3000 * chances[leaf] / sum(chances[other] for other in leaves)
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
    with pytest.raises(ds.StorageError, match=r"its identity was data 1, and is data 2"):
        ds.search(make(Reward(2)), budget=3, seed=0, storage=tmp_path / "j")
    assert len(ds.search(make(Reward(1)), budget=3, seed=0, storage=tmp_path / "j").history) == 3


@KINDS
def test_a_stored_run_resumes(make, tmp_path):
    whole = ds.search(make(), budget=12, seed=1)
    ds.search(make(), budget=6, seed=1, storage=tmp_path / "j")
    resumed = ds.search(make(), budget=6, seed=1, storage=tmp_path / "j")
    assert len(resumed.history) == 6
    search = ds.Search.resume(tmp_path / "j", make())
    result = search.run(6)
    assert len(result.history) == 12
    assert len({e.leaf for e in result.history}) == len({e.leaf for e in whole.history}) == 12


def rows(problem, leaves):
    return {tuple(row) for row in problem.coding.codes(list(leaves)).tolist()}


def found(problem, leaf):
    """Codes of the leaves around one; what the problem refuses is left out, as in a search."""
    moves = moves_in(Space(problem))
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
        "one size",
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": "abc", "k": 4}, "k must be a whole number between 1 and 3"),
        ({"n": "abc", "k": (2, 1)}, "or a pair of the smallest and the largest number"),
        ({"n": "abc", "k": 2, "allowed": 3}, "allowed must be a function of a complete subset, got 3"),
        ({"n": "aba", "k": 2}, "names contain 'a' twice"),
        ({"n": 5, "k": 2, "reward": 3}, "reward must be a function of a leaf, got 3"),
        ({"n": 0.5, "k": 2}, "whole number of at least 1, or a list of names"),
        ({"n": 5, "k": 0}, "k must be"),
        ({"n": 5, "k": 2.7}, "k must be a whole number"),
    ],
)
def test_subsets_that_cannot_be_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        Subsets(**{"reward": len, **settings})


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


@pytest.mark.parametrize(
    "kind", ["capacity", "capacity, one size", "exclude", "letters allowed", "free, allowed"]
)
def test_only_what_is_allowed_is_evaluated_and_all_of_it(kind):
    problem = PROBLEMS[kind]()
    leaves = set(leaves_of(problem))
    assert len(leaves) < len([state for state in all_states(problem) if not problem.actions(state)])
    for search in (ds.Search.default(problem, initial=4, seed=0), ds.Search.paper(problem, seed=0)):
        told = list(search.steps(len(leaves) // 2))
        assert all(problem.allowed(evaluation.leaf) for evaluation in told)
    result = ds.search(PROBLEMS[kind](), budget=1000, seed=0)
    assert result.stopped == "exhausted"
    assert {evaluation.leaf for evaluation in result.history} == leaves


def test_what_is_not_allowed_cannot_be_told():
    search = ds.Search.default(Subsets(6, 3, len, allowed=fits), seed=0)
    with pytest.raises(ds.ProblemError, match="is not allowed"):
        search.tell({3, 4, 5}, 1.0)
    with pytest.raises(ds.ProblemError, match=r"known\[0\]: .* is not allowed"):
        ds.search(Subsets(6, 3, len, allowed=fits), 3, known=[({3, 4, 5}, 1.0)])
    assert search.tell({0, 1, 2}, 1.0).leaf == {0, 1, 2}


def test_where_hardly_anything_is_allowed_an_error_says_to_write_actions():
    tried = []

    def allowed(chosen):
        tried.append(chosen)
        return False

    with pytest.raises(
        ds.ProblemError, match=r"false for more than 10,000 random leaves .* actions\(state\)"
    ):
        ds.search(Subsets(30, 10, len, allowed=allowed), budget=5)
    assert len(tried) == 10_001


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


def test_an_order_that_breaks_the_precedence_cannot_be_told():
    search = ds.Search.default(Orders(["paint", "dry", "dry"], before=[("paint", "dry")]), seed=0)
    with pytest.raises(ds.ProblemError, match="'paint' must come before 'dry'"):
        search.tell(("dry", "paint", "dry"), 1.0)
    with pytest.raises(ds.ProblemError, match="of \\['paint', 'dry'\\], 'dry' 2 times"):
        search.tell(("paint", "paint", "dry"), 1.0)


def test_a_hundred_items_with_precedence_have_possible_neighbours():
    rng = np.random.default_rng(0)
    before = [tuple(sorted(pair)) for pair in rng.choice(100, size=(150, 2)).tolist() if pair[0] != pair[1]]
    problem = Orders(range(100), len, before=before)
    leaf, path = problem.random_leaf((), rng)
    assert Space(problem).replayed(path) == leaf
    moves = moves_in(Space(problem))
    near = moves.around(problem.coding.codes([leaf])[0], 1000, rng)
    assert len([row for row in near if moves.way(row) is not None]) > 10


@KINDS
def test_few_neighbours_are_drawn_from_all_of_them(make):
    problem, rng = make(), np.random.default_rng(0)
    space = Space(problem)
    moves = moves_in(space)
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


def test_orders_and_sequences_that_cannot_be_are_refused():
    for make, message in [
        (lambda: Orders([1, [1]], len), r"items contain \[1\], which is not hashable"),
        (lambda: Orders("abc", before=["ab", "bc", "ca"]), "'a' before 'b' before 'c' before 'a'|'b' before"),
        (lambda: Orders("abc", before=["aa"]), "before has a cycle, .* 'a' before 'a'"),
        (lambda: Orders("abc", before=["ad"]), "before must hold pairs of items, .* got 'ad'"),
        (lambda: Orders("abc", before=[("a",)]), r"before must hold pairs of items, .* got \('a',\)"),
        (lambda: Orders("abc", before=[3]), "before must hold pairs of items, .* got 3"),
        (lambda: Orders("abc", 3), "reward must be a function of a leaf, got 3"),
        (lambda: Orders([1, 2], len, length=3), "length must be a whole number between 1 and 2"),
        (lambda: Sequences("ab", 0, len), "length must be"),
        (lambda: Sequences("ab", 3, len, min_length=4), "min_length must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ds.ProblemError, match="different items"):
        Orders("abc", len).leaf(("a", "a", "b"))
    problem = Sequences("ab", 3, len, min_length=2)
    for bad in [("a",), ("a", "c"), "ab", Prefix(("a", "b", "a"))]:
        with pytest.raises(ds.ProblemError, match="is not a sequence of this problem"):
            problem.leaf(bad)


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
