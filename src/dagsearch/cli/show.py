"""``dagsearch show``: the progress of a stored search."""

import argparse
import time

from dagsearch.cli.common import Commands, add_run, opened_run, printable

# Number of latest evaluations shown, and of oldest pending ones.
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
    """Print the headline of a run's page; the run may be in progress."""
    from dagsearch.report.leaves import Shown, elements_of, text_of, worker_name
    from dagsearch.report.view import headline
    from dagsearch.storage.log import at_work
    from dagsearch.storage.record import Record

    with opened_run(options) as (database, header):
        running, record = bool(at_work(database, header.name)), Record.of(database, header)
    found = headline(record, [Shown(elements_of(one, record), *one[2:]) for one in record.told], running)
    sign = -1.0 if record.minimized else 1.0  # in the units of the user's function
    failures = [one.text.strip().partition("\n")[0] for one in record.failures[-1:]]
    lines = [
        f"{database.where}, run {header.name!r}: {record.problem} by {record.made_by}",
        f"begun {_clock(record.begun)}, last event {_clock(record.last)}",
        found["sentence"],
        *(
            f"{name}: {value}" + (f" ({remark})" if remark else "")
            for name, value, remark in found["tiles"][1:]
        ),
        *([] if record.best is None else [f"Best leaf: {text_of(record.told[record.best], record)}"]),
        *(
            f"Pending: {text_of(one, record)}, evaluated by {worker_name(one.by or '')}"
            for one in list(record.pending.values())[:_PENDING]
        ),
        *(f"Last failure: {text}" for text in failures),
        *(["Latest evaluations:"] * bool(record.told)),
        *(f"  {sign * one.reward + 0.0:.6g} at {text_of(one, record)}" for one in record.told[-_SHOWN:]),
    ]
    print("\n".join(map(printable, lines)))


def _clock(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
