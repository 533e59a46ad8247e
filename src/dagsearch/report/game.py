"""What the page shows of a game, where the largest reward says little: two players want opposite things."""

from typing import Any

from dagsearch.journal.leaves import leaf_text
from dagsearch.record import Record
from dagsearch.report.dag import best_part, main_line
from dagsearch.report.words import duration, number
from dagsearch.values.gaussians import Gaussian

# Number of lines that are shown, the latest ones, and of points of the curve.
_LINES, _POINTS = 8, 1500
_WORDS = {
    "so far": "value",
    "reward": "result",
    "evaluation": "evaluation",
    "leaf": "line",
    "leaves": "lines",
    "best": "most evaluated line",
    "item": "move",
}


def game_view(record: Record, left: int | None, seconds_left: float | None, state: str) -> dict[str, Any]:
    """The parts of a view that are different for a game.

    Parameters
    ----------
    record : Record
        What has happened.
    left : int or None
        Number of evaluations that are left of the budget.
    seconds_left : float or None
        Seconds that they will take.
    state : str
        What the search does now, such as ``"running"``.
    """
    told, line = record.told, main_line(record.told)
    value = record.values[-1][1] if record.values else None
    return {
        "words": _WORDS,
        "sentence": _sentence(record, value, left, seconds_left, state),
        "best": None if value is None else value.mean,
        "best_leaf": list(map(str, line)) or None,
        "rows": [["most evaluated line", leaf_text(line)]] if line else [],
        "history": _history(record),
        "forecast": [],
        "gain": [],
        "dag": best_part(told, line, 1.0, by_count=True) if told else None,
        "leaves": [
            {
                "reward": one.reward,
                "step": len(told) - place,
                "parts": [[str(part), part not in line] for part in one.parts],
                "lacks": [],
            }
            for place, one in enumerate(reversed(told[-_LINES:]))
        ],
    }


def _sentence(
    record: Record, value: Gaussian | None, left: int | None, seconds_left: float | None, state: str
) -> str:
    """What the game is worth, and which first move was looked at most."""
    told = record.told
    if not told:
        return f"No reward yet ({state})."
    after = f"after {len(told)} evaluations"
    if value is None:
        text = f"The value of the game is not known {after}"
    else:
        worth = f"{number(value.mean)} ± {number(value.variance**0.5)}"
        text = f"The game is worth {worth} to the first player {after}"
    line = main_line(told)
    if line:
        count = sum(one.parts[:1] == line[:1] for one in told)
        text += f"; the first move {line[0].value} was looked at most ({count} of {len(told)})"
    if left:
        text += f"; {left} {'evaluation is' if left == 1 else 'evaluations are'} left"
        if seconds_left is not None and state == "running":
            text += f", in about {duration(seconds_left)}"
    return f"{text}." if state in ("running", "ended") else f"{text} ({state})."


def _history(record: Record) -> list[dict[str, Any]]:
    """The results, each with the value of the game as it was believed then."""
    values = dict(record.values)
    every = -(-len(record.told) // _POINTS) or 1
    found, mean = [], record.values[0][1].mean if record.values else None
    for step, one in enumerate(record.told, start=1):
        mean = values[step - 1].mean if step - 1 in values else mean
        if step % every and step != len(record.told):
            continue
        belief = one.predicted
        found.append(
            {
                "step": step,
                "reward": one.reward,
                "best": one.reward if mean is None else mean,
                "seconds": one.seconds,
                "predicted": None if belief is None else [belief.mean, max(belief.variance, 0.0) ** 0.5],
                "leaf": leaf_text(one.parts),
            }
        )
    return found
