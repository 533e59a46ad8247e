"""Programs that evaluations in worker processes start: they end with their worker."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import dagsearch as ds
from dagsearch.errors import EvaluationError
from dagsearch.run.pools import make_pool
from support.clock import Clock
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


def test_programs_end_with_a_late_evaluation(how, programs, monkeypatch):
    problem, clock = programs(how), Clock()
    monkeypatch.setattr("dagsearch.run.processes.time", SimpleNamespace(monotonic=clock))
    pool = make_pool(problem, None, n_jobs=1, timeout=PATIENCE, deterministic=False)
    try:
        evaluation = pool.start(problem, ds.Proposal(frozenset({0, 1, 2, 3}), ()))
        wait_until(problem.started)
        while not pool.finished([evaluation], patience=1.0):
            clock.advance(PATIENCE)
        assert isinstance(evaluation.future.exception(), TimeoutError)
        wait_until(lambda: not any(map(alive, problem.started())))
    finally:
        pool.close()
