"""Programs that evaluations in worker processes start: they end with their worker."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import dagsearch as ds
from dagsearch.errors import EvaluationError
from dagsearch.run.pools import Processes, evaluate
from support.problems import Programs
from support.processes import PATIENCE, alive, environment, running, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
    pytest.mark.parametrize("how", ["child", "shell"]),
]

RUN = """
import sys
import dagsearch as ds
from support.problems import Programs
ds.search(Programs(sys.argv[1], sys.argv[2]), 8, n_jobs=2)
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
def test_programs_end_if_the_search_is_killed(how, signal_number, programs):
    problem = programs(how)
    with running([sys.executable, "-c", RUN, problem.folder, how], env=environment()) as search:
        wait_until(lambda: len(problem.started()) == 2, search)
        assert all(map(alive, problem.started()))
        os.kill(search.pid, signal_number)
        search.wait(PATIENCE)
        wait_until(lambda: not any(map(alive, problem.started())))


def test_programs_end_if_their_worker_dies(how, programs):
    problem = programs(how, dies=True)
    with pytest.raises(EvaluationError, match="SIGKILL, 3 times in a row"):
        ds.search(problem, 8, n_jobs=1)
    assert len(problem.started()) == 3
    wait_until(lambda: not any(map(alive, problem.started())))


def test_programs_end_with_a_late_evaluation(how, programs):
    problem = programs(how)
    processes = Processes(problem, 1, timeout=2.0)
    try:
        with pytest.raises(TimeoutError, match="longer than the timeout"):
            processes.submit(evaluate, problem, frozenset({0, 1, 2, 3})).result(PATIENCE)
        assert problem.started()
        wait_until(lambda: not any(map(alive, problem.started())))
    finally:
        processes.shutdown()
