"""``dagsearch resume``: continue a search from its storage."""

import argparse
import inspect
from typing import Any

from dagsearch.cli.common import Commands, add_run, imported, opened_run, positive
from dagsearch.costly.step_search import StepSearch
from dagsearch.errors import StorageError
from dagsearch.functions import minimized, turned
from dagsearch.problem import has_costly_steps
from dagsearch.problems.functions import FunctionProblem
from dagsearch.run.runner import Execution, until
from dagsearch.search import Search
from dagsearch.storage.record import Record


def add_parser(commands: Commands) -> None:
    """Add ``resume``."""
    resume = commands.add_parser(
        "resume",
        help="continue a stored search",
        description=(
            "Continue a search exactly where it was interrupted, or join it while it runs. To continue a "
            "selection, run 'dagsearch select' again."
        ),
    )
    add_run(resume)
    resume.add_argument(
        "--problem",
        required=True,
        metavar="MODULE:NAME",
        help=(
            "import path of the problem, of a class or function without arguments that makes it, or of the "
            "function passed to ds.maximize or ds.minimize. The module is imported: a script should call "
            "ds.maximize under if __name__ == '__main__'"
        ),
    )
    resume.add_argument(
        "--budget",
        type=positive,
        help="total number of evaluations, including those so far (default: that of the interrupted run)",
    )
    resume.add_argument("--jobs", type=positive, help="number of evaluations at once (default: 1)")
    resume.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Continue until the run has ``--budget`` evaluations, by default the stored budget."""
    with opened_run(options) as (database, header):
        record = Record.of(database, header)
    if record.about:
        raise StorageError("to continue a selection, rerun the command or script that began it")
    budget = record.budget if options.budget is None else options.budget
    if budget is None:
        raise StorageError(f"{options.storage} does not contain its budget: pass --budget")
    problem = _problem(options.problem)
    problem = minimized(problem) if record.minimized else problem
    kind: Any = StepSearch if has_costly_steps(problem) else Search
    search: Search = kind.resume(options.storage, problem, name=options.name)
    try:
        total = budget + search.data.known  # known rewards are free
        for _ in until(search, total, execution=Execution(n_jobs=options.jobs)):
            pass
        result = turned(search.result()) if record.minimized else search.result()
    finally:
        search.close()
    print(f"best reward {result.best_reward:.6g} after {len(result.history)} evaluations")
    print(f"at {result.best_state!r}")


def _problem(path: str) -> Any:
    """The problem at ``module:name``, or made by the class or function there without arguments.

    A function with an argument is one that was passed to ``ds.maximize`` or ``ds.minimize``.
    """
    found = imported("--problem", path)
    if inspect.isfunction(found) and any(
        parameter.default is parameter.empty for parameter in inspect.signature(found).parameters.values()
    ):
        return FunctionProblem(found)
    return found() if inspect.isclass(found) or inspect.isfunction(found) else found
