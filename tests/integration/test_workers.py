"""Worker processes of ``n_jobs`` that die, hang, are slow to start, or are left alone."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import wait
from pathlib import Path

import pytest

import dagsearch as ds
from dagsearch.errors import EvaluationError
from dagsearch.run.pools import PoolError, ProcessDied, Processes, evaluate
from support.problems import (
    Dying,
    GatedAndPoisoned,
    Poisoned,
    Raising,
    SlowToLoad,
    Sum,
    Unloadable,
    Yielding,
    name_of,
    value,
)
from support.processes import PATIENCE, alive, environment, running, wait_until
from support.runs import events

LEAVES = [
    frozenset({0, 1, 2, 3}),
    frozenset({4, 5, 6, 7}),
    frozenset({8, 9, 10, 11}),
    frozenset({0, 4, 8, 12}),
]
POISONED = frozenset({0, 1, 2, 15})


def search_of(problem, **more):
    return ds.Search.default(problem, initial=4, seed=0, **more)


@pytest.fixture
def processes():
    """Makes processes, which end with the test."""
    made = []

    def make(problem, timeout=PATIENCE):
        made.append(Processes(problem, 4, timeout))
        return made[-1]

    yield make
    for one in made:
        one.shutdown()


def started(processes, leaves=LEAVES):
    return [processes.submit(evaluate, None, leaf) for leaf in leaves]


@pytest.mark.slow
def test_a_late_or_dying_evaluation_takes_no_other_with_it(tmp_path, processes):
    problem = GatedAndPoisoned(tmp_path)  # the leaf with 3 never ends, that with 15 kills its process
    several = processes(problem)
    others = started(several, LEAVES[1:3])
    wait_until(lambda: len(problem.begun()) == 2)
    several._timeout = 0.1  # of the third one
    (late,) = started(several, LEAVES[:1])
    with pytest.raises(TimeoutError, match="longer than the timeout"):
        late.result(timeout=PATIENCE)
    several._timeout = PATIENCE
    (bad,) = started(several, [POISONED])
    with pytest.raises(ProcessDied, match="SIGKILL, 3 times in a row"):
        bad.result(timeout=PATIENCE)
    problem.open()
    assert [one.result(timeout=PATIENCE) for one in others] == list(map(value, LEAVES[1:3]))
    assert len(problem.begun()) == 2 + 3  # none of the others for the second time


@pytest.mark.slow
def test_a_process_that_dies_does_its_work_again(tmp_path):
    result = search_of(Dying(tmp_path, deaths=2)).run(20, n_jobs=2)
    assert len({evaluation.leaf for evaluation in result.history}) == len(result.history) == 20
    assert len(list(tmp_path.glob("death*"))) == 2


@pytest.mark.slow
def test_a_leaf_that_kills_its_process_is_skipped(tmp_path):
    problem = Poisoned(tmp_path)
    result = search_of(problem).run(15, n_jobs=2, on_error="skip")
    assert all(15 not in evaluation.leaf for evaluation in result.history)
    poisoned = {name: times for name, times in problem.begun().items() if name.endswith("15")}
    assert set(poisoned.values()) == {3}
    assert len(result.history) + len(poisoned) == 15


KILLED = """
import sys
import dagsearch as ds
from support.problems import Poisoned
ds.Search.resume(sys.argv[1], Poisoned(sys.argv[2])).run(1)
"""


@pytest.mark.slow
def test_a_leaf_that_kills_the_search_is_skipped_once_a_worker_evaluates_it(tmp_path, caplog):
    problem, storage = Poisoned(tmp_path / "begun"), tmp_path / "run.db"
    (tmp_path / "begun").mkdir()
    search = search_of(problem, storage=storage)
    search.propose(POISONED)
    search.close()
    for _ in range(2):
        killed = subprocess.run([sys.executable, "-c", KILLED, storage, problem.folder], env=environment())
        assert killed.returncode == -signal.SIGKILL
    result = ds.search(problem, 4, storage=storage, n_jobs=1, on_error="skip")
    assert problem.begun()[name_of(POISONED)] == 2 + 3  # in the search, then in workers
    assert POISONED not in {one.leaf for one in result.history}
    assert len(events(storage, "forget")) + len(result.history) == 4
    assert "3 processes ended while they evaluated" in caplog.text
    assert "n_jobs=1" in caplog.text


def test_an_exception_that_cannot_be_unpickled_is_a_failure_of_its_leaf():
    with pytest.raises(EvaluationError, match="TwoArguments: 1 and 2"):
        search_of(Raising()).run(5, n_jobs=1)


def test_a_reward_that_cannot_be_pickled_is_a_failure_of_its_leaf():
    with pytest.raises(EvaluationError, match="generator"):
        search_of(Yielding()).run(5, n_jobs=1)


def test_only_the_worker_answers_not_a_process_that_it_has_forked():
    def forking(chosen):
        if os.fork() == 0 and 5 in chosen:
            raise OSError("the child has failed")
        return float(sum(chosen))

    history = ds.search(ds.problems.Subsets(9, 3, forking), 20, seed=0, n_jobs=1).history
    assert [one.reward for one in history] == [sum(one.leaf) for one in history]


def test_what_is_no_exception_is_a_failure_of_its_leaf_too():
    def interrupting(chosen):
        raise KeyboardInterrupt("no key was pressed")

    with pytest.raises(EvaluationError, match="KeyboardInterrupt: no key was pressed"):
        ds.search(ds.problems.Subsets(9, 3, interrupting), 5, n_jobs=1)


def test_exceptions_come_back_with_their_traceback():
    problem = ds.problems.Subsets(6, 2, reward=lambda chosen: 1 / 0)
    with pytest.raises(EvaluationError, match="ZeroDivisionError") as caught:
        search_of(problem).run(5, n_jobs=1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "<lambda>" in caught.value.__cause__.__notes__[0]


def test_the_timeout_does_not_count_the_start_of_the_worker(tmp_path, processes):
    (evaluation,) = started(processes(SlowToLoad(tmp_path / "gate"), timeout=2.0), LEAVES[:1])
    assert not wait([evaluation], timeout=2.5).done
    (tmp_path / "gate").touch()
    assert evaluation.result(timeout=PATIENCE) == value(LEAVES[0])


def test_a_problem_that_cannot_be_loaded_there_is_an_error_of_the_pool():
    search = search_of(Unloadable())
    with pytest.raises(PoolError, match="no such module here"):
        search.run(5, n_jobs=1, on_error="skip")
    assert search.pending == (search.ask(),)


RUN = """
import signal
import subprocess
import sys
import dagsearch as ds
from support.problems import Sleeping
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
ds.search(Sleeping(sys.argv[1]), 8, n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_workers_end_if_their_parent_does(tmp_path, how):
    with running([sys.executable, "-c", RUN, tmp_path], env=environment()) as parent:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2, parent)
        workers = [int(path.name) for path in tmp_path.iterdir()]
        assert all(map(alive, workers))
        os.kill(parent.pid, how)
        parent.wait(PATIENCE)
        wait_until(lambda: not any(map(alive, workers)))


def test_workers_and_threads_are_gone_after_a_run():
    before = set(threading.enumerate())  # threads of earlier tests may still end
    search_of(Sum()).run(6, n_jobs=2)
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_a_worker_has_a_session_of_its_own_and_an_empty_standard_input():
    problem = ds.problems.Subsets(
        4, 2, reward=lambda chosen: float(os.getsid(0) == os.getpid() and sys.stdin.read() == "")
    )
    assert search_of(problem).run(1, n_jobs=1).best_reward == 1.0


SCRIPT = """
import os
import sys
import dagsearch as ds

class State(tuple):
    pass

class Growing:
    def root(self):
        return ds.Step(State())

    def actions(self, state):
        return range(2)

    def expand(self, state, action):
        assert sys.argv[1:] == ["argument"]
        return ds.Step(State((*state, action)), value=float(sum(state) + action))

os.write(1, b"imported")
assert type(ds.search(Growing(), 4, n_jobs=2, seed=0).best_state) is State
"""


def test_a_script_needs_no_main_guard_and_keeps_its_classes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", "argument"]
    shown = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, check=True).stdout
    assert shown == b"imported"  # once
