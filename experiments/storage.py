"""``python -m experiments.storage``: runs of many processes, kills, and the cost of storage.

- ``storm``: eight processes share a run, in SQLite and in PostgreSQL, and are killed repeatedly; every
  finished evaluation is counted from outside.
- ``crowd``: 50 processes with evaluations of a second, and 20 with evaluations of 10 ms, on one SQLite file.
- ``pace``: rewards per second, compared with Optuna's storages, in turns.
- ``long``: memory, size and time to resume after 20,000 evaluations.
- ``pending``: the time of an ask while 1,000 leaves are pending.

Times of ``long`` and ``pending`` are processor times of the one thread that searches. Writes
``results/storage/NAME.json`` with the versions and the commit. ``--quick`` runs small versions.
"""

import argparse
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import dagsearch as ds
from dagsearch.run.runner import Execution, until
from dagsearch.storage.database import database_of
from experiments.harness.runner import write_settings

SEED = 0
WEIGHTS = np.random.default_rng(SEED).normal(size=60)


def problem(seconds: float = 0.0, log: Path | None = None) -> ds.problems.Subsets:
    """Weights of 6 of 60 items; every finished evaluation is a line of the log."""

    def reward(chosen: frozenset[int]) -> float:
        time.sleep(seconds)
        if log is not None:
            with log.open("a") as file:
                file.write(f"{sorted(chosen)}\n")
        return float(WEIGHTS[sorted(chosen)].sum())

    return ds.problems.Subsets(60, 6, reward)


# Processes -------------------------------------------------------------------------------------------


def work(storage: str, budget: int, seconds: float, log: Path, initial: int) -> None:
    """Take part in a run until it is over."""
    measured = problem(seconds, log)
    with closing(ds.Search.default(measured, initial=initial, seed=SEED, storage=storage)) as search:
        for _ in until(search, budget, execution=Execution(lost_after=3.0)):
            pass


def start(storage: str, budget: int, seconds: float, log: Path, initial: int = 10) -> Any:
    """A process that takes part in a run."""
    process = get_context("spawn").Process(target=work, args=(storage, budget, seconds, log, initial))
    process.start()
    return process


def ended(processes: Iterable[Any]) -> list[int]:
    """The exit codes of processes once all have ended; an error's is 1."""
    return sorted({process.join() or process.exitcode for process in processes})


def counted(storage: str, log: Path) -> dict[str, Any]:
    """The events in a run's log, compared with the lines that its evaluations have written."""
    with closing(database_of(storage)) as database:
        events = list(database.events("run"))
    asks, tells = ([event for event in events if event.kind == kind] for kind in ("ask", "tell"))
    right = (float(WEIGHTS[event.body["leaf"]].sum()) for event in tells)
    finished = log.read_text().splitlines()
    return {
        "told": len(tells),
        "told twice": len(tells) - len({str(event.body["leaf"]) for event in tells}),
        "rewards of another leaf": sum(
            abs(event.body["reward"] - reward) > 1e-9 for event, reward in zip(tells, right, strict=True)
        ),
        "asked": len(asks),
        "taken over": sum(event.kind == "take" for event in events),
        "finished": len(finished),
        "finished twice": len(finished) - len(set(finished)),
        "seconds from the first ask to the last reward": tells[-1].time - asks[0].time,
    }


# Measurements ----------------------------------------------------------------------------------------


def storm(quick: bool, folder: Path) -> dict[str, Any]:
    """Kill processes of a run at random, in both kinds of database."""
    from experiments.gallery.indexes.server import embedded  # its packages' memory is not that of a run

    with embedded() as address:
        storages = {"SQLite": str(folder / "run.db"), "PostgreSQL": address}
        return {name: _storm(storage, quick, folder / name) for name, storage in storages.items()}


def _storm(storage: str, quick: bool, log: Path) -> dict[str, Any]:
    processes, kills, budget = (3, 6, 60) if quick else (8, 300, 3_000)
    log.touch()
    rng, killed = random.Random(SEED), 0
    running = [start(storage, budget, 0.05, log) for _ in range(processes)]
    while killed < kills and any(one.is_alive() for one in running):
        time.sleep(rng.uniform(0.1, 0.6))
        place = rng.randrange(processes)
        killed += running[place].is_alive()
        running[place].kill()
        running[place].join()
        running[place] = start(storage, budget, 0.05, log)
    return {"kills": killed, "exit codes": ended(running), **counted(storage, log)}


def crowd(quick: bool, folder: Path) -> dict[str, Any]:
    """Many processes on one SQLite file."""
    found = {}
    sizes = [(4, 16, 0.2), (3, 100, 0.01)] if quick else [(50, 500, 1.0), (20, 5_000, 0.01)]
    for name, (processes, budget, seconds) in zip(("slow", "fast"), sizes, strict=True):
        storage, log = str(folder / f"{name}.db"), folder / name
        log.touch()
        running = [start(storage, budget, seconds, log, initial=processes) for _ in range(processes)]
        found[name] = {
            "processes": processes,
            "seconds of an evaluation": seconds,
            "ideal seconds": budget * seconds / processes,
            "exit codes": ended(running),
            **counted(storage, log),
        }
    return found


def pace(quick: bool, folder: Path) -> dict[str, Any]:
    """Rewards per second: random leaves, stored one by one, here and by Optuna, in turns."""
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    rounds, rewards = (2, 20) if quick else (7, 300)
    rates: dict[str, list[float]] = {}
    for number in range(rounds):
        path = folder / str(number)
        journal = JournalStorage(JournalFileBackend(f"{path}.log"))
        rdb = f"sqlite:///{path}.optuna"
        peers = {"Optuna, RDBStorage": _optuna(rdb), "Optuna, JournalStorage": _optuna(journal)}
        with closing(ds.baselines.random_search(problem(), seed=SEED, storage=f"{path}.db")) as search:
            for name, run in {"dagsearch": search.run, **peers}.items():
                began = time.perf_counter()
                run(rewards)
                rates.setdefault(name, []).append(rewards / (time.perf_counter() - began))
    return {name: statistics.median(found) for name, found in rates.items()} | {"rewards": rewards}


def _optuna(storage: Any) -> Callable[[int], Any]:
    """A function that evaluates a number of random leaves with Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.RandomSampler(seed=SEED)
    study = optuna.create_study(storage=storage, sampler=sampler, direction="maximize")

    def objective(trial: Any) -> float:
        chosen = [trial.suggest_categorical(f"item {place}", list(range(60))) for place in range(6)]
        return float(WEIGHTS[chosen].sum())

    return lambda rewards: study.optimize(objective, n_trials=rewards)


def long(quick: bool, folder: Path) -> dict[str, Any]:
    """A long run, and the search resumed from it."""
    evaluations, storage = 200 if quick else 20_000, folder / "long.db"
    began = time.process_time()
    with closing(ds.Search.default(problem(), seed=SEED, storage=storage)) as search:
        search.run(evaluations)
        last = [evaluation.leaf for evaluation in search.history[-5:]]
    ran, memory = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    began = time.process_time()
    with closing(ds.Search.resume(storage, problem())) as resumed:
        took = time.process_time() - began
        assert last == [evaluation.leaf for evaluation in resumed.history[-5:]]
    return {
        "evaluations": evaluations,
        "seconds": ran,
        "peak memory, MB": memory,
        "size, MB": storage.stat().st_size / 1e6,
        "seconds to resume": took,
    }


def pending(quick: bool, folder: Path) -> dict[str, Any]:
    """The time of an ask after a tell, with many leaves pending."""
    waiting, rewards = (20, 60) if quick else (1_000, 20_000)
    search = ds.Search.default(problem(), seed=SEED)
    queue, took = search.ask(waiting), []
    for _ in range(rewards):
        proposal = queue.pop(0)
        search.tell(proposal, search.problem.reward(proposal.leaf))
        began = time.process_time()
        queue.append(search.ask())
        took.append(1e3 * (time.process_time() - began))
    return {
        "pending": waiting,
        "rewards": rewards,
        "milliseconds of an ask": float(np.mean(took)),
        "of the last 500": float(np.mean(took[-500:])),
        "median": float(np.median(took)),
        "95 of 100 are faster than": float(np.quantile(took, 0.95)),
    }


MEASUREMENTS = {one.__name__: one for one in (storm, crowd, pace, long, pending)}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m experiments.storage", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="run small versions")
    parser.add_argument("--out", type=Path, default=Path("results/storage"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            found = MEASUREMENTS[name](options.quick, Path(folder))
        about = {"seed": SEED, name: found, "quick": options.quick}
        print(write_settings(options.out, name, about).read_text(), flush=True)


if __name__ == "__main__":
    main()
