"""What the page shows, in types that JSON has, computed from what has happened in a search."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.special import ndtri

from dagsearch._internal.texts import shown
from dagsearch.data import Foresight
from dagsearch.errors import StorageError
from dagsearch.forecasts import FARTHEST, Forecast, Past, forecast, progress_of
from dagsearch.report.effects import Effect, effects_of
from dagsearch.report.parts import Part, Shown, leaf_parts, leaf_text, leaf_texts, parts_of, text_of
from dagsearch.report.paths import decisions, main_line, path_to
from dagsearch.report.runs import worker_name
from dagsearch.report.words import counted, duration, number, sentence
from dagsearch.results import Gaussian
from dagsearch.storage.record import Record
from dagsearch.storage.steering import Request

# Largest numbers of evaluations, effects, pending evaluations, failures and requests that are shown.
_POINTS, _EFFECTS, _PENDING, _FAILURES, _REQUESTS = 5000, 40, 60, 20, 12
# Effects are computed again when there are so many times the evaluations of the last time.
_RENEWED = 1.1
# Largest number of names that a leaf to be proposed may be written with.
_LABELS = 2000
# Number of rewards that the speed of the search is computed from.
_RECENT = 50
# Numbers of further evaluations that gains are shown for.
_AHEAD = (1, 10, 100, 1000)
# Number of points of the forecast's band.
_BAND = 24
# States in which a process runs the search.
_GOING_ON = ("running", "paused", "stopping")
# What things are called.
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
_GAME_WORDS = {**_WORDS, "so far": "value", "reward": "result", "leaf": "line", "leaves": "lines"}
_GAME_WORDS |= {"best": "most evaluated line", "item": "move"}
SELECTION_WORDS = {**_WORDS, "reward": "score", "evaluation": "subset", "leaf": "subset", "leaves": "subsets"}
"""What things are called in a feature selection."""
SELECTION_WORDS |= {"best": "best subset", "item": "feature"}


class Viewed:
    """A search as the page shows it; it keeps what would take long to compute again.

    Parameters
    ----------
    name : str
        Name of the search, such as that of its file.
    record : Record
        What has happened so far.
    """

    def __init__(self, name: str, record: Record) -> None:
        self.name, self.record = name, record
        self._effects, self._used = list[Effect](), 0
        self._told, self._shown = record.told, list[Shown]()
        self._parts: dict[Part, Part] = {}  # leaves consist of the same few

    def summary(self, now: float | None = None, running: bool = False) -> dict[str, Any]:
        """The headline and the curve of rewards, as in :meth:`view`."""
        record, told = self.record, self._shown_leaves()
        now = record.last if now is None else now
        best, sign = record.best, -1.0 if record.minimized else 1.0
        left = None if record.budget is None else max(0, record.budget - record.spent)
        rules = _rules(record, best, now if running else record.last)
        state = _state(record, running, left, rules)
        left = 0 if state == "ended" and left is not None else left
        over = record.settled and state == "ended"  # nothing is left to evaluate, and nothing to expect
        # What is left was not measured for costly steps, and the value of a game may rise or fall.
        known = not (record.steps or record.game or over)
        rewards, beliefs = [one.reward for one in told], [one.predicted for one in told]
        progress = progress_of(rewards, beliefs, record.largest) if known else None
        # To the end of the budget, but not farther than forecasts are known to hold.
        horizon = len(told) if left is None else min(left, FARTHEST * len(told))
        ahead = forecast(progress, horizon) if progress is not None and left else None
        found = main_line(told) if record.game else [] if best is None else told[best].parts
        noisy = is_noisy(record)
        what, value = _found(record, noisy, over)
        shown_ahead = None if ahead is None or noisy else _turned(ahead, sign)
        return {
            "name": self.name,
            "words": _words(record, noisy),
            "state": state,
            "sentence": sentence(f"{what} {value}", record.evaluations, shown_ahead, left, state)
            if told
            else f"No reward yet ({state}).",
            "tiles": _tiles(record, now, left, shown_ahead, state, (what, value)),
            "best_leaf": leaf_texts(found) if found else None,
            "history": _points(told, sign, _values(record) if record.game else None),
            "forecast": _band(progress, len(told), horizon, sign),
            "gain": _gains(progress, horizon, sign, left),
            "rules": rules,
            "left": left,
            "noisy": noisy,
        }

    def view(self, now: float | None = None, running: bool = False) -> dict[str, Any]:
        """Everything that the page shows.

        Parameters
        ----------
        now : float, optional
            The time in seconds since 1970; by default that of the last event.
        running : bool
            Whether a process is at work on the run.

        Raises
        ------
        StorageError
            If the run is malformed, so that it cannot be shown.
        """
        try:
            return {**self.summary(now, running), **self._details(now, running)}
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
            raise StorageError(
                f"{self.name} cannot be shown: it is malformed ({type(error).__name__}: {error})"
            ) from error

    def _details(self, now: float | None, running: bool) -> dict[str, Any]:
        record, told = self.record, self._shown_leaves()
        sign, best = -1.0 if record.minimized else 1.0, record.best
        value = record.values[-1][1].mean if record.game and record.values else None
        effects = [] if record.game else self._effects_now(told, running)
        way = [] if best is None else decisions(told[best], [effect.part for effect in effects])
        way = main_line(told) if record.game else way
        return {
            "source": _source(self.name, record),
            "dagsearch": record.version,
            "minimized": record.minimized,
            "bounds": [None, record.largest if record.largest < math.inf else None],
            "best": value if record.game or record.best_reward is None else sign * record.best_reward,
            "best_encoded": None if best is None else record.told[best].leaf,
            "ordered": bool(way) and bool(way[0].place),
            "evaluations": record.evaluations,
            "budget": record.budget,
            "seconds": told[-1].seconds if told else 0.0,
            "failed": sorted({one.step for one in record.failures[-_POINTS:]}),
            "calibration": _calibration(told),
            "settled": record.settled,
            "effects": [
                _effect(effect, sign, best is not None and effect.part in told[best].parts)
                for effect in effects[:_EFFECTS]
            ],
            "path": path_to(told, way, sign, by_count=record.game),
            "game": record.game,
            "labels": record.labels if record.labels and len(record.labels) <= _LABELS else None,
            **_activity(record, record.last if now is None else now),
        }

    def _shown_leaves(self) -> list[Shown]:
        """The evaluated leaves as they are shown."""
        told = self.record.told
        if told is not self._told:  # rewards were taken back
            self._told, self._shown = told, []
        for one in told[len(self._shown) :]:
            parts = [self._parts.setdefault(part, part) for part in parts_of(one, self.record)]
            self._shown.append(Shown(parts, *one[2:]))
        return self._shown

    def _effects_now(self, told: Sequence[Shown], running: bool) -> list[Effect]:
        """What parts are worth; while a search runs, computed now and then."""
        if len(told) >= _RENEWED * self._used or (len(told) > self._used and not running):
            self._effects, self._used = effects_of(told, is_noisy(self.record)), len(told)
        return self._effects


def _words(record: Record, noisy: bool) -> dict[str, str]:
    if record.game:
        return _GAME_WORDS
    return SELECTION_WORDS if record.selection else _NOISY_WORDS if noisy else _WORDS


def _found(record: Record, noisy: bool, over: bool) -> tuple[str, str]:
    """What was found so far, and its value."""
    if record.game:
        value = record.values[-1][1] if record.values else None
        text = "unknown" if value is None else f"{number(value.mean)} ± {number(value.variance**0.5)}"
        return "Value for the first player", text
    reward = record.best_reward
    what = "Best mean so far" if noisy else "Best" if over else "Best so far"
    return what, number(reward if reward is None or not record.minimized else -reward)


def _tiles(
    record: Record,
    now: float | None,
    left: int | None,
    ahead: Forecast | None,
    state: str,
    found: tuple[str, str],
) -> list[list[str | None]]:
    """Name, value and remark of the figures below the headline."""
    step, seconds = record.best, _seconds_left(record, left)
    ago = _ago(record, now) if state in _GOING_ON else None
    when = None if step is None or record.game else f"evaluation {step + 1}"
    when = when if when is None or ago is None else f"{when}, {duration(ago)} ago"
    done = f"{record.evaluations:,}" + (f" of {record.budget:,}" if record.budget is not None else "")
    others = ((len(record.pending), "pending"), (len(record.failures), "failed"))
    tiles = [
        [*found, when],
        ["Evaluations", done, ", ".join(f"{count:,} {what}" for count, what in others if count) or None],
    ]
    if ahead is not None:
        name = (
            "Expected at the end"
            if ahead.evaluations == left
            else f"Expected after {ahead.evaluations:,} more"
        )
        tiles.append([name, number(ahead.mean), f"90 % interval {number(ahead.low)} to {number(ahead.high)}"])
    spent = record.told[-1].seconds if record.told else 0.0
    remark = None if seconds is None or state != "running" else f"about {duration(seconds)} left"
    return [*tiles, ["Time", duration(spent), remark], ["State", state, None]]


def _source(name: str, record: Record) -> list[str]:
    """What is searched, in a few words."""
    kind, request = "feature selection" if record.selection else record.problem, record.request
    asked = [
        f"{what} {request[what]}"
        for what in ("target", "estimator", "scoring")
        if request.get(what) is not None
    ]
    return [part for part in (name, kind, *asked, record.made_by) if part]


def _activity(record: Record, now: float | None) -> dict[str, Any]:
    """What is pending, what has failed, and what the user has asked for."""
    return {
        "pending": [
            {
                "leaf": text_of(one, record),
                "age": None if now is None else max(0.0, now - one.since),
                "by": None if one.by is None else worker_name(one.by),
            }
            for one in list(record.pending.values())[:_PENDING]
        ],
        "pending_count": len(record.pending),
        "failures": [
            {
                "leaf": text_of(one, record),
                "at": one.at,
                "step": one.step,
                "text": one.text,
            }
            for one in record.failures[: -_FAILURES - 1 : -1]
        ],
        "failure_count": len(record.failures),
        "lost": record.lost,
        "requests": [
            {"at": one.at, "what": _what(one, record), "answer": one.answer, "refused": one.refused}
            for one in list(record.requests.values())[: -_REQUESTS - 1 : -1]
        ],
    }


def _what(request: Request, record: Record) -> str:
    """What a user has asked for."""
    if request.action == "propose":
        return f"evaluate {leaf_text(leaf_parts(request.value, record.form, record.labels))} next"
    return f"budget {shown(request.value)}" if request.action == "budget" else request.action


def _state(record: Record, running: bool, left: int | None, rules: Sequence[Mapping[str, Any]]) -> str:
    if running:
        return "paused" if record.paused else "stopping" if record.stopping else "running"
    over = left == 0 or record.stopping or record.settled or any(rule["share"] == 1.0 for rule in rules)
    over = over or record.stopped not in (None, "budget", "error", "interrupted")
    return "ended" if over or record.begun is None else "not running"


def _ago(record: Record, now: float | None) -> float | None:
    """Seconds since the best reward."""
    if record.best is None or now is None or record.last is None:
        return None
    return max(0.0, now - record.last + record.told[-1].seconds - record.told[record.best].seconds)


def _seconds_left(record: Record, left: int | None) -> float | None:
    """Seconds that the evaluations left will take, at the speed of the last ones."""
    recent = record.told[-_RECENT:]
    if not left or len(recent) < 2:
        return None
    return left * max(0.0, recent[-1].seconds - recent[0].seconds) / (len(recent) - 1)


def _turned(one: Forecast, sign: float) -> Forecast:
    """A forecast in the user's sign; the interval's ends keep their meaning: ``low`` is the smaller gain."""
    return one._replace(mean=sign * one.mean, low=sign * one.low, high=sign * one.high)


def _points(
    told: Sequence[Shown], sign: float, values: Sequence[float] | None = None
) -> list[dict[str, Any]]:
    """The evaluations, each with the best reward so far or one of ``values``.

    Of very many, all improvements and an even share of the others.
    """
    best, lines, improved = -math.inf, list[float](), set[int]()
    for place, one in enumerate(told):
        if one.reward > best:
            best = one.reward
            improved.add(place)
        lines.append(sign * best)
    every = max(1, math.ceil(len(told) / _POINTS))
    some = {place for place in range(len(told)) if (place + 1) % every == 0}
    return [
        {
            "step": place + 1,
            "reward": sign * told[place].reward,
            "best": (values or lines)[place],
            "seconds": told[place].seconds,
            "predicted": _moments(told[place].predicted, sign),
            "leaf": leaf_texts(told[place].parts),
        }
        for place in sorted({*some, *improved, len(told) - 1} if told else ())
    ]


def _moments(belief: Gaussian | None, sign: float) -> list[float] | None:
    return None if belief is None else [sign * belief.mean, math.sqrt(max(belief.variance, 0.0))]


def _band(progress: Past | None, done: int, ahead: int, sign: float) -> list[dict[str, float]]:
    """The forecast after some numbers of further evaluations."""
    if progress is None or not ahead:
        return []
    steps = sorted({max(1, round(ahead * (place / _BAND) ** 2)) for place in range(1, _BAND + 1)})
    found = [(n, _turned(forecast(progress, n), sign)) for n in steps]
    start = {"step": done, "mean": sign * progress.best}
    return [
        {**start, "low": start["mean"], "high": start["mean"]},
        *({"step": done + n, "mean": one.mean, "low": one.low, "high": one.high} for n, one in found),
    ]


def _calibration(told: Sequence[Shown]) -> dict[str, Any] | None:
    """How predictions compare with the latter half of the rewards: coverage of central intervals, and skill.

    ``None`` with too few predictions.
    """
    foresight = Foresight()
    for one in told:
        foresight.record(one.predicted, one.reward)
    if not foresight.recent:
        return None
    reaches = ((share, float(ndtri(0.5 + share / 2.0))) for share in (0.5, 0.8, 0.9, 0.95))
    return {
        "count": len(foresight.recent),
        "covered": [[share, foresight.covered(reach)] for share, reach in reaches],
        "skill": foresight.skill,
    }


def _gains(progress: Past | None, horizon: int, sign: float, left: int | None) -> list[dict[str, Any]]:
    """Expected improvements with some numbers of further evaluations."""
    if progress is None:
        return []
    most = horizon if left else max(10, progress.rewards)
    steps = sorted({n for n in (*_AHEAD, horizon if left else 0) if 0 < n <= most})
    found = []
    for n in steps:
        one = forecast(progress, n)
        gain = [one.mean - progress.best, one.low - progress.best, one.high - progress.best]
        found.append({"n": n, "gain": gain, "best": sign * one.mean, "chance": one.chance, "rest": n == left})
    return found


def _rules(record: Record, best: int | None, now: float | None) -> list[dict[str, Any]]:
    """Every rule for stopping with its present state; ``share`` is how much of it is used up."""
    done, rules = record.evaluations, record.rules
    found = []
    if record.budget:
        text = f"{record.spent:,} of {counted(record.budget, 'evaluation')}"
        found.append({"rule": "budget", "text": text, "share": min(1.0, record.spent / record.budget)})
    if "patience" in rules and best is not None:
        since = done - 1 - best
        text = f"{since} of {number(rules['patience'])} evaluations without a better reward"
        found.append({"rule": "patience", "text": text, "share": min(1.0, since / rules["patience"])})
    if "target" in rules:
        sign = -1.0 if record.minimized else 1.0
        reward = record.best_reward
        now_at = "no reward yet" if reward is None else f"best so far {number(sign * reward)}"
        reached = reward is not None and reward >= rules["target"]
        text = f"{now_at}, target {number(sign * rules['target'])}"
        found.append({"rule": "target", "text": text, "share": 1.0 if reached else None})
    if "seconds" in rules and record.run_began is not None and now is not None:
        spent = max(0.0, now - record.run_began)
        text = f"{duration(spent)} of {duration(rules['seconds'])}"
        found.append({"rule": "seconds", "text": text, "share": min(1.0, spent / rules["seconds"])})
    if "tolerance" in rules:
        text = f"ends when the rest of the budget is unlikely to gain {number(rules['tolerance'])}"
        found.append({"rule": "tolerance", "text": text, "share": None})
    return found


def _effect(effect: Effect, sign: float, chosen: bool) -> dict[str, Any]:
    worth, low, high, probability = effect.importance
    ends = sorted((sign * low, sign * high))
    return {
        "label": str(effect.part),
        "worth": sign * worth,
        "low": ends[0],
        "high": ends[1],
        "probability": probability,
        "count": effect.evaluations,
        "chosen": chosen,
    }


def is_noisy(record: Record) -> bool:
    """Whether a mean decides which leaf is best, rather than the largest reward."""
    if record.best is None or record.game:
        return False
    best = record.told[record.best].reward
    return record.best_reward != best or any(one.reward > best for one in record.told)


def _values(record: Record) -> list[float]:
    """The value of the game as it was believed at each evaluation; its result where nothing was believed."""
    values = dict(record.values)
    found, mean = list[float](), record.values[0][1].mean if record.values else None
    for place, one in enumerate(record.told):
        mean = values[place].mean if place in values else mean
        found.append(one.reward if mean is None else mean)
    return found
