"""``python -m experiments.gallery.indexes``: choose indexes for a workload by PostgreSQL's planner."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.indexes import table
from experiments.gallery.indexes.candidates import WORKLOAD, candidates, read_workload
from experiments.gallery.indexes.data import load
from experiments.gallery.indexes.methods import Saving, alike, index_choice, methods, share
from experiments.gallery.indexes.planner import Planner, open_planner
from experiments.gallery.indexes.server import connected

_SMALL_SCALE, _SMALL_QUERIES = 0.001, 6


def main() -> int:
    """Read the arguments, search or compare; returns the exit code."""
    options = _options()
    try:
        with connected(options.dsn) as connection:
            version = connection.info.parameter_status("server_version")
            print(f"PostgreSQL {version}, {'your server' if options.dsn else 'embedded'}", flush=True)
            with _prepared(connection, options) as planner:
                storage = _storage(connection, planner, options)
                print(
                    f"{len(planner.queries)} queries, {len(planner.indexes)} candidates; choosing at most "
                    f"{options.k} of them, of at most {storage / 1e6:.1f} MB ({planner.how})",
                    flush=True,
                )
                if options.action == "compare":
                    return _compare(planner, storage, options, str(version))
                return _run(planner, storage, options)
    except KeyboardInterrupt:
        print("interrupted; the server was stopped, nothing was changed", file=sys.stderr)
        return 130
    except psycopg.Error as error:
        print(f"PostgreSQL: {error}", file=sys.stderr)
        return 1


def _options() -> argparse.Namespace:
    parser = frame.parser(
        "indexes", "Choose indexes for a workload, by PostgreSQL's planner.", 200, small=30, jobs=False
    )
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
    options = frame.parsed(parser, None)
    if options.workload is not None and options.dsn is None:
        parser.error("--workload needs --dsn: the embedded server has the data of our own workload only")
    if options.small:
        options.scale = _SMALL_SCALE
    return options


@contextmanager
def _prepared(connection: psycopg.Connection[Any], options: argparse.Namespace) -> Iterator[Planner]:
    """The planner of the workload; an embedded server gets its data first."""
    if options.dsn is None:
        load(connection, options.scale)
    queries = read_workload(options.workload or WORKLOAD)
    if options.small:
        queries = queries[-_SMALL_QUERIES:]
    with open_planner(connection, queries, candidates(connection, queries)) as planner:
        yield planner


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


def _run(planner: Planner, storage: float, options: argparse.Namespace) -> int:
    folder = options.out
    result = frame.solve(
        ds.search,
        index_choice(planner, options.k, storage, Saving(planner)),
        options,
        covariance=ds.covariances.SetKernel(alike(planner.indexes)),
        patience=options.patience,
    )
    if result is None or result.best_reward is None:
        return 130
    chosen = [planner.indexes[number] for number in sorted(result.best_state)]
    used = sum(planner.sizes[number] for number in result.best_state)
    print(
        f"after {len(result.history)} evaluations ({result.stopped}): cost {share(result.best_reward):.4f} "
        f"of that without these indexes, {used / 1e6:.1f} MB"
    )
    statements = "".join(f"{index.statement};\n" for index in chosen)
    (folder / "indexes.sql").write_text(statements)
    print(f"{statements}wrote {folder / 'indexes.sql'}")
    return 0


def _compare(planner: Planner, storage: float, options: argparse.Namespace, version: str) -> int:
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
