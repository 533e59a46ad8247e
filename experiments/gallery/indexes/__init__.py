"""Which indexes? PostgreSQL: indexes for a workload, scored by the planner."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import psycopg

import dagsearch as ds
from experiments.gallery.indexes.data import load
from experiments.gallery.indexes.methods import alike, index_choice, methods, saving, share
from experiments.gallery.indexes.planner import Planner, candidates, open_planner, read_workload
from experiments.gallery.indexes.server import embedded
from experiments.harness.contest import Contest, answered, compare, draw
from experiments.harness.curves import by_run, curves, means
from experiments.harness.runner import Outcome, Row

K = 5
"""Largest number of indexes."""
_STORAGE = 0.2  # limit, as a share of the tables' storage
_GREEDY = ("greedy", "greedy per byte")
_UNLIMITED = 10**9


@contextmanager
def _opened(quick: bool) -> Iterator[tuple[Planner, float]]:
    """The planner of the workload, and the limit in bytes; ``quick``: six queries, a tenth of the data."""
    with embedded() as address, psycopg.connect(address) as connection:
        load(connection, 0.001 if quick else 0.01)
        queries = read_workload()[-6 if quick else 0 :]
        with open_planner(connection, queries, candidates(connection, queries)) as planner:
            names = sorted({f'"{index.table}"' for index in planner.indexes})
            asked = "SELECT sum(pg_table_size(name::regclass)) FROM unnest(%s::text[]) name"
            row = connection.execute(asked, (names,)).fetchone()
            assert row is not None
            yield planner, _STORAGE * float(row[0])


def solve(quick: bool, jobs: int, budget: int = 200, seed: int = 0) -> Outcome:
    """Find indexes; returns the statements that create them."""
    with _opened(quick) as (planner, storage):
        problem = index_choice(planner, K, storage, partial(saving, planner))
        covariance = ds.covariances.SetKernel(alike(planner.indexes))
        budget = 30 if quick else budget
        result = ds.search(problem, budget, covariance=covariance, seed=seed, progress=True)
        chosen = [planner.indexes[number].statement for number in sorted(result.best_state)]
    assert result.best_reward is not None
    cost = share(result.best_reward)
    return answered("indexes", result, {"indexes": chosen, "cost, share of that without them": cost})


def run(quick: bool, jobs: int) -> Outcome:
    """All methods in sequence, with the number of evaluations of greedy selection."""
    with _opened(quick) as (planner, storage):
        compared, reward = methods(planner, K, storage), partial(saving, planner)
        greedy = {name: compared[name] for name in _GREEDY}
        found = compare([Contest("workload", greedy, reward, 30 if quick else _UNLIMITED, share)], seeds=1)
        others = {name: method for name, method in compared.items() if name not in greedy}
        spent = max(row.step for row in found if row.method == "greedy")
        found += compare([Contest("workload", others, reward, spent, share)], seeds=2 if quick else 5)
        rows = sorted(found, key=lambda row: list(compared).index(row.method))
        title = f"{K} of {len(planner.indexes)} indexes for {len(planner.queries)} queries"
        counts = {"queries": len(planner.queries), "candidates": len(planner.indexes)}
        about = {"k": K, "storage_bytes": storage, **counts}
    drawn = draw(rows, by_run, title, "cost of the workload, share of before")
    return Outcome("indexes", rows, about, {"indexes": drawn}, tables(rows)["indexes"])


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Costs, and the number of evaluations until greedy's cost is reached."""
    found = curves(rows)
    greedy = found["greedy", "workload"]
    spent, cost = int(greedy.steps[-1]), greedy.values[0, -1]
    counts = sorted({min(count, spent) for count in (50, 100, spent // 5, spent)})
    lines = [means(rows, counts, digits=4), ""]
    for method, setting in found:
        if setting != "workload" or method == "greedy":
            continue
        curve = found[method, setting]
        reached = [curve.steps[values <= cost].min(initial=np.inf) for values in curve.values]
        known = [count for count in reached if count < np.inf]
        text = f"after {np.mean(known):.0f} evaluations" if known else "never"
        lines.append(
            f"- {method} reaches greedy's final cost in {len(known)} of {len(reached)} runs, {text}; "
            f"greedy needs {spent}."
        )
    return {"indexes": "\n".join(lines)}
