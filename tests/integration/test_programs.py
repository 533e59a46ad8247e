"""Programs that evaluations start: they do not outlive the search."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import dagsearch as ds
from dagsearch.errors import EvaluationError
from dagsearch.run.programs import Watch
from support.problems import Programs, Sum, value
from support.processes import PATIENCE, alive, environment, running, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]

RUN = """
import sys
from concurrent.futures import ThreadPoolExecutor
import dagsearch as ds
from support.problems import Programs
where = {
    "serial": {}, "threads": {"executor": ThreadPoolExecutor(2)}, "processes": {"n_jobs": 2}
}[sys.argv[3]]
ds.search(Programs(sys.argv[1], sys.argv[2]), 8, **where)
"""


@pytest.fixture
def programs(tmp_path):
    """Makes problems; whatever they start is killed in the end."""
    made = []

    def make(how, **more):
        made.append(Programs(tmp_path, how, **more))
        return made[-1]

    yield make
    for process in [process for problem in made for process in problem.started()]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("how", ["child", "session", "shell"])
@pytest.mark.parametrize(("where", "count"), [("serial", 1), ("threads", 2), ("processes", 2)])
def test_programs_end_if_the_search_is_killed(where, count, how, signal_number, programs):
    problem = programs(how)
    command = [sys.executable, "-c", RUN, problem.folder, how, where]
    with running(command, env=environment()) as search:
        wait_until(lambda: len(problem.started()) == count, search)
        assert all(map(alive, problem.started()))
        os.kill(search.pid, signal_number)
        search.wait(PATIENCE)
        wait_until(lambda: not any(map(alive, problem.started())))


@pytest.mark.parametrize("how", ["child", "session", "shell"])
def test_programs_end_if_their_worker_dies(how, programs):
    problem = programs(how, dies=True)
    with pytest.raises(EvaluationError, match="SIGKILL, 3 times in a row"):
        ds.search(problem, 8, n_jobs=1)
    assert len(problem.started()) == 3
    wait_until(lambda: not any(map(alive, problem.started())))


@pytest.mark.parametrize("how", ["child", "session", "shell"])
def test_programs_end_with_a_late_evaluation(how, programs):
    problem = programs(how)
    search = ds.Search.default(problem, seed=0)
    search.run(1, n_jobs=1, timeout=2.0, on_error="skip")
    assert problem.started()
    wait_until(lambda: not any(map(alive, problem.started())))


class Calling(Sum):
    """Evaluations call a program that ends."""

    def reward(self, leaf):
        subprocess.run(["true"], check=True)
        return value(leaf)


def test_a_run_leaves_nothing_behind():
    before = dict(os.environ)
    marks = []

    class Looking(Calling):
        def reward(self, leaf):
            marks.append(set(os.environ) - set(before))
            return super().reward(leaf)

    children = Path(f"/proc/self/task/{os.getpid()}/children")
    for _ in range(2):
        ds.Search.default(Looking(), seed=0).run(3)
    assert dict(os.environ) == before
    assert [len(mark) for mark in marks] == [1] * 6
    assert marks[0] == marks[2] != marks[3]
    # A search that another test has left open may have a watchdog of its own.
    left = [Path(f"/proc/{child}/cmdline").read_text() for child in children.read_text().split()]
    assert not any(mark in command for mark in set().union(*marks) for command in left)


def test_the_watchdog_begins_with_the_first_program():
    watch = Watch()
    watch.open()
    try:
        assert watch._watchdog is None
        subprocess.run(["true"], check=True)
        assert watch._watchdog.poll() is None
    finally:
        watch.close()
    subprocess.run(["true"], check=True)
    assert watch._watchdog is None
