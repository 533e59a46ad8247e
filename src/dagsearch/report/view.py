"""What the page shows, in types that JSON has, computed from what has happened in a search."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from scipy.special import ndtri

from dagsearch._internal.texts import shown
from dagsearch.data import Foresight
from dagsearch.errors import StorageError
from dagsearch.forecasts import FARTHEST, Forecast, Past, forecast, progress_of
from dagsearch.report.dag import best_part, best_told, decisions, main_line
from dagsearch.report.effects import Effect, Worth, worth_of
from dagsearch.report.parts import Part, Shown, leaf_parts, leaf_text, parts_of, text_of
from dagsearch.report.runs import worker_name
from dagsearch.report.words import count_left, duration, ended, number, sentence
from dagsearch.results import Gaussian
from dagsearch.storage.record import Record
from dagsearch.storage.steering import Request

# Largest numbers of points, effects, best leaves, pending evaluations, failures and requests that are shown.
_POINTS, _EFFECTS, _LEAVES, _PENDING, _FAILURES, _REQUESTS = 1500, 40, 8, 60, 20, 12
_PAIRS = 8
# Effects are computed again when there are so many times the evaluations of the last time.
_RENEWED = 1.05
# Number of lines of a game that are shown, the latest ones.
_LINES = 8
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
# Largest numbers of choices and of options of a choice that a leaf to be proposed is put together from.
_MOST_CHOICES, _MOST_OPTIONS = 60, 200
# What things are called, in a search and in a feature selection.
_WORDS = {
    "so far": "best so far",
    "reward": "reward",
    "evaluation": "evaluation",
    "leaf": "leaf",
    "leaves": "leaves",
    "best": "best leaf",
    "item": "item or choice",
}
SELECTION_WORDS = {
    "so far": "best so far",
    "reward": "score",
    "evaluation": "subset",
    "leaf": "subset",
    "leaves": "subsets",
    "best": "best subset",
    "item": "feature",
}
"""What things are called in a feature selection."""
_NOISY_WORDS = {**_WORDS, "so far": "largest reward so far", "best": "recommended leaf"}
_GAME_WORDS = {
    "so far": "value",
    "reward": "result",
    "evaluation": "evaluation",
    "leaf": "line",
    "leaves": "lines",
    "best": "most evaluated line",
    "item": "move",
}


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
        self._worth, self._used = Worth([], [], []), 0
        self._told, self._shown = record.told, list[Shown]()
        self._parts: dict[Part, Part] = {}  # leaves consist of the same few

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
            return self._view(now, running)
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
            raise StorageError(
                f"{self.name} cannot be shown: it is malformed ({type(error).__name__}: {error})"
            ) from error

    def _view(self, now: float | None, running: bool) -> dict[str, Any]:
        record = self.record
        now = record.last if now is None else now
        sign = -1.0 if record.minimized else 1.0
        told, best, noisy = self._shown_leaves(), record.best, _is_noisy(record)
        best_reward = None if record.best_reward is None else sign * record.best_reward
        rewards, beliefs = [one.reward for one in told], [one.predicted for one in told]
        # What is left was not measured for costly steps.
        progress = None if record.steps else progress_of(rewards, beliefs, record.largest)
        left = None if record.budget is None else max(0, record.budget - record.spent)
        worth = self._worth_now(told, running)
        rules = _rules(record, best, now if running else record.last)
        state = _state(record, running, left, rules)
        left = 0 if state == "ended" and left is not None else left
        # To the end of the budget, but not farther than forecasts are known to hold.
        horizon = len(told) if left is None else min(left, FARTHEST * len(told))
        over = record.settled and state == "ended"  # nothing is left to evaluate, and nothing to expect
        if over:
            progress = None
        ahead = forecast(progress, horizon) if progress is not None and left else None
        return {
            "name": self.name,
            "source": _source(self.name, record),
            "words": SELECTION_WORDS if record.selection else _NOISY_WORDS if noisy else _WORDS,
            "rows": []
            if best is None
            else [["best" if over else "best so far", leaf_text(told[best].parts)]],
            "dagsearch": record.version,
            "events": record.events,
            "state": state,
            "minimized": record.minimized,
            "bounds": [None, record.largest if record.largest < math.inf else None],
            "sentence": sentence(
                best_reward,
                0 if best is None else best + 1,
                record.evaluations,
                _ago(record, best, now) if state in _GOING_ON else None,
                left,
                None if ahead is None or noisy else _turned(ahead, sign),
                _seconds_left(told, left),
                state,
                over,
                noisy,
            ),
            "best": best_reward,
            "noisy": noisy,
            "best_leaf": None if best is None else list(map(str, told[best].parts)),
            "best_encoded": None if best is None else record.told[best].leaf,
            "evaluations": record.evaluations,
            "budget": record.budget,
            "left": left,
            "seconds": told[-1].seconds if told else 0.0,
            "history": _history(told, sign),
            "forecast": _band(progress, len(told), horizon, sign),
            "failed": sorted({one.step for one in record.failures[-_POINTS:]}),
            "calibration": _calibration(told),
            "gain": _gains(progress, horizon, sign, left),
            "settled": record.settled,
            "rules": rules,
            "effects": [
                _effect(effect, sign, best is not None and effect.part in told[best].parts)
                for effect in worth.effects
            ],
            "pairs": [_effect(pair, sign, False) for pair in worth.pairs],
            "dag": None
            if best is None
            else best_part(best_told(told), decisions(told[best], worth.order), sign),
            "leaves": _best_leaves(record, told, sign),
            "game": record.game,
            "labels": record.labels if record.labels and len(record.labels) <= _LABELS else None,
            "choices": _choices(record),
            **_activity(record, now),
            **(_game(record, told, left, _seconds_left(told, left), state) if record.game else {}),
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

    def _worth_now(self, told: Sequence[Shown], running: bool) -> Worth:
        """What parts and pairs are worth; while a search runs, computed now and then."""
        if len(told) >= _RENEWED * self._used or (len(told) > self._used and not running):
            self._worth, self._used = worth_of(told, _EFFECTS, _PAIRS), len(told)
        return self._worth


def _choices(record: Record) -> list[dict[str, Any]] | None:
    """Every named choice with the options that were evaluated and that of the best leaf, if there are names.

    A choice is ``"optional"`` if some leaves do not make it, and ``"made"`` if the best one does.
    """
    if record.best is None or _named(record.told[record.best].leaf) is None:
        return None
    leaves = [_named(one.leaf) for one in record.told]
    if None in leaves:
        return None
    options: dict[str, dict[str, Any]] = {}
    for leaf in leaves:
        for name, value in (leaf or {}).items():
            options.setdefault(name, {}).setdefault(json.dumps(value), value)
    if len(options) > _MOST_CHOICES or max(map(len, options.values()), default=0) > _MOST_OPTIONS:
        return None
    best = leaves[record.best] or {}
    return [
        {
            "name": name,
            "options": list(found.values()),
            "optional": not all(name in (leaf or ()) for leaf in leaves),
            "made": name in best,
            "best": best.get(name),
        }
        for name, found in options.items()
    ]


def _named(leaf: Any) -> dict[str, Any] | None:
    """The options of a leaf by the names of its choices; ``None`` if it has no names."""
    if isinstance(leaf, Mapping):
        return dict(leaf) if list(leaf) not in (["set"], ["tuple"]) else None
    if isinstance(leaf, list) and leaf and all(isinstance(one, list) and len(one) in (2, 3) for one in leaf):
        return {one[0]: one[1] for one in leaf} if all(isinstance(one[0], str) for one in leaf) else None
    return None


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


def _ago(record: Record, best: int | None, now: float | None) -> float | None:
    if best is None or now is None or record.last is None or not record.told:
        return None
    return max(0.0, now - record.last + record.told[-1].seconds - record.told[best].seconds)


def _seconds_left(told: Sequence[Shown], left: int | None) -> float | None:
    """Seconds that the evaluations left will take, at the speed of the last ones."""
    recent = told[-_RECENT:]
    if not left or len(recent) < 2:
        return None
    return left * max(0.0, recent[-1].seconds - recent[0].seconds) / (len(recent) - 1)


def _turned(one: Forecast, sign: float) -> Forecast:
    """A forecast in the user's sign; the interval's ends keep their meaning: ``low`` is the smaller gain."""
    return one._replace(mean=sign * one.mean, low=sign * one.low, high=sign * one.high)


def _history(told: Sequence[Shown], sign: float) -> list[dict[str, Any]]:
    """The evaluations; of very many, all improvements and an even share of the others."""
    best, so_far, improved = -math.inf, list[float](), set[int]()
    for place, one in enumerate(told):
        if one.reward > best:
            best = one.reward
            improved.add(place)
        so_far.append(sign * best)
    return _points(told, sign, so_far, improved)


def _points(
    told: Sequence[Shown], sign: float, lines: Sequence[float], also: Collection[int] = ()
) -> list[dict[str, Any]]:
    """Evaluations as points of the curve, each with its value of the line; of very many, an even share."""
    every = max(1, math.ceil(len(told) / _POINTS))
    some = (place for place in range(len(told)) if (place + 1) % every == 0 or place in also)
    return [
        {
            "step": place + 1,
            "reward": sign * told[place].reward,
            "best": lines[place],
            "seconds": told[place].seconds,
            "predicted": _moments(told[place].predicted, sign),
            "leaf": leaf_text(told[place].parts),
        }
        for place in sorted({*some, len(told) - 1} if told else ())
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
        text = f"{record.spent} of {record.budget} evaluations"
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
    ends = sorted((sign * effect.low, sign * effect.high))
    return {
        "label": str(effect),
        "effect": sign * effect.effect,
        "low": ends[0],
        "high": ends[1],
        "count": effect.leaves,
        "chosen": chosen,
    }


def _is_noisy(record: Record) -> bool:
    """Whether a mean decides which leaf is best, rather than the largest reward."""
    if record.best is None or record.game:
        return False
    best = record.told[record.best].reward
    return record.best_reward != best or any(one.reward > best for one in record.told)


def _best_leaves(record: Record, told: Sequence[Shown], sign: float) -> list[dict[str, Any]]:
    """The recommended leaf, and the best others by mean reward with how they differ from it."""
    rewards, steps = dict[tuple[Part, ...], list[float]](), dict[tuple[Part, ...], int]()
    for place, one in enumerate(told, start=1):
        leaf = tuple(one.parts)
        steps.setdefault(leaf, place)
        rewards.setdefault(leaf, []).append(one.reward)
    if record.best is None:
        return []
    first = tuple(told[record.best].parts)
    has_places = any(part.place for part in first)
    means = {leaf: sum(found) / len(found) for leaf, found in rewards.items()}
    others = sorted((leaf for leaf in means if leaf != first), key=lambda leaf: -means[leaf])
    return [
        {
            "reward": sign * means[leaf],
            "step": record.best + 1 if leaf == first else steps[leaf],
            "parts": [[str(part), part not in first] for part in leaf],
            "lacks": [] if has_places else sorted(str(part) for part in {*first} - {*leaf}),
        }
        for leaf in [first, *others[: _LEAVES - 1]]
    ]


# Games: two players want opposite things ------------------------------------------------------------


def _game(
    record: Record, told: Sequence[Shown], left: int | None, seconds_left: float | None, state: str
) -> dict[str, Any]:
    """The parts of a view that are different for a game: the largest reward says little of it.

    ``left`` is the number of evaluations that are left of the budget, if it is known, ``seconds_left`` the
    time that they will take, and ``state`` what the search does now, such as ``"running"``.
    """
    line = main_line(told)
    value = record.values[-1][1] if record.values else None
    return {
        "words": _GAME_WORDS,
        "sentence": _game_sentence(told, value, left, seconds_left, state),
        "best": None if value is None else value.mean,
        "best_leaf": list(map(str, line)) or None,
        "rows": [["most evaluated line", leaf_text(line)]] if line else [],
        "history": _points(told, 1.0, _values(record)),
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


def _game_sentence(
    told: Sequence[Shown], value: Gaussian | None, left: int | None, seconds_left: float | None, state: str
) -> str:
    """What the game is worth, and which first move was evaluated most."""
    if not told:
        return f"No reward yet ({state})."
    after = f"after {len(told)} evaluations"
    if value is None:
        text = f"The value of the game is unknown {after}"
    else:
        worth = f"{number(value.mean)} ± {number(value.variance**0.5)}"
        text = f"The game is worth {worth} to the first player {after}"
    line = main_line(told)
    if line:
        count = sum(one.parts[:1] == line[:1] for one in told)
        text += f"; the first move {line[0].value} was evaluated most ({count} of {len(told)})"
    return ended(f"{text}; {count_left(left)}" if left else text, left, seconds_left, state)


def _values(record: Record) -> list[float]:
    """The value of the game as it was believed at each evaluation; its result where nothing was believed."""
    values = dict(record.values)
    found, mean = list[float](), record.values[0][1].mean if record.values else None
    for place, one in enumerate(record.told):
        mean = values[place].mean if place in values else mean
        found.append(one.reward if mean is None else mean)
    return found
