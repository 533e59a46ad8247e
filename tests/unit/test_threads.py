"""Linear algebra in one thread, in every thread of the process and in every part of a search."""

import threading

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


class OtherThread:
    """A thread that does one thing at a time, when told to."""

    def __init__(self):
        self._todo, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        while True:
            self._todo.acquire()
            self.returned = self._what()
            self._done.release()

    def do(self, what):
        self._what = what
        self._todo.release()
        self._done.acquire()
        return self.returned


def test_the_limit_holds_for_every_thread_until_the_last_has_left():
    first, second, other = one_thread(), one_thread(), OtherThread()
    with first:
        other.do(second.__enter__)
    assert counts() == {1}
    other.do(lambda: second.__exit__(None, None, None))
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
    def run(results):
        problem = ds.problems.Subsets(40, 4, reward=lambda chosen: float(np.sin(sum(chosen))))
        results.append(ds.Search.default(problem, initial=5, seed=0).run(25).history)

    alone, together = [], []
    run(alone)
    threads = [threading.Thread(target=run, args=(together,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def told(history):
        return [(evaluation.leaf, evaluation.reward) for evaluation in history]

    assert [told(history) for history in together] == 3 * [told(alone[0])]
    assert counts() == {MANY}
