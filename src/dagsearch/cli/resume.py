"""``dagsearch resume``: continue a search from its journal."""

import argparse
import inspect
from pathlib import Path
from typing import Any

from dagsearch.cli.common import Commands, failed, positive
from dagsearch.cli.imports import imported
from dagsearch.cli.select import add_output, resume_selection
from dagsearch.costly.step_search import StepSearch
from dagsearch.errors import DagSearchError
from dagsearch.functions import turned
from dagsearch.journal.journal import StorageError, read_events
from dagsearch.storage.record import Record
from dagsearch.problem import Problem, has_costly_steps
from dagsearch.problems.functions import FunctionProblem
from dagsearch.results import Result
from dagsearch.search import Search

PROBLEM = (
    "import path of the problem, of a class or function without arguments that makes it, or of the function "
    "that ds.maximize or ds.minimize was given"
)
"""What --problem is."""


def add_parser(commands: Commands) -> None:
    """Add ``resume``."""
    resume = commands.add_parser(
        "resume",
        help="continue a search from its journal",
        description=(
            "Continue a search from its journal, exactly where it was interrupted. A journal of 'dagsearch "
            "select' names its data; for any other journal give --problem."
        ),
    )
    resume.add_argument("journal", type=Path, metavar="JOURNAL", help="journal file of a search")
    resume.add_argument(
        "--problem",
        metavar="MODULE:NAME",
        help=PROBLEM,
    )
    resume.add_argument(
        "--budget",
        type=positive,
        help="total number of evaluations, including those so far (default: that of the interrupted run)",
    )
    resume.add_argument(
        "--jobs", type=positive, help="number of evaluations at once (default: 1; for select: as before)"
    )
    resume.add_argument(
        "--steer",
        action="store_true",
        help="take requests from 'dagsearch watch --steer'; only your own account can send them",
    )
    selection = resume.add_argument_group(
        "for journals of 'dagsearch select'",
        "Python code and schedulers that the journal names are used only if they are confirmed here.",
    )
    selection.add_argument("--estimator", metavar="NAME", help="confirm the journal's estimator")
    selection.add_argument("--cv", metavar="PATH", help="confirm the journal's splitter")
    selection.add_argument("--cluster", metavar="ADDRESS", help="Dask scheduler to score on")
    add_output(selection)
    resume.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Continue, by ``dagsearch select`` if it wrote the journal; returns the exit code."""
    try:
        record = Record.of(read_events(options.journal))
        if record.request is not None:
            return resume_selection(options, dict(record.request))
        if options.problem is None:
            raise ValueError("the journal does not hold its problem: give --problem module:name")
        problem = imported_problem(options.problem)
        if inspect.isfunction(problem):
            problem = FunctionProblem(problem, minimize=record.minimized)
        result = resume(options.journal, problem, options.budget, record, options.jobs, options.steer)
        if record.minimized:
            result = turned(result)
    except (DagSearchError, ValueError, OSError) as error:
        return failed("resume", error)
    print(f"best reward {result.best_reward:.6g} after {len(result.history)} evaluations")
    print(f"at {result.best_state!r}")
    return 0


def imported_problem(path: str) -> Any:
    """The problem at ``module:name``, or what a class or function there returns without arguments.

    A function that needs an argument is the one that ``ds.maximize`` or ``ds.minimize`` was given.
    """
    if ":" not in path:
        raise StorageError(f"--problem must be module:name, got {path!r}")
    try:
        found = imported(path)
        if inspect.isfunction(found) and any(
            parameter.default is parameter.empty for parameter in inspect.signature(found).parameters.values()
        ):
            return found
        made = found() if inspect.isclass(found) or inspect.isfunction(found) else found
    except Exception as error:  # a user's script may fail in any way
        raise StorageError(
            f"--problem {path} cannot be imported or called ({type(error).__name__}: {error}); name a "
            "problem, a class or function without arguments that makes it, or the function of ds.maximize"
        ) from error
    return made


def resume(
    path: Path, problem: Problem, budget: int | None, record: Record, jobs: int | None, steer: bool
) -> Result:
    """Continue until the search has made ``budget`` evaluations, by default as many as its journal states."""
    if budget is None and record.budget is None:
        raise StorageError(f"{path} does not state the number of evaluations of its run: give --budget")
    kind: Any = StepSearch if has_costly_steps(problem) else Search
    search: Search = kind.resume(path, problem)
    try:
        # Rewards that were given as known are no evaluations.
        total = record.budget or 0 if budget is None else budget + search.data.known
        left = total - len(search.history)
        return search.result() if left <= 0 else search.run(left, n_jobs=jobs, steer=steer)
    finally:
        search.close()
