"""``dagsearch show``: what a journal says about its search."""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsearch.cli.common import failed, printable
from dagsearch.cli.events import budget_of, features_of, selection_of
from dagsearch.journal.events import Event
from dagsearch.journal.journal import JournalError, is_in_use, read_events

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

# Number of evaluations shown, the latest ones.
_SHOWN = 5


def add_parser(commands: "Commands") -> None:
    """Add ``show``."""
    show = commands.add_parser(
        "show",
        help="show the progress of a search from its journal",
        description="Print the progress of a search from its journal, even while the search runs.",
    )
    show.add_argument("journal", type=Path, metavar="JOURNAL", help="journal file of a search")
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the summary of a journal; returns the exit code."""
    try:
        found = summary(options.journal)
    except JournalError as error:
        return failed("show", error)
    print(json.dumps(found, indent=2) if options.json else text(found))
    return 0


def summary(path: Path) -> dict[str, Any]:
    """Progress of the search that writes a journal; it may be running."""
    events = read_events(path)
    settings, failures = events[0].content, _failures(events)
    rewards = [event for event in events if event.kind == "tell"]
    best = max(rewards, key=lambda event: event.content["reward"], default=None)
    selection, names = selection_of(events), features_of(events)
    return {
        "journal": str(path),
        "running": is_in_use(path),
        "problem": settings["problem"]["type"],
        "made_by": settings["made_by"],
        "dagsearch": settings["dagsearch"],
        "begun": _clock(events[0].at),
        "last_event": _clock(events[-1].at),
        "evaluations": len(rewards),
        "budget": budget_of(events) or (selection or {}).get("budget"),
        "pending": _pending(events),
        "failures": len(failures),
        "last_failure": failures[-1] if failures else None,
        "best_reward": None if best is None else best.content["reward"],
        "best_leaf": None if best is None else _leaf(best, names),
        "last": [[event.content["reward"], _leaf(event, names)] for event in rewards[-_SHOWN:]],
    }


def _leaf(event: Event, names: Sequence[str] | None) -> Any:
    """The leaf of a reward; that of a feature selection as names of its features."""
    leaf = event.content["leaf"]
    columns = leaf.get("set") if isinstance(leaf, dict) else leaf
    known = range(len(names or ()))
    if names is None or not isinstance(columns, list) or any(column not in known for column in columns):
        return leaf
    return [names[column] for column in columns]


def _pending(events: Sequence[Event]) -> int:
    asked = sum(event.kind in ("ask", "propose") for event in events)
    ended = sum(event.content.get("pending") is not None for event in events)
    return asked - ended


def _failures(events: Sequence[Event]) -> list[str]:
    found = (event.note.get("failure") for event in events)
    return [str(failure) for failure in found if failure]


def _clock(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return f"{at} seconds after 1970"


def text(found: dict[str, Any]) -> str:
    """:func:`summary` for a terminal."""
    budget = "" if found["budget"] is None else f" of {found['budget']}"
    lines = [
        f"{found['journal']}: {found['problem']} by {found['made_by']}, dagsearch {found['dagsearch']}",
        f"begun {found['begun']}, last event {found['last_event']}, "
        + ("running" if found["running"] else "not running"),
        f"{found['evaluations']}{budget} evaluations, {found['pending']} pending, {found['failures']} failed",
    ]
    if found["last_failure"] is not None:
        lines.append(f"last failure: {found['last_failure'].strip().partition(chr(10))[0]}")
    if found["best_reward"] is not None:
        lines.append(f"best so far: {found['best_reward']:.6g} at {json.dumps(found['best_leaf'])}")
        lines.append("last evaluations:")
        lines += [f"  {reward:.6g} at {json.dumps(leaf)}" for reward, leaf in found["last"]]
    return "\n".join(map(printable, lines))
