"""Linear algebra in one thread, in every thread of the process and in every part of a search."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dagsearch as ds
from dagsearch._internal.threads import libraries, one_thread, set_threads

MANY = 3


def counts():
    return {library.get_num_threads() for library in libraries()}


@pytest.fixture(autouse=True)
def many_threads():
    """Several threads of BLAS, as on any machine with several cores."""
    before = [library.get_num_threads() for library in libraries()]
    for library in libraries():
        set_threads(library, MANY)
    yield
    for library, threads in zip(libraries(), before, strict=True):
        set_threads(library, threads)


def test_the_limit_holds_for_every_thread_until_the_last_has_left():
    with ThreadPoolExecutor(1) as other:
        with one_thread:
            other.submit(one_thread.__enter__).result()
        assert counts() == {1}
        other.submit(one_thread.__exit__, None, None, None).result()
        assert counts() == {MANY}


class Watched(ds.problems.Subsets):
    """Notes how many threads BLAS has whenever the model asks for features."""

    seen: set

    def codes(self, states):
        self.seen |= counts()
        return super().codes(states)

    def items(self, state):
        self.seen |= counts()
        return super().items(state)

    def covers(self, *whats):
        self.seen.clear()
        for what in whats:
            what()
        return self.seen == {1}


def watched():
    problem = Watched(600, 3, reward=lambda chosen: float(sum(chosen)))
    problem.seen = set()
    return problem


@pytest.mark.parametrize("make", [ds.Search.default, ds.Search.paper])
def test_every_part_of_a_search_computes_in_one_thread(make, tmp_path):
    problem, stranger, path = watched(), frozenset({0, 300, 599}), tmp_path / "run.db"
    settings = {"initial": 4} if make == ds.Search.default else {"standardize": 4}
    search = make(problem, seed=0, storage=path, **settings)
    assert problem.covers(lambda: search.run(12), lambda: search.tell(stranger, 1.0), search.recommend)
    search.close()
    assert problem.covers(lambda: ds.Search.resume(path, problem).close())
    assert counts() == {MANY}


def test_searches_in_several_threads_compute_the_same():
    def run(_):
        problem = ds.problems.Subsets(40, 4, reward=lambda chosen: float(np.sin(sum(chosen))))
        history = ds.Search.default(problem, initial=5, seed=0).run(25).history
        return [(evaluation.leaf, evaluation.reward) for evaluation in history]

    with ThreadPoolExecutor(3) as executor:
        assert list(executor.map(run, range(3))) == 3 * [run(0)]
    assert counts() == {MANY}
