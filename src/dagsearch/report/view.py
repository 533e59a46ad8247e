"""The content of the page as JSON types, computed from the record of a search."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from dagsearch._internal.texts import shown
from dagsearch.data import accuracy
from dagsearch.forecasts import FARTHEST, forecast, progress_of
from dagsearch.report.importance import Effect, effects_of
from dagsearch.report.leaves import (
    Element,
    Shown,
    elements_of,
    leaf_elements,
    leaf_text,
    leaf_texts,
    text_of,
    worker_name,
)
from dagsearch.storage.record import Record, Request

# Largest numbers of evaluations, effects, pending evaluations, failures and requests on the page.
_POINTS, _EFFECTS, _PENDING, _FAILURES, _REQUESTS = 5000, 40, 60, 20, 12
# Growth factor of the number of evaluations after which importances are computed again.
_RENEWED = 1.1
# Largest number of names that the form for proposing a leaf offers.
_LABELS = 2000
# Number of rewards from which the speed of the search is computed.
_RECENT = 50
# Numbers of further evaluations for which gains are listed, and number of points of the forecast's band.
_AHEAD, _BAND = (1, 10, 100, 1000), 24
# Largest number of alternatives shown for a decision.
_BREADTH = 3
# Words of the page.
_WORDS = {
    "so far": "best so far",
    "reward": "reward",
    "evaluation": "evaluation",
    "leaf": "leaf",
    "leaves": "leaves",
    "best": "best leaf",
    "item": "item or choice",
}
_NOISY_WORDS = {**_WORDS, "so far": "largest reward so far", "best": "recommended leaf"}
SELECTION_WORDS = {**_WORDS, "reward": "score", "evaluation": "subset", "leaf": "subset", "leaves": "subsets"}
"""Words of the page of a feature selection."""
SELECTION_WORDS |= {"best": "best subset", "item": "feature"}


class RunView:
    """The view of a search on the page; importances, which are slow to compute, are cached.

    Parameters
    ----------
    name : str
        Name of the search, such as that of its file.
    record : Record
        The events so far.
    effects : list of Effect, optional
        Importances of parts, the largest first; by default they are computed from the record.
    """

    def __init__(self, name: str, record: Record, effects: list[Effect] | None = None) -> None:
        self.name, self.record = name, record
        self._effects, self._used = effects or [], 0.0 if effects is None else math.inf

    def view(self, now: float | None = None, running: bool = False) -> dict[str, Any]:
        """The page's content ``now``, by default at the last event; ``running`` if a process is active."""
        record = self.record
        told = [Shown(elements_of(one, record), *one[2:]) for one in record.told]
        head, known = headline(record, told, running), accuracy(told)
        effects = [] if record.game else self._effects_now(told, running)
        way = [] if record.best is None or record.game else told[record.best].elements
        ordered = bool(way) and bool(way[0].place)
        if not ordered:  # the items of a set: the most important first
            rank = {part: place for place, (part, _, _) in enumerate(effects)}
            way = sorted(way, key=lambda part: rank.get(part, len(rank)))
        return {
            **head,
            "name": self.name,
            "words": SELECTION_WORDS if record.about else _NOISY_WORDS if head["noisy"] else _WORDS,
            "source": _source(self.name, record),
            "dagsearch": record.version,
            "minimized": record.minimized,
            "bounds": [None, record.largest if record.largest < math.inf else None],
            "best_encoded": None if record.best is None else record.told[record.best].leaf,
            "ordered": ordered,
            "evaluations": record.evaluations,
            "budget": record.budget,
            "seconds": told[-1].seconds if told else 0.0,
            "history": _points(record, told),
            "failed": sorted({one.step for one in record.failures[-_POINTS:]}),
            "calibration": known and {"count": known.rewards, "covered": known.coverage, "r2": known.r2},
            "effects": [
                {"label": str(part), **importance._asdict(), "count": count, "chosen": part in way}
                for part, importance, count in effects[:_EFFECTS]
            ],
            "path": path_to(told, way, -1.0 if record.minimized else 1.0),
            "rewards": len(told),
            "labels": record.labels if record.labels and len(record.labels) <= _LABELS else None,
            **_activity(record, record.last if now is None else now),
        }

    def _effects_now(self, told: Sequence[Shown], running: bool) -> list[Effect]:
        """Importances of parts; recomputed only occasionally while a search runs."""
        if len(told) >= _RENEWED * self._used or (len(told) > self._used and not running):
            self._effects, self._used = effects_of(told), len(told)
        return self._effects


def headline(record: Record, told: Sequence[Shown], running: bool) -> dict[str, Any]:
    """The headline, the tiles below it, the best leaf and the forecast."""
    sign, noisy = -1.0 if record.minimized else 1.0, _is_noisy(record)
    left = None if record.budget is None else max(0, record.budget - record.spent)
    state = _state(record, running, left)
    left = 0 if left and state == "ended" else left
    over = record.settled and state == "ended"
    ahead = [] if over else _forecast(record, told, left)
    rest = ahead[-1] if ahead and left and not noisy else None
    name, best, remark = "Best mean so far" if noisy else "Best" if over else "Best so far", None, None
    if record.best_reward is not None:
        best = sign * record.best_reward
    if record.best is not None and not record.steps:  # steps are not numbered by evaluation
        remark = f"evaluation {record.best + 1}"
    if record.game:
        mean, variance = record.value or (None, 0.0)
        name, best, remark = "Value for the first player", mean, f"± {number(variance**0.5)}"
    made = record.evaluations - record.known  # known rewards do not count in the budget
    done = f"{made:,}" + (f" of {record.budget:,}" if record.budget is not None else "")
    others = ((len(record.pending), "pending"), (len(record.failures), "failed"), (record.known, "known"))
    text = f"{name} {number(best)} after {counted(made, 'evaluation')}" if told else "No reward yet"
    tiles: list[list[str | None]] = [
        [name, number(best), remark],
        ["Evaluations", done, ", ".join(f"{count:,} {what}" for count, what in others if count) or None],
    ]
    if rest is not None:
        whole, more = rest["n"] == left, counted(int(rest["n"]), "evaluation")
        text += f"; the {'remaining' if whole else 'next'} {more} will improve it"
        text += f" with probability {percent(rest['chance'])}"
        interval = "90 % interval " + " to ".join(map(number, sorted((rest["low"], rest["high"]))))
        tiles.append(
            [f"Expected {'at the end' if whole else f'after {more}'}", number(rest["mean"]), interval]
        )
    seconds = _seconds_left(record, left) if state == "running" else None
    spent = tqdm.format_interval(told[-1].seconds if told else 0.0)
    tiles.append(["Time", spent, None if seconds is None else f"about {tqdm.format_interval(seconds)} left"])
    return {
        "state": state,
        "sentence": text + ("." if state in ("running", "ended") else f" ({state})."),
        "tiles": [*tiles, ["State", state, None]],
        "best": best,
        "best_leaf": None if record.best is None or record.game else leaf_texts(told[record.best].elements),
        "forecast": ahead,
        "left": left,
        "noisy": noisy,
    }


def _source(name: str, record: Record) -> list[str]:
    """The subject of the search, in a few words."""
    kind = "feature selection" if record.about else record.problem
    request = record.about.get("select") or {}  # the options of dagsearch select
    asked = [f"{what} {request[what]}" for what in ("target", "estimator", "scoring") if request.get(what)]
    return [part for part in (name, kind, *asked, record.made_by) if part]


def _activity(record: Record, now: float | None) -> dict[str, Any]:
    """Pending evaluations, failures and users' requests."""
    return {
        "pending": [
            {
                "leaf": text_of(one, record),
                "age": None if now is None else max(0.0, now - (one.at or now)),
                "by": None if one.by is None else worker_name(one.by),
            }
            for one in list(record.pending.values())[:_PENDING]
        ],
        "pending_count": len(record.pending),
        "failures": [
            {"leaf": text_of(one, record), "at": one.at, "step": one.step, "text": one.text}
            for one in record.failures[: -_FAILURES - 1 : -1]
        ],
        "failure_count": len(record.failures),
        "requests": [
            {"at": one.at, "what": _what(one, record), "answer": one.answer}
            for one in list(record.requests.values())[: -_REQUESTS - 1 : -1]
        ],
    }


def _what(request: Request, record: Record) -> str:
    """A user's request as text."""
    if request.action == "propose":
        return f"evaluate {leaf_text(leaf_elements(request.value, record.form, record.labels))} next"
    return f"budget {shown(request.value)}" if request.action == "budget" else request.action


def _state(record: Record, running: bool, left: int | None) -> str:
    if running:
        return "paused" if record.paused else "stopping" if record.stopping else "running"
    over = left == 0 or record.stopping or record.settled or record.begun is None
    over = over or record.stopped not in (None, "budget", "error", "interrupted")
    return "ended" if over else "not running"


def _seconds_left(record: Record, left: int | None) -> float | None:
    """Seconds for the remaining evaluations, at the speed of the latest ones."""
    recent = record.told[-_RECENT:]
    if not left or len(recent) < 2:
        return None
    return left * max(0.0, recent[-1].seconds - recent[0].seconds) / (len(recent) - 1)


def _points(record: Record, told: Sequence[Shown]) -> list[dict[str, Any]]:
    """The evaluations with the best reward so far; if there are very many, all improvements and a sample."""
    if not told:
        return []
    sign = -1.0 if record.minimized else 1.0
    best = np.maximum.accumulate([one.reward for one in told])
    improved = np.flatnonzero(np.diff(best, prepend=-np.inf))
    some = np.linspace(0, len(told) - 1, min(len(told), _POINTS)).astype(int)
    return [
        {
            "step": place + 1,
            "reward": sign * told[place].reward,
            "best": None if record.game else sign * float(best[place]),
            "seconds": told[place].seconds,
            "predicted": None if belief is None else [sign * belief.mean, max(belief.variance, 0.0) ** 0.5],
            "leaf": leaf_texts(told[place].elements),
        }
        for place in np.union1d(some, improved).tolist()
        for belief in [told[place].predicted]
    ]


def _forecast(record: Record, told: Sequence[Shown], left: int | None) -> list[dict[str, float]]:
    """The best reward after further evaluations: all remaining ones, or as many as there were.

    It ends where the calibration of forecasts was no longer measured. There is none for costly steps, whose
    calibration was not measured, for games, whose value may rise or fall, or if nothing better is possible.
    ``low`` is the smaller gain.
    """
    past = progress_of([one.reward for one in told], [one.predicted for one in told], record.largest)
    if past is None or record.steps or record.game or past.best >= record.largest:
        return []
    done, sign = len(told), -1.0 if record.minimized else 1.0
    most = min(left or done, FARTHEST * done)
    curve = (max(1, round(most * (place / _BAND) ** 2)) for place in range(1, _BAND + 1))
    start = {"n": 0, "step": done, "chance": 0.0} | dict.fromkeys(("mean", "low", "high"), sign * past.best)
    points = [start]
    for n in sorted({*curve, *(n for n in _AHEAD if n <= most)}):
        one = forecast(past, n)
        ends = {"mean": sign * one.mean, "low": sign * one.low, "high": sign * one.high}
        points.append({"n": n, "step": done + n, "chance": one.chance, **ends})
    return points


def path_to(told: Sequence[Shown], way: Sequence[Element], sign: float) -> list[dict[str, Any]]:
    """The decisions in order, each with the best alternatives after the same earlier decisions."""
    below, steps = list(told), []
    for part in way:
        rewards: dict[Element, list[float]] = {part: []}
        for one in below:
            instead = [other for other in one.elements if other.place == part.place and other not in way]
            for other in [part] if part in one.elements else instead:
                rewards.setdefault(other, []).append(one.reward)
        first = rewards.pop(part)
        others = sorted(rewards, key=lambda other: -max(rewards[other]))[:_BREADTH]
        described = [_described(other, rewards[other], sign) for other in others]
        steps.append({**_described(part, first, sign), "others": described})
        below = [one for one in below if part in one.elements]
    return steps


def _described(part: Element, rewards: Sequence[float], sign: float) -> dict[str, Any]:
    mean = sign * sum(rewards) / len(rewards)
    return {"label": str(part), "best": sign * max(rewards), "mean": mean, "count": len(rewards)}


def _is_noisy(record: Record) -> bool:
    """Whether the best leaf is chosen by mean rather than by the largest reward."""
    if record.best is None or record.game:
        return False
    best = record.told[record.best].reward
    return record.best_reward != best or any(one.reward > best for one in record.told)


def number(value: float | None) -> str:
    """A number with four significant digits, or all digits before the decimal point; −0 is 0."""
    if value is None:
        return "unknown"
    return (f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value + 0.0:.4g}").replace("-", "−")


def percent(share: float) -> str:
    """A probability in words."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{100.0 * share:.0f} %"


def counted(count: int, what: str) -> str:
    """Such as ``"1 evaluation"`` or ``"20 evaluations"``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
