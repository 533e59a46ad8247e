"""``dagsearch example``: create a sample table for ``dagsearch select``."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch.cli.common import Commands

if TYPE_CHECKING:
    import pandas

_CUSTOMERS = 600
_WORDS = ("the", "service", "was", "good", "bad", "slow", "and", "I", "will", "come", "again", "never")


def add_parser(commands: Commands) -> None:
    """Add ``example``."""
    example = commands.add_parser(
        "example",
        help="create a sample table for 'dagsearch select'",
        description=(
            "Create a CSV table. cancer: 30 measurements of cells and the diagnosis. shop: a messy table of "
            "made-up customers, and whether each has left."
        ),
    )
    example.add_argument("name", choices=sorted(TABLES))
    example.add_argument("file", nargs="?", type=Path, metavar="FILE", help="new file (default: NAME.csv)")
    example.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the table."""
    file = options.file or Path(f"{options.name}.csv")
    table = TABLES[options.name]()
    if file.exists():
        raise ValueError(f"{file} exists: use it, or name another file")
    table.to_csv(file, index=False, mode="x")  # even now, never overwrite a table
    print(f"wrote {file}: {len(table)} rows, {len(table.columns)} columns")


def cancer() -> "pandas.DataFrame":
    """Wisconsin's measurements of breast cells."""
    import pandas  # if it is missing, the error names the package to install
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    kinds = np.array(["malignant", "benign"])
    table: pandas.DataFrame = data.data.assign(diagnosis=kinds[data.target])
    return table


def shop() -> "pandas.DataFrame":
    """Made-up customers, with identifiers, dates, amounts, marks of missing values, free text and a leak."""
    import pandas

    rng = np.random.default_rng(7)
    number = np.arange(_CUSTOMERS)
    income = rng.lognormal(10.5, 0.5, len(number))
    visits, calls = rng.poisson(6, len(number)), rng.poisson(1.5, len(number))
    days = pandas.to_timedelta(rng.integers(0, 700, len(number)), unit="D")
    region = rng.choice(["north", "south", "east", "west"], len(number))
    discount = rng.choice([0, 5, 10, 20], len(number))
    tendency = 0.9 * (calls - 1.5) - 0.35 * (visits - 6) + 0.8 * (region == "east") - 0.06 * (discount - 9)
    left = tendency - 0.7 * (np.log(income) - 10.5) + rng.logistic(0.0, 0.8, len(number)) > 0.0
    columns: dict[str, Any] = {
        "customer id": [f"C-{10_000 + i}" for i in number],
        "signed up": (pandas.Timestamp("2023-01-01") + days).strftime("%d.%m.%Y"),
        "age": rng.integers(18, 80, len(number)).astype(str),
        "income": [f"${value:,.2f}" for value in income],
        "visits": visits,
        "support calls": calls,
        "region": region,
        "plan": rng.choice(["basic", "plus", "?"], len(number), p=[0.6, 0.3, 0.1]),
        "discount": [f"{value}%" for value in discount],
        "newsletter": rng.choice(["yes", "no"], len(number)),
        "basket": rng.gamma(2.0, 20.0, len(number)).round(2),
        "returns": rng.poisson(0.8, len(number)),
        "comment": [" ".join(rng.choice(_WORDS, 7)) for _ in number],
        "closing fee": np.where(left, rng.integers(10, 50, len(number)), 0),
        "household": rng.integers(0, 220, len(number)),
        "left": np.where(left, "Yes", "No"),
    }
    table = pandas.DataFrame(columns)
    table.loc[rng.random(len(table)) < 0.08, "age"] = "N/A"
    table.loc[rng.random(len(table)) < 0.05, "basket"] = np.nan
    return table


TABLES: "dict[str, Callable[[], pandas.DataFrame]]" = {"cancer": cancer, "shop": shop}
"""The sample tables, by name."""
