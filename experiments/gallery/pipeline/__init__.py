"""Which pipeline? scikit-learn: preparation, model and settings with the best score, with real fits.

The tables and pipelines come from the general benchmark, which compares methods on them.
"""

from collections.abc import Sequence
from typing import Any

import dagsearch as ds
from experiments.general.methods import METHODS
from experiments.general.settings import TABLES, fitted
from experiments.harness.contest import answered
from experiments.harness.curves import means
from experiments.harness.runner import Outcome, Row

COUNTS = (25, 50, 60)
"""Numbers of evaluations in the table."""


def solve(quick: bool, jobs: int, table: str = "tumours", budget: int = 60, seed: int = 0) -> Outcome:
    """Find a pipeline for one of the tables; every evaluation is a cross-validation."""
    if table not in TABLES:
        raise ValueError(f"there is no table {table!r}; there are {', '.join(TABLES)}")

    def score(choose: ds.problems.Choose) -> float:
        made: dict[str, Any] = {}
        for name, setting in TABLES[table].settings.items():
            if setting.exists(made):
                made[name] = choose(name, setting.values)
        return fitted(table, made)

    result = ds.maximize(score, 12 if quick else budget, seed=seed, progress=True)
    return answered("pipeline", result, {"table": table, "choices": dict(result.best_state)})


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Regret on all three tables, from the rows of the general benchmark."""
    own = [row for row in rows if row.problem in TABLES]
    own.sort(key=lambda row: list(METHODS).index(row.method))
    return {"pipeline": means(own, COUNTS, digits=3)}
