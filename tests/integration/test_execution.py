"""Evaluations in threads, processes and on a cluster."""

import subprocess
import sys
import threading
from concurrent.futures.process import BrokenProcessPool

import pytest

import dagsearch as ds
from dagsearch.errors import EvaluationError
from dagsearch.run.pools import PoolError
from support.executors import cluster, processes, threads
from support.problems import (
    Dying,
    Failing,
    Gated,
    Noisy,
    Poisoned,
    Raising,
    Sum,
    Yielding,
    name_of,
    value,
)
from support.processes import PATIENCE, environment, running, wait_until

distributed = pytest.importorskip("distributed")

BEST = value({12, 13, 14, 15})


def search_of(problem, seed=0):
    return ds.Search.default(problem, initial=8, seed=seed)


@pytest.fixture(params=["threads", "processes", "cluster"])
def executor(request):
    """One of each kind, with two or three workers."""
    if request.param == "threads":
        with threads(3) as made:
            yield made
    else:
        yield request.getfixturevalue(
            {"processes": "process_executor", "cluster": "local_cluster"}[request.param]
        )


def test_every_executor_finds_the_best_and_scores_nothing_twice(executor):
    search = search_of(Sum())
    result = search.run(60, executor=executor)
    assert len(result.history) == 60
    assert len({evaluation.leaf for evaluation in result.history}) == 60
    assert result.best_reward > BEST - 4.0
    assert (result.stopped, search.pending) == ("budget", ())


@pytest.mark.parametrize("executor", ["threads", "processes"], indirect=True)
def test_deterministic_runs_do_not_depend_on_the_timing(executor):
    results = [
        search_of(Sum(jitter)).run(40, executor=executor, deterministic=True) for jitter in (0.0, 0.02)
    ]
    found = [[evaluation.leaf for evaluation in result.history] for result in results]
    assert found[0] == found[1]


def test_with_one_worker_it_is_the_sequential_run():
    with threads(1) as executor:
        there = search_of(Sum()).run(30, executor=executor)
    assert there.history == search_of(Sum()).run(30).history


def test_stopping_waits_for_what_has_begun():
    with threads(4) as executor:
        search = search_of(Sum(jitter=0.01))
        result = search.run(200, ds.Stop(target=40.0), executor=executor)
    assert result.stopped == "target"
    assert len(result.history) < 200
    assert search.pending == ()


def test_everything_is_evaluated_once_if_the_budget_is_larger():
    with threads(5) as executor:
        result = search_of(ds.problems.Subsets(6, 2, reward=value)).run(100, executor=executor)
    assert (len(result.history), result.stopped) == (15, "exhausted")


def check_that_it_goes_on(search):
    """What was cut off is pending, and asked for first."""
    assert [search.ask() for _ in search.pending] == list(search.pending)


# What goes wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["threads", "processes"], indirect=True)
def test_an_evaluation_that_raises(executor):
    search = search_of(Failing())
    with pytest.raises(EvaluationError, match="no fifteen") as caught:
        search.run(60, executor=executor)
    assert caught.value.result.history == tuple(search.history[: len(caught.value.result.history)])
    check_that_it_goes_on(search)
    search = search_of(Failing())
    result = search.run(40, executor=executor, on_error="skip")
    assert all(15 not in evaluation.leaf for evaluation in result.history)
    assert 0 < len(result.history) < 40
    result = search_of(Failing()).run(40, executor=executor, on_error=-5.0)
    assert len(result.history) == 40
    assert {e.reward for e in result.history if 15 in e.leaf} == {-5.0}


def test_an_evaluation_that_hangs(tmp_path):
    problem = Gated(tmp_path)
    problem.open()
    with pytest.raises(EvaluationError, match="TimeoutError"):
        search_of(problem).run(100, n_jobs=2, timeout=0.2)


def test_noisy_rewards_are_computed_anew_on_a_cluster(local_cluster):
    search = ds.Search.default(Noisy(), noisy=True, initial=4, seed=0)
    result = search.run(20, executor=local_cluster)
    assert len({evaluation.reward for evaluation in result.history}) == 20


@pytest.mark.slow
def test_an_executor_that_breaks_is_an_error(tmp_path):
    search = search_of(Dying(tmp_path))
    with processes(2) as executor, pytest.raises(PoolError, match="stopped working") as caught:
        search.run(20, executor=executor)
    assert isinstance(caught.value.__cause__, BrokenProcessPool)
    assert len(search.run(20, n_jobs=2).history) >= 20
    assert search.pending == ()


@pytest.mark.parametrize(("problem", "message"), [(Yielding(), "generator"), (Raising(), "1 and 2")])
def test_what_cannot_come_back_is_a_failure_of_its_leaf(executor, problem, message):
    search = search_of(problem)
    with pytest.raises(EvaluationError, match=message):
        search.run(5, executor=executor)
    check_that_it_goes_on(search)


@pytest.mark.slow
def test_a_cluster_names_the_leaf_that_ends_its_workers(tmp_path):
    dask = pytest.importorskip("dask")
    problem, poisoned = Poisoned(tmp_path), frozenset({0, 1, 2, 15})
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster(2) as executor:
        result = ds.search(problem, 3, seed=0, executor=executor, on_error="skip", start=[poisoned])
    failed = {name for name in problem.begun() if name.endswith("15")}
    assert name_of(poisoned) in failed
    assert len(result.history) + len(failed) == 3


def test_a_client_of_a_cluster_is_an_executor(local_cluster):
    result = search_of(Sum()).run(12, executor=local_cluster._client)
    assert [evaluation.reward for evaluation in result.history] == [value(e.leaf) for e in result.history]


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Dask's, of its lost scheduler
def test_a_scheduler_that_goes_away_ends_the_run_cleanly(tmp_path):
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # A worker must be able to import what the problem is made of.
    settings = {**silent, "cwd": tmp_path, "env": environment()}
    there = ["--scheduler-file", tmp_path / "scheduler.json"]
    scheduler = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        *there,
        "--port",
        "0",
        "--no-dashboard",
    ]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", *there, "--nthreads", "2", "--no-nanny"]
    with running(scheduler, **settings) as scheduling, running(worker, **settings):
        wait_until(there[1].exists, scheduling)
        client = distributed.Client(scheduler_file=there[1], timeout=PATIENCE)
        client.wait_for_workers(1, timeout=PATIENCE)
        search = search_of(Sum(jitter=0.05))
        steps = search.steps(1000, executor=client.get_executor())
        for _ in range(5):
            next(steps)
        scheduling.kill()
        with pytest.raises((PoolError, EvaluationError)):
            list(steps)
        told = len(search.history)
        assert told >= 5
        assert len(search.run(5, n_jobs=2).history) == told + 5
        assert search.pending == ()
        client.close(timeout=1)


def test_what_cannot_travel_is_refused_before_anything_runs():
    locked = Sum()
    locked.lock = threading.Lock()
    with pytest.raises(ValueError, match="cannot be sent to another process"):
        search_of(locked).run(5, n_jobs=1)
    with threads(1) as executor:
        assert len(search_of(locked).run(5, executor=executor).history) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
        ({"timeout": 1.0}, "timeout needs n_jobs"),
        ({"n_jobs": 1, "timeout": 0.0}, "timeout must be"),
        ({"executor": "dask"}, "executor must have a submit"),
        ({"on_error": "ignore"}, "on_error must be"),
        ({"on_error": float("nan")}, "on_error must be"),
        ({"on_error": 1e200}, "on_error must be"),
    ],
)
def test_arguments_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        search_of(Sum()).run(5, **arguments)
