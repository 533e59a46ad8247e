"""What the page shows, in types that JSON has, computed from what has happened in a search."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dagsearch._internal.texts import shown
from dagsearch.data import Foresight
from dagsearch.errors import StorageError
from dagsearch.forecasts import FARTHEST, forecast, progress_of
from dagsearch.report.effects import Effect, effects_of
from dagsearch.report.parts import Part, Shown, leaf_parts, leaf_text, leaf_texts, parts_of, text_of
from dagsearch.report.paths import decisions, main_line, path_to
from dagsearch.report.runs import worker_name
from dagsearch.report.words import counted, duration, number, percent, with_error
from dagsearch.results import Gaussian
from dagsearch.storage.record import Record, Request

# Largest numbers of evaluations, effects, pending evaluations, failures and requests that are shown.
_POINTS, _EFFECTS, _PENDING, _FAILURES, _REQUESTS = 5000, 40, 60, 20, 12
# Effects are computed again when there are so many times the evaluations of the last time.
_RENEWED = 1.1
# Largest number of names that a leaf to be proposed may be written with.
_LABELS = 2000
# Number of rewards that the speed of the search is computed from.
_RECENT = 50
# Numbers of further evaluations that gains are listed for, and number of points of the forecast's band.
_AHEAD, _BAND = (1, 10, 100, 1000), 24
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
        left = None if record.budget is None else max(0, record.budget - record.spent)
        rules = _rules(record, now if running else record.last)
        state = _state(record, running, left, rules)
        left = 0 if state == "ended" and left is not None else left
        over = record.settled and state == "ended"
        ahead = [] if over else _forecast(record, told, left)
        noisy = is_noisy(record)
        rest = ahead[-1] if ahead and left and not noisy else None
        best = [] if record.best is None else told[record.best].parts
        found = _found(record, noisy, over)
        return {
            "name": self.name,
            "words": _words(record, noisy),
            "state": state,
            "sentence": _sentence(record, found, rest, left, state),
            "tiles": _tiles(record, now, rest, left, state, found),
            "best_leaf": leaf_texts(main_line(told) if record.game else best) or None,
            "history": _points(record, told),
            "forecast": ahead,
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
            "path": path_to(told, way, sign, by_count=record.game or is_noisy(record)),
            "game": record.game,
            "steps": record.steps,
            "rewards": len(told),
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
        what = "Value for the first player"
        return what, with_error(*record.values[-1][1]) if record.values else "unknown"
    reward = record.best_reward
    what = "Best mean so far" if noisy else "Best" if over else "Best so far"
    return what, number(reward if reward is None or not record.minimized else -reward)


def _sentence(
    record: Record, found: tuple[str, str], rest: Mapping[str, Any] | None, left: int | None, state: str
) -> str:
    """The headline: what was found, and whether the rest of the budget will improve it."""
    if not record.told:
        return f"No reward yet ({state})."
    what = "No value yet" if record.game and not record.values else " ".join(found)
    text = f"{what} after {counted(record.evaluations, 'evaluation')}"
    if rest is not None:
        further = counted(rest["n"], "evaluation")
        text += f"; the {'remaining' if rest['n'] == left else 'next'} {further} will improve it"
        text += f" with probability {percent(rest['chance'])}"
    return f"{text}." if state in ("running", "ended") else f"{text} ({state})."


def _tiles(
    record: Record,
    now: float | None,
    rest: Mapping[str, Any] | None,
    left: int | None,
    state: str,
    found: tuple[str, str],
) -> list[list[str | None]]:
    """Name, value and remark of the figures below the headline."""
    seconds = _seconds_left(record, left) if state == "running" else None
    # Neither a game nor a costly step has the number of its evaluation.
    when = [] if record.best is None or record.game or record.steps else [f"evaluation {record.best + 1}"]
    if when and state in _GOING_ON and (ago := _ago(record, now)) is not None:
        when.append(f"{duration(ago)} ago")
    done = f"{record.evaluations:,}" + (f" of {record.budget:,}" if record.budget is not None else "")
    others = ((len(record.pending), "pending"), (len(record.failures), "failed"))
    ahead = list[list[str | None]]()
    if rest is not None:
        name = "Expected at the end" if rest["n"] == left else f"Expected after {rest['n']:,} more"
        interval = f"90 % interval {number(rest['low'])} to {number(rest['high'])}"
        ahead = [[name, number(rest["mean"]), interval]]
    return [
        [*found, ", ".join(when) or None],
        ["Evaluations", done, ", ".join(f"{count:,} {what}" for count, what in others if count) or None],
        *ahead,
        [
            "Time",
            duration(record.told[-1].seconds if record.told else 0.0),
            None if seconds is None else f"about {duration(seconds)} left",
        ],
        ["State", state, None],
    ]


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
            {"leaf": text_of(one, record), "at": one.at, "step": one.step, "text": one.text}
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


def _points(record: Record, told: Sequence[Shown]) -> list[dict[str, Any]]:
    """The evaluations, each with the best reward so far, or the value of the game.

    Of very many, all improvements and an even share of the others.
    """
    sign, best = -1.0 if record.minimized else 1.0, -math.inf
    lines, improved = list[float | None](), set[int]()
    for place, one in enumerate(told):
        if one.reward > best:
            best = one.reward
            improved.add(place)
        lines.append(sign * best)
    if record.game:
        lines = _values(record)
    every = max(1, math.ceil(len(told) / _POINTS))
    some = {place for place in range(len(told)) if (place + 1) % every == 0}
    return [
        {
            "step": place + 1,
            "reward": sign * told[place].reward,
            "best": lines[place],
            "seconds": told[place].seconds,
            "predicted": _moments(told[place].predicted, sign),
            "leaf": leaf_texts(told[place].parts),
        }
        for place in sorted({*some, *improved, len(told) - 1} if told else ())
    ]


def _moments(belief: Gaussian | None, sign: float) -> list[float] | None:
    return None if belief is None else [sign * belief.mean, math.sqrt(max(belief.variance, 0.0))]


def _forecast(record: Record, told: Sequence[Shown], left: int | None) -> list[dict[str, float]]:
    """The best reward after further evaluations: all that are left, or as many as there were.

    It goes no farther than forecasts are known to hold. None is made for costly steps, for which forecasts
    were not measured, nor for a game, whose value may rise or fall. ``low`` is the smaller gain.
    """
    if record.steps or record.game:
        return []
    past = progress_of([one.reward for one in told], [one.predicted for one in told], record.largest)
    if past is None:
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


def _calibration(told: Sequence[Shown]) -> dict[str, Any] | None:
    """How predictions compare with the latter half of the rewards; ``None`` with too few predictions."""
    foresight = Foresight()
    for one in told:
        foresight.record(one.predicted, one.reward)
    if not foresight.recent:
        return None
    return {"count": len(foresight.recent), "covered": foresight.covered(), "skill": foresight.skill}


def _rules(record: Record, now: float | None) -> list[dict[str, Any]]:
    """Every rule for stopping with its present state; ``share`` is how much of it is used up."""
    rules, reward, found = record.rules, record.best_reward, list[dict[str, Any]]()

    def add(rule: str, text: str, share: float | None = None) -> None:
        found.append({"rule": rule, "text": text, "share": None if share is None else min(1.0, share)})

    if record.budget:
        evaluations = counted(record.budget, "evaluation")
        add("budget", f"{record.spent:,} of {evaluations}", record.spent / record.budget)
    if "patience" in rules and record.best is not None:
        since, patience = record.evaluations - 1 - record.best, rules["patience"]
        add(
            "patience", f"{since} of {number(patience)} evaluations without a better reward", since / patience
        )
    if "target" in rules:
        sign = -1.0 if record.minimized else 1.0
        best = "no reward yet" if reward is None else f"best so far {number(sign * reward)}"
        reached = reward is not None and reward >= rules["target"]
        add("target", f"{best}, target {number(sign * rules['target'])}", 1.0 if reached else None)
    if "seconds" in rules and record.run_began is not None and now is not None:
        spent, limit = max(0.0, now - record.run_began), rules["seconds"]
        add("seconds", f"{duration(spent)} of {duration(limit)}", spent / limit)
    if "tolerance" in rules:
        add("tolerance", f"ends when the rest of the budget is unlikely to gain {number(rules['tolerance'])}")
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


def _values(record: Record) -> list[float | None]:
    """The value of the game as it was believed at each evaluation; ``None`` if none is known."""
    values = dict(record.values)
    found, mean = list[float | None](), record.values[0][1].mean if record.values else None
    for place in range(len(record.told)):
        mean = values[place].mean if place in values else mean
        found.append(mean)
    return found
