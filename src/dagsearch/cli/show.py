"""``dagsearch show``: what is known of a stored search."""

import argparse
import json
import time
from typing import Any

from dagsearch.cli.common import Commands, add_run, failed, opened_run, printable
from dagsearch.errors import StorageError
from dagsearch.report.parts import parts_of, text_of
from dagsearch.report.runs import is_running, worker_name
from dagsearch.storage.database import Database, Header
from dagsearch.storage.record import Record, Told

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
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the summary of a run; returns the exit code."""
    try:
        with opened_run(options) as (database, header):
            found = summary(database, header)
    except StorageError as error:
        return failed("show", error)
    print(json.dumps(found, indent=2) if options.json else text(found))
    return 0


def summary(database: Database, header: Header) -> dict[str, Any]:
    """Progress of a search; it may be running."""
    running, record = is_running(database, header.name), Record.of(database, header)
    best = None if record.best is None else record.told[record.best]
    sign = -1.0 if record.minimized else 1.0  # what the user's function returned
    return {
        "storage": database.where,
        "name": header.name,
        "running": running,
        "problem": record.problem,
        "selection": record.selection,
        "made_by": record.made_by,
        "dagsearch": record.version,
        "begun": _clock(record.begun),
        "last_event": _clock(record.last),
        "evaluations": record.evaluations,
        "budget": record.budget or record.request.get("budget"),
        "pending": len(record.pending),
        "workers": [
            [text_of(one, record), worker_name(one.by or "")]
            for one in list(record.pending.values())[:_PENDING]
        ],
        "failures": len(record.failures),
        "lost": record.lost,
        "last_failure": record.failures[-1].text if record.failures else None,
        "best_reward": None if record.best_reward is None else sign * record.best_reward,
        "best_is_mean": best is not None and record.best_reward != best.reward,
        "best_leaf": None if best is None else _leaf(best, record),
        "best_text": None if best is None else text_of(best, record),
        "last": [[sign * told.reward, _leaf(told, record)] for told in record.told[-_SHOWN:]],
        "last_texts": [text_of(told, record) for told in record.told[-_SHOWN:]],
    }


def _leaf(told: Told, record: Record) -> Any:
    """The leaf of a reward; by names where numbers stand for them, and a costly step as the path to it."""
    if record.steps:
        return [part.value for part in parts_of(told, record)]
    numbers = told.leaf.get("set") if isinstance(told.leaf, dict) else told.leaf
    names = record.labels
    known = range(len(names or ()))
    if names is None or not isinstance(numbers, list) or any(number not in known for number in numbers):
        return told.leaf
    return [names[number] for number in numbers]


def _clock(at: float | None) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return f"{at} seconds after 1970"


def text(found: dict[str, Any]) -> str:
    """:func:`summary` for a terminal."""
    spent = f"{found['evaluations']}" + ("" if found["budget"] is None else f" of {found['budget']}")
    if found["budget"] is not None and found["lost"]:  # or the numbers would not add up
        spent = f"{found['evaluations']} rewards and {found['lost']} failures of {found['budget']}"
    title = found["storage"] + ("" if found["name"] == "run" else f", run {found['name']!r}")
    lines = [
        f"{title}: {found['problem']} by {found['made_by']}, dagsearch {found['dagsearch']}",
        f"begun {found['begun']}, last event {found['last_event']}, "
        + ("running" if found["running"] else "not running"),
        f"{spent} evaluations, {found['pending']} pending, {found['failures']} failed",
    ]
    lines += [f"  {leaf}, evaluated by {worker}" for leaf, worker in found["workers"]]
    if found["last_failure"] is not None:
        lines.append(f"last failure: {found['last_failure'].strip().partition(chr(10))[0]}")
    if found["best_reward"] is not None:
        what = "best mean so far" if found["best_is_mean"] else "best so far"
        lines.append(f"{what}: {found['best_reward']:.6g} at {found['best_text']}")
        if found["selection"]:
            lines.append(
                "  (the highest score; the selection may choose another subset, and its report says why)"
            )
        lines.append("last evaluations:")
        rewards = [reward for reward, _ in found["last"]]
        lines += [
            f"  {reward:.6g} at {leaf}" for reward, leaf in zip(rewards, found["last_texts"], strict=True)
        ]
    return "\n".join(map(printable, lines))
