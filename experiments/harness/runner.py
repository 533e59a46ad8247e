"""Runs methods in rounds, in parallel processes, and writes and reads the measurements."""

import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pandas as pd
from joblib import Parallel, delayed, parallel_config
from tqdm import tqdm

from dagsearch import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = TypeVar("Result")
# Packages that change results.
_PACKAGES = """
numpy scipy numba scikit-learn pandas torch optuna botorch gpytorch linear_operator mlxtend open_spiel
llvmlite psycopg pgserver simpy
"""


class ExperimentError(RuntimeError):
    """An experiment could not be carried out."""


class Row(NamedTuple):
    """One number of an experiment: a line of its CSV file."""

    method: str
    """Name in the experiment's table of methods."""
    setting: str
    """The varied setting, such as ``beta=0.1``."""
    round: int
    """Repetition; it also seeds the run."""
    step: int
    """Number of evaluations spent."""
    value: float
    """What the experiment measures."""

    @property
    def problem(self) -> str:
        """The setting without the name of the measure, which follows a comma."""
        return self.setting.partition(",")[0]


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment."""

    name: str
    """Names the files."""
    rows: Sequence[Row]
    """The measurements."""
    settings: Mapping[str, Any]
    """Settings needed to run the experiment again."""
    figures: Mapping[str, "Figure"] = field(default_factory=dict)
    """Figures by file name, without suffix."""
    shown: str = ""
    """Text for a terminal, if not the summary."""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Other measurements by file name, without suffix; one with the outcome's name replaces its rows."""

    def write(self, folder: Path) -> list[Path]:
        """Write compressed CSV, JSON, and every figure as PNG and PDF; returns the files' paths."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        rows = pd.DataFrame(self.rows, columns=list(Row._fields))
        for name, table in {self.name: rows, **self.tables}.items():
            written.append(folder / f"{name}.csv.gz")
            write_csv(written[-1], table)
        written.append(write_settings(folder, self.name, self.settings))
        for name, figure in self.figures.items():
            for ending in ("png", "pdf"):
                written.append(folder / f"{name}.{ending}")
                figure.savefig(written[-1], dpi=150)
        return written


def write_settings(folder: Path, name: str, settings: Mapping[str, Any]) -> Path:
    """Write the settings, seeds, commit, versions and machine as JSON; returns the path."""
    path = folder / f"{name}.json"
    seed = "a round's number seeds its problem and its searches"
    about = {"experiment": name, "seed": seed, **settings, "commit": commit()}
    about |= {"versions": versions(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
    path.write_text(json.dumps(about, indent=2) + "\n")
    return path


@cache
def commit() -> str:
    """The current commit, ``dirty`` if the code was changed since.

    In a copy without its history, it comes from the environment variable COMMIT.
    """
    if "COMMIT" in os.environ:
        return os.environ["COMMIT"]

    def git(*asked: str) -> str:
        where = ["git", "-C", str(Path(__file__).parents[2]), *asked]
        return subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src", "experiments")
        return git("rev-parse", "--short=7", "HEAD") + (", dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table, compressed if it is named ``.gz``: numbers with five digits, counts with all."""

    def rounded(value: Any) -> str:
        return str(value if value.is_integer() else float(f"{value:.5g}"))

    packed: Any = {"method": "infer", "mtime": 0}  # the same bytes for the same rows
    table.to_csv(
        path, index=False, na_rep="nan", float_format=rounded, lineterminator="\n", compression=packed
    )


def versions() -> dict[str, str]:
    """Versions of Python, dagsearch and the installed packages that change results."""
    found = {"dagsearch": __version__, "python": platform.python_version()}
    for package in _PACKAGES.split():
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def run_rounds(run: Callable[..., Sequence[Row]], tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[Row]:
    """``run(*task)`` for every task in ``jobs`` processes; rows in the order of the tasks."""
    return [row for rows in run_tasks(run, tasks, jobs) for row in rows]


def run_tasks(run: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[Result]:
    """``run(*task)`` for every task in ``jobs`` processes; results in the order of the tasks."""
    # With one process per core, no core is left for BLAS threads.
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        found = Parallel(return_as="generator")(delayed(run)(*task) for task in tasks)
        try:
            return list(tqdm(found, total=len(tasks), unit="run"))
        except BrokenProcessPool as error:
            raise ExperimentError("a worker process died: was it killed, or out of memory?") from error


def read_rows(path: Path) -> list[Row]:
    """The rows of a ``.csv.gz`` file that :meth:`Outcome.write` wrote."""
    texts: Any = {"method": str, "setting": str}
    found = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values={"value": ["nan"]})
    return [Row(*row) for row in found.itertuples(index=False, name=None)]


def kept(folder: Path, name: str, is_kept: Callable[[Row], bool]) -> tuple[list[Row], dict[str, Any]]:
    """Rows of earlier results that are not measured again, and where they come from."""
    before = json.loads((folder / f"{name}.json").read_text())
    origin = ("commit", "versions", "methods", "kept_from")
    rows = [row for row in read_rows(folder / f"{name}.csv.gz") if is_kept(row)]
    return rows, {"kept_from": {key: before[key] for key in origin if key in before}}
