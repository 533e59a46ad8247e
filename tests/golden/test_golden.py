"""What must not change unless somebody means to: a method that changes must say so here."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

import compositions
import runs
from conftest import ROOT, compiled_sources
from support.searches import methods_of_the_experiments

HERE = Path(__file__).parent
BASELINES = json.loads((HERE / "baselines.json").read_text())
COMPOSITIONS = json.loads((HERE / "compositions.json").read_text())
RUNS = json.loads((HERE / "runs.json").read_text())


def assert_same(found, expected):
    """Decisions are equal; beliefs are, but for rounding, which machines do differently."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name in ("decisions", "best"):
            assert found[name] == value, name
        else:
            assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name


@pytest.mark.parametrize("name", compositions.COMPOSITIONS)
def test_a_composition_ends_where_it_ended(name):
    assert_same(compositions.digest(compositions.COMPOSITIONS[name]()), COMPOSITIONS[name])


@pytest.mark.parametrize("name", runs.RESUME)
def test_a_stored_run_is_resumed_and_goes_on_as_it_did(name, tmp_path):
    found = runs.replayed(name, tmp_path)
    for when, expected in RUNS[name].items():
        assert_same(found[when], expected)


@pytest.mark.parametrize(
    ("name", "make"),
    list(methods_of_the_experiments()),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_method_of_the_experiments_ends_where_it_ended(name, make):
    search = make()
    leaves = [repr(sorted(e.actions)) for e in search.steps(40)]
    assert hashlib.sha256("".join(leaves).encode()).hexdigest()[:12] == BASELINES[name][0]
    if search.explored is not None:
        assert search.belief(search.problem.root()).v.mean == pytest.approx(BASELINES[name][1], abs=1e-6)


def test_every_composition_method_and_run_is_kept():
    assert COMPOSITIONS.keys() == compositions.COMPOSITIONS.keys()
    assert BASELINES.keys() == dict(methods_of_the_experiments()).keys()
    assert RUNS.keys() == runs.RESUME.keys() == runs.BEGIN.keys()


def test_an_edit_of_a_compiled_function_is_noticed(tmp_path):
    """Machine code made before the edit, also that of its callers in other modules, is not used after it."""
    copy = shutil.copytree(ROOT / "src" / "dagsearch" / "values", tmp_path / "values")
    before = compiled_sources(copy)
    assert compiled_sources(copy) == before
    edited = copy / "gaussians.py"
    edited.write_text(edited.read_text().replace("0.5", "0.51", 1))
    assert compiled_sources(copy) != before
    assert Path(os.environ["NUMBA_CACHE_DIR"]).name == compiled_sources(ROOT / "src")
