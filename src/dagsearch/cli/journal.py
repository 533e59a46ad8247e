"""``dagsearch show`` and ``dagsearch resume``: what a journal says, and going on with it."""

import inspect
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from dagsearch._internal.imports import imported
from dagsearch.durable.journal import Event, JournalError, is_in_use, read_events
from dagsearch.problem import Problem
from dagsearch.results import Result
from dagsearch.search import Search

# Evaluations that are shown, the last ones.
_SHOWN = 5


def told(events: Sequence[Event]) -> list[Event]:
    """The rewards among the events."""
    return [event for event in events if event.kind == "tell"]


def budget_of(events: Sequence[Event]) -> int | None:
    """How many rewards the last run was to end with; ``None`` if nobody said."""
    budgets = [event.content["budget"] for event in events if event.kind == "run"]
    return int(budgets[-1]) if budgets else None


def selection_of(events: Sequence[Event]) -> dict[str, Any] | None:
    """What ``dagsearch select`` was asked for, if it wrote the journal."""
    notes = (event.content.get("note") or {} for event in events)
    return next((note["select"] for note in notes if "select" in note), None)


def _pending(events: Sequence[Event]) -> int:
    asked = sum(event.kind in ("ask", "propose") for event in events)
    ended = sum(event.content.get("pending") is not None for event in events)
    return asked - ended


def _failures(events: Sequence[Event]) -> list[str]:
    notes = (event.content.get("note") or {} for event in events)
    return [note["failure"] for note in notes if note.get("failure")]


def summary(path: Path) -> dict[str, Any]:
    """What a journal says, in short; a search may be writing to it."""
    events = read_events(path)
    settings, rewards, failures = events[0].content, told(events), _failures(events)
    best = max(rewards, key=lambda event: event.content["reward"], default=None)
    selection = selection_of(events)
    return {
        "journal": str(path),
        "running": is_in_use(path),
        "problem": settings["problem"]["type"],
        "made_by": settings["made_by"],
        "dagsearch": settings["dagsearch"],
        "begun": _clock(events[0].at),
        "last_event": _clock(events[-1].at),
        "evaluations": len(rewards),
        "budget": budget_of(events) if selection is None else selection["budget"],
        "pending": _pending(events),
        "failures": len(failures),
        "last_failure": failures[-1] if failures else None,
        "best_reward": None if best is None else best.content["reward"],
        "best_leaf": None if best is None else best.content["leaf"],
        "last": [[event.content["reward"], event.content["leaf"]] for event in rewards[-_SHOWN:]],
    }


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


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
        lines.append(f"last failure: {found['last_failure'].splitlines()[0]}")
    if found["best_leaf"] is not None:
        lines.append(f"best so far: {found['best_reward']:.6g} at {json.dumps(found['best_leaf'])}")
        lines.append("last evaluations:")
        lines += [f"  {reward:.6g} at {json.dumps(leaf)}" for reward, leaf in found["last"]]
    return "\n".join(lines)


def imported_problem(path: str) -> Problem:
    """A problem by its import path, ``module:name``: the problem itself, or what makes it."""
    if ":" not in path:
        raise JournalError(f"--problem must be module:name, got {path!r}")
    try:
        found = imported(path)
        made = found() if inspect.isclass(found) or inspect.isfunction(found) else found
    except Exception as error:  # a user's script may fail in any way
        raise JournalError(
            f"--problem {path}: it cannot be had ({type(error).__name__}: {error}); name a problem, or a "
            "function without arguments that makes it"
        ) from error
    return cast(Problem, made)


def resume(path: Path, problem: Problem, budget: int | None, jobs: int | None) -> Result:
    """Go on until there are as many rewards as the run that was cut off was to have."""
    budget = budget_of(read_events(path)) if budget is None else budget
    if budget is None:
        raise JournalError(f"{path} does not say how many evaluations there were to be: give --budget")
    search = Search.resume(path, problem)
    try:
        left = budget - len(search.history)
        return search.result() if left <= 0 else search.run(left, n_jobs=jobs)
    finally:
        search.close()
