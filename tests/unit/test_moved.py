"""Old import paths go on working, with a warning that names the new one."""

import importlib
import inspect

import pytest

import dagsearch as ds
from dagsearch._internal.moved import MODULES

OLD_NAMES = {
    "dagsearch.defaults": "default_covariance",
    "dagsearch.encoding": "to_json",
    "dagsearch.evidence": "Evidence",
    "dagsearch.freshness": "OnDemand",
    "dagsearch.journal": "JournalError",
    "dagsearch.neighbours": "best_swap",
    "dagsearch.optimum": "sample_optimum",
    "dagsearch.players": "DAGSearchPlayer",
    "dagsearch.plots": "score",
    "dagsearch.pools": "PoolError",
    "dagsearch.proofs": "WithProofs",
    "dagsearch.replay": "Replay",
    "dagsearch.report": "html_page",
    "dagsearch.rewards": "Standardizer",
    "dagsearch.stopping": "Stop",
    "dagsearch.walks": "random_walk",
}


@pytest.mark.parametrize("module", MODULES)
def test_an_old_module_gives_what_is_at_its_new_place(module):
    old = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{OLD_NAMES[module]} has moved to {MODULES[module]}"):
        found = getattr(old, OLD_NAMES[module])
    assert callable(found)


def test_old_modules_are_found_as_attributes():
    with pytest.warns(DeprecationWarning, match=r"learning\.refresh\.Lazy"):
        assert ds.freshness.OnDemand is ds.refresh.Lazy


def test_a_name_that_never_was_is_still_an_error():
    old = importlib.import_module("dagsearch.freshness")
    with pytest.raises(AttributeError):
        old.Sometimes  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ds.nonsense  # noqa: B018


def test_search_is_a_module_that_can_be_called():
    import dagsearch.search as module

    assert inspect.ismodule(module)
    assert module is ds.search
    assert list(inspect.signature(ds.search).parameters)[:2] == ["problem", "budget"]
    problem = ds.problems.Subsets(6, 2, reward=sum)
    assert module.search(problem, 15, seed=0) == ds.search(problem, 15, seed=0)


def test_what_the_docs_use_is_at_the_top():
    for name in ("Stop", "JournalError", "PoolError", "evidence", "refinements", "refresh", "proofs"):
        assert name in ds.__all__
        assert hasattr(ds, name)
