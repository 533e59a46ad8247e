"""Many sequences of operations, in several processes, until enough operations were carried out."""

import gc
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from experiments.harness.runner import prepare_worker, stop_workers

_MEMORY = Path("/dev/shm")


class Failure(NamedTuple):
    """A promise that was broken."""

    kind: str
    """Kind of search."""
    seed: int
    """Reproduces it, together with the kind."""
    error: str
    """What was found."""
    steps: Sequence[str]
    """The operations."""


class Found(NamedTuple):
    """What the sequences of one seed found."""

    kind: str
    """Kind of search."""
    seed: int
    """The seed."""
    figures: Counter[str]
    """What was tried, and what went wrong."""
    failures: Sequence[Failure]
    """Broken promises: Hypothesis stops at the first one."""


def attack(kind: str, seed: int) -> Found:
    """Attack a kind of search with the sequences of operations that a seed stands for."""
    import hypothesis
    from hypothesis.stateful import run_state_machine_as_test

    from tests.durable.attacks.machine import machine_of

    figures: Counter[str] = Counter()
    machine = hypothesis.seed(seed)(machine_of(kind, figures))
    settings = hypothesis.settings(
        max_examples=machine.sequences,
        stateful_step_count=machine.steps,
        deadline=None,
        database=None,
        print_blob=False,
        phases=[hypothesis.Phase.generate],  # to make a failure smaller would take long
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=settings)
    except Exception as error:
        steps = "\n".join(getattr(error, "__notes__", ())).splitlines()
        return Found(kind, seed, figures, [Failure(kind, seed, f"{type(error).__name__}: {error}", steps)])
    return Found(kind, seed, figures, [])


def campaign(
    kinds: Sequence[str], seed: int, operations: int, seconds: float, jobs: int, progress: bool
) -> Iterator[Found]:
    """Attack the kinds in turns, with one seed after the other, until there are enough operations.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of search.
    seed : int
        The first seed.
    operations : int
        Number of operations after which no further sequences begin.
    seconds : float
        Number of seconds after which no further sequences begin.
    jobs : int
        Number of processes.
    progress : bool
        Whether to show the progress.
    """
    began, number, done = time.perf_counter(), 0, 0
    running: dict[Future[Found], tuple[str, int]] = {}
    with (
        tqdm(total=operations, disable=not progress, unit="operation", unit_scale=True) as bar,
        ProcessPoolExecutor(jobs, initializer=_prepare) as pool,
    ):
        while True:
            while len(running) < jobs and done < operations and time.perf_counter() - began < seconds:
                task = kinds[number % len(kinds)], seed + number
                running[pool.submit(attack, *task)] = task
                number += 1
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                try:
                    found = future.result()
                except BrokenProcessPool as error:
                    stop_workers()
                    yield Found(*task, Counter(), [Failure(*task, f"a process died: {error}", [])])
                    return
                done += found.figures["operations"]
                bar.update(found.figures["operations"])
                yield found


def _prepare() -> None:
    """Set up a worker process."""
    prepare_worker()
    logging.getLogger("dagsearch").setLevel(logging.ERROR)  # it warns of journals that never began
    if os.access(_MEMORY, os.W_OK):
        tempfile.tempdir = str(_MEMORY)  # what a disk does at a sync is decided by the layer above
    gc.freeze()  # what was imported is not searched for garbage again and again
