"""``python -m experiments.storage``: runs of many processes, kills, and what storage costs.

- ``storm``: eight processes share a run and are killed again and again; every finished evaluation is counted
  from outside. ``storm_postgres``: the same in PostgreSQL, a server of its own, by pgserver.
- ``crowd``: 50 processes with evaluations of a second, and 20 with evaluations of 10 ms, on one SQLite file.
- ``pace``: rewards told per second, beside Optuna's storages, in turns.
- ``long``: memory, size and time to resume after 20,000 evaluations.
- ``pending``: the time of an ask while 1,000 leaves are pending.

Writes ``results/storage/NAME.json`` with the versions and the commit. ``--quick`` runs small versions.
"""

import argparse
import importlib
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import dagsearch as ds
from dagsearch.run.runner import until
from dagsearch.storage.database import database_of
from experiments.harness.runner import commit

SEED = 0


def problem(seconds: float = 0.0, log: Path | None = None) -> ds.problems.Subsets:
    """Weights of 6 of 60 items; every finished evaluation is a line of the log."""
    weights = np.random.default_rng(SEED).normal(size=60)

    def reward(chosen: frozenset[int]) -> float:
        time.sleep(seconds)
        if log is not None:
            with log.open("a") as file:
                file.write(f"{sorted(chosen)}\n")
        return float(weights[sorted(chosen)].sum())

    return ds.problems.Subsets(60, 6, reward)


# What each process does ------------------------------------------------------------------------------


def work(storage: str, budget: int, seconds: float, log: str, initial: int) -> None:
    """Take part in a run until it is over."""
    search = ds.Search.default(problem(seconds, Path(log)), initial=initial, seed=SEED, storage=storage)
    for _ in until(search, budget, lost_after=3.0):
        pass
    search.close()


def start(
    storage: str, budget: int, seconds: float, log: Path, initial: int = 10
) -> "subprocess.Popen[bytes]":
    """A process that takes part in a run."""
    arguments = [storage, str(budget), str(seconds), str(log), str(initial)]
    command = [sys.executable, "-m", "experiments.storage", "work", *arguments]
    with log.with_suffix(".errors").open("ab") as errors:
        return subprocess.Popen(command, stderr=errors, env={**os.environ, "OMP_NUM_THREADS": "1"})


def counted(storage: str, log: Path) -> dict[str, Any]:
    """What the log of a run holds, beside what its evaluations have written themselves."""
    with closing(database_of(storage)) as database:
        events = list(database.events(database.run().name))
    told = [event for event in events if event.kind == "tell"]
    leaves = Counter(json.dumps(event.body["leaf"]) for event in told)
    right = {json.dumps(event.body["leaf"]): event.body["reward"] for event in told}
    wrong = sum(
        abs(problem().reward(frozenset(json.loads(leaf))) - reward) > 1e-9 for leaf, reward in right.items()
    )
    errors = log.with_suffix(".errors").read_text() if log.with_suffix(".errors").exists() else ""
    return {
        "told": len(told),
        "told twice": len(told) - len(leaves),
        "rewards of another leaf": wrong,
        "asked": sum(event.kind == "ask" for event in events),
        "taken over": sum(event.kind == "take" for event in events),
        "finished": len(log.read_text().splitlines()),
        "finished twice": sum(count - 1 for count in Counter(log.read_text().splitlines()).values()),
        "tracebacks": errors.count("Traceback"),
    }


# Measurements ----------------------------------------------------------------------------------------


def storm(quick: bool, folder: Path) -> dict[str, Any]:
    """Kill processes of a run in SQLite at random."""
    return _storm(str(folder / "run.db"), quick, folder)


def storm_postgres(quick: bool, folder: Path) -> dict[str, Any]:
    """The same in PostgreSQL."""
    server_of: Any = importlib.import_module("pgserver").get_server
    with server_of(folder / "postgres") as server:
        return _storm(server.get_uri(), quick, folder)


def _storm(storage: str, quick: bool, folder: Path) -> dict[str, Any]:
    processes, kills, budget = (3, 6, 60) if quick else (8, 300, 3_000)
    log = folder / "finished"
    log.touch()
    rng, began, killed = random.Random(SEED), time.perf_counter(), 0
    running = [start(storage, budget, 0.05, log) for _ in range(processes)]
    while killed < kills and any(one.poll() is None for one in running):
        time.sleep(rng.uniform(0.1, 0.6))
        place = rng.randrange(processes)
        if running[place].poll() is None:
            running[place].kill()
            killed += 1
        running[place].wait()
        running[place] = start(storage, budget, 0.05, log)
    codes = [one.wait() for one in running]
    seconds = time.perf_counter() - began
    return {"kills": killed, "exit codes": codes, "seconds": seconds, **counted(storage, log)}


def crowd(quick: bool, folder: Path) -> dict[str, Any]:
    """Many processes on one SQLite file."""
    found = {}
    sizes = {"slow": (4, 16, 0.2), "fast": (3, 100, 0.01)} if quick else {}
    for name, (processes, budget, seconds) in (
        sizes or {"slow": (50, 500, 1.0), "fast": (20, 5_000, 0.01)}
    ).items():
        storage, log = str(folder / f"{name}.db"), folder / name
        log.touch()
        began = time.perf_counter()
        running = [start(storage, budget, seconds, log, initial=processes) for _ in range(processes)]
        codes = {one.wait() for one in running}
        ended = time.perf_counter()
        with closing(database_of(storage)) as database:
            events = list(database.events("run"))
        asks = [event.time for event in events if event.kind == "ask"]
        tells = [event.time for event in events if event.kind == "tell"]
        found[name] = {
            "processes": processes,
            "seconds of an evaluation": seconds,
            "ideal seconds": budget * seconds / processes,
            "seconds from the first ask to the last reward": tells[-1] - asks[0],
            "seconds with the start of the processes": ended - began,
            "exit codes": sorted(codes),
            **counted(storage, log),
        }
    return found


def pace(quick: bool, folder: Path) -> dict[str, Any]:
    """Rewards per second: random leaves, stored one by one, here and by Optuna."""
    rounds, rewards = (2, 20) if quick else (7, 300)
    ways: dict[str, Callable[[Path], float]] = {
        "dagsearch": lambda path: _ours(path, rewards),
        "Optuna, RDBStorage": lambda path: _optuna(path, rewards, journal=False),
        "Optuna, JournalStorage": lambda path: _optuna(path, rewards, journal=True),
    }
    found: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds):
        for way, measure in ways.items():
            found[way].append(measure(folder / f"{way}{number}"))
    return {way: statistics.median(rates) for way, rates in found.items()} | {"rewards": rewards}


def _ours(path: Path, rewards: int) -> float:
    random_search = ds.baselines.random_search(problem(), seed=SEED, storage=f"{path}.db")
    began = time.perf_counter()
    random_search.run(rewards)
    rate = rewards / (time.perf_counter() - began)
    random_search.close()
    return rate


def _optuna(path: Path, rewards: int, journal: bool) -> float:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage: Any = f"sqlite:///{path}.db"
    if journal:
        storage = optuna.storages.JournalStorage(JournalFileBackend(f"{path}.log"))
    sampler = optuna.samplers.RandomSampler(seed=SEED)
    study = optuna.create_study(storage=storage, sampler=sampler, direction="maximize")
    weights = np.random.default_rng(SEED).normal(size=60)

    def objective(trial: Any) -> float:
        chosen = [trial.suggest_categorical(f"item {place}", list(range(60))) for place in range(6)]
        return float(weights[chosen].sum())

    began = time.perf_counter()
    study.optimize(objective, n_trials=rewards)
    return rewards / (time.perf_counter() - began)


def long(quick: bool, folder: Path) -> dict[str, Any]:
    """A long run, and the search that is resumed from it."""
    evaluations = 200 if quick else 20_000
    storage = folder / "long.db"
    search = ds.Search.default(problem(), seed=SEED, storage=storage)
    began = time.perf_counter()
    search.run(evaluations)
    ran = time.perf_counter() - began
    last = [evaluation.leaf for evaluation in search.history[-5:]]
    search.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    began = time.perf_counter()
    resumed = ds.Search.resume(storage, problem())
    took = time.perf_counter() - began
    assert last == [evaluation.leaf for evaluation in resumed.history[-5:]]
    resumed.close()
    size = storage.stat().st_size / 1e6
    return {
        "evaluations": evaluations,
        "seconds": ran,
        "peak memory, MB": memory,
        "size, MB": size,
        "seconds to resume": took,
    }


def pending(quick: bool, folder: Path) -> dict[str, Any]:
    """The time of an ask after a tell, with many leaves pending."""
    waiting, rewards = (20, 60) if quick else (1_000, 20_000)
    search = ds.Search.default(problem(), seed=SEED)
    queue = search.ask(waiting)
    took = []
    for number in range(rewards):
        search.tell(queue.pop(0), reward=search.problem.reward(search.pending[0].leaf))
        began = time.perf_counter()
        queue.append(search.ask())
        if number >= rewards - min(rewards, 500):
            took.append(time.perf_counter() - began)
    return {"pending": waiting, "rewards": rewards, "milliseconds of an ask": 1e3 * statistics.mean(took)}


MEASUREMENTS = {one.__name__: one for one in (storm, storm_postgres, crowd, pace, long, pending)}


def main() -> None:
    """Measure, print and write."""
    if sys.argv[1:2] == ["work"]:
        storage, budget, seconds, log, initial = sys.argv[2:]
        return work(storage, int(budget), float(seconds), log, int(initial))
    parser = argparse.ArgumentParser(prog="python -m experiments.storage", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="run small versions")
    parser.add_argument("--out", type=Path, default=Path("results/storage"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            found = MEASUREMENTS[name](options.quick, Path(folder))
        about = {"seed": SEED, "cores": os.cpu_count(), "python": platform.python_version()}
        about |= {"dagsearch": ds.__version__, "commit": commit(), "quick": options.quick}
        written = json.dumps({name: found, **about}, indent=1)
        (options.out / f"{name}.json").write_text(written + "\n")
        print(written, flush=True)
    return None


if __name__ == "__main__":
    main()
