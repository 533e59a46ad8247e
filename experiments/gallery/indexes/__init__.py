"""Which indexes? PostgreSQL: chosen for a workload, by its planner."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.indexes.candidates import WORKLOAD, candidates, read_workload
from experiments.gallery.indexes.data import load
from experiments.gallery.indexes.methods import Saving, alike, index_choice, methods, share
from experiments.gallery.indexes.planner import Planner, open_planner
from experiments.gallery.indexes.server import connected

ABOUT, BUDGET, SMALL = "Choose indexes for a workload, by PostgreSQL's planner.", 200, 30
_SMALL_SCALE, _SMALL_QUERIES = 0.001, 6


def options(parser: argparse.ArgumentParser) -> None:
    """The application's own options."""
    parser.add_argument("--k", type=int, default=5, help="largest number of indexes (default: %(default)s)")
    parser.add_argument(
        "--storage-mb",
        type=float,
        help="storage that the indexes may take (default: 20 %% of the storage of the workload's tables)",
    )
    parser.add_argument("--dsn", help="your own server, such as postgresql://user@host/database")
    parser.add_argument(
        "--workload", type=Path, metavar="FILE", help="your own queries, separated by semicolons; needs --dsn"
    )
    parser.add_argument("--scale", type=float, default=0.01, help="scale of the data (default: %(default)s)")
    parser.add_argument("--patience", type=int, help="stop after so many evaluations without a better one")


@contextmanager
def _opened(options: argparse.Namespace) -> Iterator[tuple[Planner, float, str]]:
    """The planner of the workload, the limit in bytes, and the server's version."""
    if options.workload is not None and options.dsn is None:
        raise SystemExit("--workload needs --dsn: the embedded server has the data of our own workload only")
    with connected(options.dsn) as connection:
        version = connection.info.parameter_status("server_version")
        print(f"PostgreSQL {version}, {'your server' if options.dsn else 'embedded'}", flush=True)
        options.scale = _SMALL_SCALE if options.small else options.scale
        if options.dsn is None:
            load(connection, options.scale)
        queries = read_workload(options.workload or WORKLOAD)[-_SMALL_QUERIES if options.small else 0 :]
        with open_planner(connection, queries, candidates(connection, queries)) as planner:
            storage = _storage(connection, planner, options)
            print(
                f"{len(planner.queries)} queries, {len(planner.indexes)} candidates; choosing at most "
                f"{options.k} of them, of at most {storage / 1e6:.1f} MB ({planner.how})",
                flush=True,
            )
            yield planner, storage, str(version)


def _storage(connection: psycopg.Connection[Any], planner: Planner, options: argparse.Namespace) -> float:
    """The limit in bytes."""
    if options.storage_mb is not None:
        return float(options.storage_mb) * 1e6
    names = sorted({f'"{index.table}"' for index in planner.indexes})
    row = connection.execute(
        "SELECT sum(pg_table_size(name::regclass)) FROM unnest(%s::text[]) name", (names,)
    ).fetchone()
    assert row is not None
    return 0.2 * float(row[0])


def run(options: argparse.Namespace) -> None:
    """Search, and print and write the statements that make the indexes."""
    with _opened(options) as (planner, storage, _):
        _search(planner, storage, options)


def _search(planner: Planner, storage: float, options: argparse.Namespace) -> None:
    result = frame.solve(
        ds.search,
        index_choice(planner, options.k, storage, Saving(planner)),
        options,
        covariance=ds.covariances.SetKernel(alike(planner.indexes)),
        patience=options.patience,
    )
    if result is None or result.best_reward is None:
        return
    chosen = [planner.indexes[number] for number in sorted(result.best_state)]
    used = sum(planner.sizes[number] for number in result.best_state)
    print(
        f"after {len(result.history)} evaluations ({result.stopped}): cost {share(result.best_reward):.4f} "
        f"of that without these indexes, {used / 1e6:.1f} MB"
    )
    statements = "".join(f"{index.statement};\n" for index in chosen)
    (options.out / "indexes.sql").write_text(statements)
    print(f"{statements}wrote {options.out / 'indexes.sql'}")


def compare(options: argparse.Namespace) -> None:
    """All methods; writes the files of the comparison and the table in the README."""
    with _opened(options) as (planner, storage, version):
        _compare(planner, storage, version, options)


def _compare(planner: Planner, storage: float, version: str, options: argparse.Namespace) -> None:
    compared = methods(planner, options.k, storage)
    reward = Saving(planner)
    greedy = {name: compared.pop(name) for name in list(compared) if name.startswith("greedy")}
    most = options.budget if options.small else 10**9
    without_seed = frame.compare([frame.Contest(greedy, reward, most, share)], seeds=1)
    spent = len(without_seed[0].best)
    runs = frame.compare([frame.Contest(compared, reward, spent, share)], options.seeds)
    order = list(methods(planner, options.k, storage))
    runs = sorted([*runs, *without_seed], key=lambda run: order.index(run.method))
    about = {
        "server": version,
        "scale": options.scale,
        "queries": len(planner.queries),
        "candidates": len(planner.indexes),
        "k": options.k,
        "storage_bytes": storage,
    }
    title = f"{options.k} of {len(planner.indexes)} indexes for {len(planner.queries)} queries"
    panel = frame.Panel(title, "cost of the workload, share of before", runs)
    frame.report(options.out, runs, table(runs), [panel], about)


def table(runs: Sequence[frame.Run]) -> str:
    """The comparison in Markdown: costs, and the number of evaluations until greedy's cost is reached."""
    (greedy,) = (run for run in runs if run.method == "greedy")
    spent = len(greedy.best)
    counts = sorted({min(count, spent) for count in (50, 100, spent // 5, spent)})
    lines = [frame.table(runs, counts, digits=4), ""]
    for method in dict.fromkeys(run.method for run in runs if run.method != "greedy"):
        reached = [_first(run.best, greedy.best[-1]) for run in runs if run.method == method]
        known = [count for count in reached if count is not None]
        text = "never"
        if known:
            error = np.std(known, ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
            text = f"after {np.mean(known):.0f} ± {error:.0f} evaluations"
        lines.append(
            f"- {method} reaches greedy's final cost in {len(known)} of {len(reached)} runs, {text}; "
            f"greedy needs {spent}."
        )
    return "\n".join(lines)


def _first(best: Sequence[float], cost: float) -> int | None:
    """Number of evaluations until a cost is reached."""
    return next((count for count, value in enumerate(best, start=1) if value <= cost * (1 + 1e-7)), None)
