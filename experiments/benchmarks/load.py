"""``python -m experiments benchmark load``: a long run with a journal while workers die, join and leave.

Every evaluation writes to a log when it begins, so that it can be counted from outside which leaves were
evaluated how often. In the end the journal is resumed and compared with what the run knew.
"""

import importlib.util
import json
import logging
import math
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from dagsearch import Search
from dagsearch.problems import Subsets
from experiments.harness import markdown
from experiments.harness.runner import ExperimentError, Outcome, Row, read_rows, rounded

WORKERS = 8
ITEMS, CHOSEN = 60, 6

FIGURES = {
    "evaluations told": "{:,.0f}",
    "disturbances: workers killed, or changes of their number": "{:,.0f}",
    "rewards that the journal lacks or has otherwise": "{:,.0f}",
    "leaves told twice": "{:,.0f}",
    "evaluations begun again": "{:,.0f}",
    "seconds in all": "{:,.0f}",
    "milliseconds an evaluation, first tenth": "{:.1f}",
    "milliseconds an evaluation, last tenth": "{:.1f}",
    "peak memory of the search, MB": "{:,.0f}",
    "journal, MB": "{:.1f}",
}
"""What is measured of each kind of workers, and how it is shown."""

_WEIGHTS = np.random.default_rng(0).normal(size=ITEMS)


class Size(NamedTuple):
    """How large a run is."""

    evaluations: int = 20_000
    """Number of evaluations."""
    every: float = 10.0
    """Seconds between two disturbances."""


QUICK = Size(150, 1.0)


class Logged(Subsets):
    """6 of 60 items; an evaluation takes about 0.2 seconds, and writes its leaf to a log when it begins."""

    def __init__(self, log: Path) -> None:
        super().__init__(ITEMS, CHOSEN, reward=_value)
        self._log = str(log)

    def reward(self, leaf: frozenset[int]) -> float:
        """Write to the log, wait, and add the weights of the items."""
        with open(self._log, "a") as log:  # one short write, so lines of several processes do not mix
            log.write(f"{' '.join(map(str, sorted(leaf)))}\n")
        time.sleep(0.1 + 0.2 * (sum(leaf) % 7) / 7)  # longer than a step, so that workers are busy
        return _value(leaf)


def _value(leaf: frozenset[int]) -> float:
    return float(_WEIGHTS[sorted(leaf)].sum() + 0.5 * math.sin(sum(leaf)))


class Surroundings(NamedTuple):
    """Where evaluations run, and what happens to the workers."""

    execution: dict[str, Any]
    """Arguments of :meth:`dagsearch.Search.steps`."""
    disturb: Callable[[int], bool]
    """Called with the number of earlier disturbances; returns whether it has disturbed anything."""


@contextmanager
def processes() -> Iterator[Surroundings]:
    """Processes of ``n_jobs``, of which one is killed each time."""

    def disturb(number: int) -> bool:
        found = sorted(filter(_is_worker, _children()))
        if not found:
            return False
        os.kill(found[0], signal.SIGKILL)  # the oldest, in most cases, so that none is killed as it starts
        return True

    yield Surroundings({"n_jobs": WORKERS}, disturb)


def _children() -> list[int]:
    """Processes that the threads of this one have started; Linux lists them."""
    lists = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    return [int(child) for children in lists for child in children.split()]


def _is_worker(process: int) -> bool:
    """Whether a process evaluates for a search; one that has ended has no command."""
    return b"dagsearch.run.worker" in Path(f"/proc/{process}/cmdline").read_bytes()


@contextmanager
def cluster() -> Iterator[Surroundings]:
    """A Dask cluster on this machine, which loses half of its workers and gets others in turns."""
    from distributed import Client, LocalCluster

    make_cluster: Callable[..., Any] = LocalCluster  # it has no annotations
    make_client: Callable[..., Any] = Client
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}  # leaving workers complain
    with (
        make_cluster(n_workers=WORKERS, threads_per_worker=1, **quiet) as local,
        make_client(local) as client,
    ):

        def disturb(number: int) -> bool:
            local.scale(WORKERS if number % 2 else WORKERS // 2)
            return True

        yield Surroundings({"executor": client}, disturb)


KINDS = {"processes": processes, "Dask": cluster}
"""Kinds of workers."""
TITLES = {"processes": "processes, one killed each time", "Dask": "Dask workers that leave and join"}
"""What happens to workers of each kind."""


def run(size: Size, kinds: Sequence[str] = (), out: Path | None = None, progress: bool = True) -> Outcome:
    """Run under load with workers of each kind.

    Parameters
    ----------
    size : Size
        How large the run is.
    kinds : sequence of str
        Kinds of workers; all by default.
    out : Path, optional
        Folder with the results of an earlier run, from which the figures of other kinds are kept.
    progress : bool
        Whether to show the progress.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ExperimentError(f"load does not know {', '.join(unknown)}: choose among {', '.join(KINDS)}")
    chosen = [kind for kind in KINDS if not kinds or kind in kinds]
    if "Dask" in chosen and importlib.util.find_spec("distributed") is None:
        raise ExperimentError("load needs Dask: pip install 'dagsearch[dask]', or give --only processes")
    rows, cores = _kept(out, chosen)
    for kind in chosen:
        with tempfile.TemporaryDirectory() as folder, KINDS[kind]() as around:
            found = _measure(Path(folder), size, around, progress)
        rows += [Row(kind, what, 0, size.evaluations, rounded(found[what])) for what in FIGURES]
        cores[kind] = os.cpu_count()
    about = {"workers": WORKERS, "seconds between disturbances": size.every, "cores": cores}
    return Outcome("load", sorted(rows, key=lambda row: list(KINDS).index(row.method)), about)


def _kept(out: Path | None, chosen: Sequence[str]) -> tuple[list[Row], dict[str, int | None]]:
    """The rows of the kinds that are not run now, and the number of cores of each."""
    if out is None or not (out / "load.json").is_file():
        return [], {}
    rows = [row for row in read_rows(out / "load.csv.gz") if row.method not in chosen]
    return rows, json.loads((out / "load.json").read_text())["cores"]


def _measure(folder: Path, size: Size, around: Surroundings, progress: bool) -> dict[str, float]:
    """The figures of one run."""
    log, journal = folder / "log", folder / "run.db"
    problem = Logged(log)
    search = Search.default(problem, seed=0, journal=journal)
    began = last = time.perf_counter()
    disturbances = 0
    steps = search.steps(size.evaluations, **around.execution)
    for _ in tqdm(steps, total=size.evaluations, disable=not progress, unit="evaluation"):
        now = time.perf_counter()
        if now - last >= size.every and around.disturb(disturbances):
            disturbances, last = disturbances + 1, now
    seconds = time.perf_counter() - began
    told = [(evaluation.leaf, evaluation.reward) for evaluation in search.history]
    when = [evaluation.seconds for evaluation in search.history]
    search.close()
    kept = Search.resume(journal, problem)
    recorded = [(evaluation.leaf, evaluation.reward) for evaluation in kept.history]
    kept.close()
    begun = log.read_text().splitlines()
    values = (
        len(told),
        disturbances,
        sum(one != other for one, other in zip(told, recorded, strict=False))
        + abs(len(told) - len(recorded)),
        len(told) - len({leaf for leaf, _ in told}),
        len(begun) - len(set(begun)),
        seconds,
        _milliseconds(when[: max(1, len(when) // 10)]),
        _milliseconds(when[-max(1, len(when) // 10) :]),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        sum(path.stat().st_size for path in folder.glob("run.db*")) / 1e6,
    )
    return dict(zip(FIGURES, map(float, values), strict=True))


def _milliseconds(when: Sequence[float]) -> float:
    return 1e3 * (when[-1] - when[0]) / max(1, len(when) - 1)


def table(rows: Sequence[Row]) -> str:
    """The figures as a table of a page."""
    kinds = list(dict.fromkeys(row.method for row in rows))
    values = {(row.method, row.setting): row.value for row in rows}
    lines = [[what, *(shown.format(values[kind, what]) for kind in kinds)] for what, shown in FIGURES.items()]
    return markdown.table(["", *(TITLES[kind] for kind in kinds)], lines)


def summary(outcome: Outcome) -> str:
    """The figures of every kind of workers."""
    return markdown.aligned(table(outcome.rows))
