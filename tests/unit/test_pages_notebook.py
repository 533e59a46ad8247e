"""The small live view in a notebook."""

import sys
from types import ModuleType

import pytest

import dagsearch as ds


class Display:
    """Stands for IPython's display of one cell."""

    def __init__(self):
        self.shown = []

    def module(self):
        module = ModuleType("IPython.display")
        module.HTML = lambda text: text

        def display(text, display_id):
            assert display_id
            self.shown.append(text)
            return self

        module.display = display
        return module

    def update(self, text):
        self.shown.append(text)


@pytest.fixture
def cell(monkeypatch):
    found = Display()
    monkeypatch.setitem(sys.modules, "IPython.display", found.module())
    return found


def test_the_cell_is_updated_until_the_end(cell):
    result = ds.search(ds.problems.Subsets(12, 3, reward=sum), 15, seed=0, progress="notebook")
    assert "No reward yet" in cell.shown[0]
    assert len(cell.shown) >= 3
    assert f"Best so far {result.best_reward:.4g}" in cell.shown[-1]
    assert "of 15" in cell.shown[-1]
    assert "<svg" in cell.shown[-1]
    assert not any("<script" in text for text in cell.shown)


def test_what_is_minimised_is_shown_in_its_own_sign(cell):
    result = ds.minimize(
        lambda choose: 3.0 + abs(choose("x", range(30)) - 7), 12, seed=0, progress="notebook"
    )
    assert f"Best so far {result.best_reward:.4g}" in cell.shown[-1]


def test_a_failure_leaves_the_cell_with_what_is_known(cell):
    def reward(chosen):
        if sum(chosen) > 25:
            raise OSError("no licence")
        return sum(chosen)

    with pytest.raises(ds.EvaluationError):
        ds.search(ds.problems.Subsets(12, 3, reward=reward), 40, seed=0, progress="notebook")
    assert "Best so far" in cell.shown[-1]


def test_without_ipython_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ModuleNotFoundError, match=r"dagsearch\[notebook\]"):
        ds.search(ds.problems.Subsets(6, 2, reward=sum), 5, seed=0, progress="notebook")
