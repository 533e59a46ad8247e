"""``dagsearch show``: what is known of a stored search."""

import argparse
import time
from collections.abc import Iterator

from dagsearch.cli.common import Commands, add_run, opened_run, printable
from dagsearch.report.parts import text_of
from dagsearch.report.runs import is_running, worker_name
from dagsearch.storage.record import Record

# Numbers of evaluations shown, the latest ones, and of pending ones, the oldest.
_SHOWN, _PENDING = 5, 10


def add_parser(commands: Commands) -> None:
    """Add ``show``."""
    show = commands.add_parser(
        "show",
        help="show the progress of a stored search",
        description="Print the progress of a stored search, even while it runs.",
    )
    add_run(show)
    show.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what is known of a run; it may be running."""
    with opened_run(options) as (database, header):
        running, record = is_running(database, header.name), Record.of(database, header)
    title = database.where + ("" if header.name == "run" else f", run {header.name!r}")
    print(
        printable(f"{title}: {record.problem} by {record.made_by}, dagsearch {record.version}"),
        f"begun {_clock(record.begun)}, last event {_clock(record.last)}, {'' if running else 'not '}running",
        *map(printable, _progress(record)),
        sep="\n",
    )


def _progress(record: Record) -> Iterator[str]:
    """Evaluations, failures, the best and the latest rewards, line by line."""
    budget = record.budget or record.request.get("budget")
    spent = f"{record.evaluations}" + ("" if budget is None else f" of {budget}")
    if budget is not None and record.lost:  # or the numbers would not add up
        spent = f"{record.evaluations} rewards and {record.lost} failures of {budget}"
    yield f"{spent} evaluations, {len(record.pending)} pending, {len(record.failures)} failed"
    for waiting in list(record.pending.values())[:_PENDING]:
        yield f"  {text_of(waiting, record)}, evaluated by {worker_name(waiting.by or '')}"
    if record.failures:
        yield f"last failure: {record.failures[-1].text.strip().partition(chr(10))[0]}"
    if record.best is None or record.best_reward is None:
        return
    best = record.told[record.best]
    sign = -1.0 if record.minimized else 1.0  # what the user's function returned
    what = "best so far" if record.best_reward == best.reward else "best mean so far"
    yield f"{what}: {sign * record.best_reward:.6g} at {text_of(best, record)}"
    if record.selection:
        yield "  (the highest score; the selection may choose another subset, and its report says why)"
    yield "last evaluations:"
    for told in record.told[-_SHOWN:]:
        yield f"  {sign * told.reward:.6g} at {text_of(told, record)}"


def _clock(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
