"""Importances on the page: elements of every kind of leaf, and neighbours that could exist."""

import pytest

import dagsearch as ds
from dagsearch.report.importance import _neighbours, effects_of
from dagsearch.report.leaves import Element, Shown, elements_of
from dagsearch.report.view import RunView
from dagsearch.storage.record import Observation, Record


def told_of(result):
    record = Record.of_result(result)
    return [Shown(elements_of(one, record), one.reward) for one in record.told]


def worth(result):
    return {str(part): importance for part, importance, _ in effects_of(told_of(result))}


def test_items_are_worth_what_replacing_them_costs():
    found = worth(ds.search(ds.problems.Subsets(10, 3, reward=sum), 60, seed=0))
    # The best set is {7, 8, 9}: without 9 it is {6, 7, 8}, and with 5 it is {5, 8, 9}.
    for item, value in ((9, 3.0), (8, 2.0), (7, 1.0), (6, -1.0), (5, -2.0)):
        assert found[str(item)].worth == pytest.approx(value, abs=0.3)
        assert (found[str(item)].probability > 0.5) == (value > 0.0)
    assert list(found)[:3] == ["9", "8", "7"]


def test_options_and_places_are_worth_the_difference_to_the_best_other():
    choices = worth(ds.maximize(lambda choose: 3 * choose("a", range(4)) + choose("b", range(3)), 12, seed=0))
    for part, value in (("a: 3", 3.0), ("a: 2", -3.0), ("b: 2", 1.0), ("b: 0", -2.0)):
        assert choices[part].worth == pytest.approx(value, abs=0.3)
    orders = worth(ds.search(ds.problems.Orders("abcd", reward=lambda o: float(o[0] == "c")), 20, seed=0))
    assert orders["1: c"].worth == pytest.approx(1.0, abs=0.1)
    assert next(iter(orders)) == "1: c"


def test_neighbours_are_leaves_of_the_same_kind():
    def parts(*values, places=True):
        return [Element(str(place) if places else "", value) for place, value in enumerate(values, start=1)]

    swaps = list(_neighbours(set(parts("a", "b", "c")), [Element("1", "b"), Element("3", "a")], True))
    assert swaps == [set(parts("b", "a", "c")), set(parts("c", "b", "a"))]
    others = list(_neighbours(set(parts("a", "b")), [Element("1", "x"), Element("9", "y")], True))
    assert others == [set(parts("x", "b"))]  # the leaf has no ninth place
    items = set(parts("a", "b", places=False))
    fixed = list(_neighbours(items, [Element("", "c")], True))
    assert {frozenset(part.value for part in leaf) for leaf in fixed} == {frozenset("ac"), frozenset("bc")}
    free = list(_neighbours(items, [Element("", "c")], False))
    assert {frozenset(part.value for part in leaf) for leaf in free} == set(map(frozenset, ("abc", "a", "b")))


def test_few_evaluations_and_parts_that_never_varied_say_nothing():
    told = [Shown([Element("", "always"), Element("", str(step % 3))], float(step % 3)) for step in range(20)]
    assert "always" not in {part.value for part, _, _ in effects_of(told)}
    assert effects_of(told[:9]) == []


def test_a_page_computes_effects_again_when_there_are_new_evaluations(monkeypatch):
    record, calls = Record(), []
    monkeypatch.setattr("dagsearch.report.view.effects_of", lambda told: calls.append(len(told)) or [])
    page = RunView("some", record)
    for step in range(44):
        record.add_told(Observation([step], None, float(step), 0.0, None))
        page.view(running=True)
    assert calls[:3] == [1, 2, 3]
    assert calls[-1] < 44
    page.view(running=False)
    assert calls[-1] == 44
