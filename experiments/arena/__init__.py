"""Many games between our player and OpenSpiel's: run in parallel, scored with intervals, written to files."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.arena.matches import Pairing, Record, play_game
from experiments.harness.csv_files import read_csv, write_csv
from experiments.harness.drawing import figure
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import run_tasks, versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Quantile of the normal distribution for 95 % intervals.
_Z = 1.96


class Score(NamedTuple):
    """Mean score of some games and a 95 % interval."""

    mean: float
    """Share of the points; a draw is half a point."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    games: int
    """Number of games."""


def score(records: Sequence[Record]) -> Score:
    """Mean score with Wilson's interval; with draws the interval is wider than necessary, never narrower."""
    mean, count = float(np.mean([record.score for record in records])), len(records)
    centre = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z / (1 + _Z**2 / count) * math.sqrt(mean * (1 - mean) / count + _Z**2 / (4 * count**2))
    return Score(mean, max(0.0, centre - half), min(1.0, centre + half), count)


def run(pairings: Sequence[Pairing], games: int, jobs: int, progress: bool = True) -> list[Record]:
    """``games`` games of every pairing in ``jobs`` processes, whose number does not change the games."""
    tasks = [(pairing, number) for pairing in pairings for number in range(games)]
    return run_tasks(play_game, tasks, jobs, progress, unit="game")


def by_pairing(records: Iterable[Record]) -> dict[tuple[str, str, str], list[Record]]:
    """The games of each game, opponent and budget, in order of appearance."""
    found: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.game, record.against, record.budget), []).append(record)
    return found


def summary(records: Sequence[Record]) -> str:
    """Score, counts and time per move of every pairing, as a table."""
    rows = []
    for pairing, played in by_pairing(records).items():
        result = score(played)
        counts = [sum(record.score == points for record in played) for points in (1.0, 0.5, 0.0)]
        seconds = np.mean([(record.our_seconds, record.their_seconds) for record in played], axis=0)
        interval = f"{result.low:.3f}-{result.high:.3f}"
        times = [f"{1e3 * time:.0f}" for time in seconds]
        rows.append([*pairing, f"{result.mean:.3f}", interval, "/".join(map(str, counts)), *times])
    head = ["game", "against", "per move", "score", "95 % interval", "won/drawn/lost"]
    return aligned(table([*head, "our ms per move", "their ms per move"], rows))


def write(
    records: Sequence[Record], folder: Path, name: str, settings: Mapping[str, Any] | None = None
) -> list[Path]:
    """Games as compressed CSV, settings and versions as JSON, scores as PNG; returns the files' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    games, picture, about = (folder / f"{name}.{suffix}" for suffix in ("csv.gz", "png", "json"))
    stated = {"experiment": f"arena, {name}", **(settings or {}), "versions": versions()}
    about.write_text(json.dumps(stated, indent=2) + "\n")
    rounded = (
        [f"{field:.5g}" if isinstance(field, float) else field for field in record] for record in records
    )
    write_csv(games, Record._fields, rounded)
    draw(records).savefig(picture, dpi=150)
    return [games, about, picture]


def read(path: Path) -> list[Record]:
    """The games of a ``.csv.gz`` file that :func:`write` wrote."""
    types = Record.__annotations__
    return [Record(**{name: types[name](cell) for name, cell in row.items()}) for row in read_csv(path)]


def draw(records: Sequence[Record]) -> "Figure":
    """Score with its interval by budget, one panel per game, one colour per opponent."""
    found = by_pairing(records)
    games = list(dict.fromkeys(game for game, _, _ in found))
    drawn = figure(max(4.5, 3.2 * len(games)), 3.6)
    axes = drawn.subplots(1, len(games), sharey=True, squeeze=False)[0]
    for panel, game in zip(axes, games, strict=True):
        own = {key[1:]: score(played) for key, played in found.items() if key[0] == game}
        budgets = list(dict.fromkeys(budget for _, budget in own))
        for shift, opponent in enumerate(dict.fromkeys(against for against, _ in own)):
            points = [(budgets.index(b), own[a, b]) for a, b in own if a == opponent]
            panel.errorbar(
                [at + 0.1 * shift for at, _ in points],
                [result.mean for _, result in points],
                [[r.mean - r.low for _, r in points], [r.high - r.mean for _, r in points]],
                fmt="o-",
                capsize=3,
                label=f"against {opponent}",
                color=("#D55E00", "#0072B2")[shift % 2],
            )
        panel.axhline(0.5, color="black", linestyle=":", linewidth=1.0)
        unit = budgets[0].partition(" ")[2]
        panel.set_title(game, fontsize="medium")
        panel.set(xlabel=f"{unit} for every move", ylim=(0.0, 1.0))
        panel.set_xticks(range(len(budgets)), [budget.partition(" ")[0] for budget in budgets])
        panel.set_xlim(-0.5, len(budgets) - 0.4)
    axes[0].set_ylabel("our score, 95 % interval")
    axes[0].legend(fontsize="small", loc="lower right")
    return drawn
