"""``python -m experiments benchmark speed``: what a step costs, and whether it reaches its target.

Every measurement has figures with targets and writes its own file, so that it can be repeated alone. All use
the public interface, and are compared with floors measured in the same run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from dagsearch._internal.threads import one_thread
from experiments.harness.runner import Outcome
from experiments.speed import breakeven, growth, memory, page, replay, startup, steps
from experiments.speed.results import Figure, Measurement

__all__ = ["MEASUREMENTS", "Figure", "Measurement", "SpeedOutcome", "run", "summary"]

MEASUREMENTS: dict[str, Callable[[bool], Measurement]] = {
    "subsets": steps.subsets,
    "tictactoe": steps.tictactoe,
    "digits": steps.digits,
    "growth": growth.growth,
    "kernel": growth.kernel,
    "scaling": growth.scaling,
    "memory": memory.memory,
    "uct": steps.uct,
    "breakeven": breakeven.breakeven,
    "startup": startup.startup,
    "replay": replay.replay,
}
"""Measurements by the names that ``--only`` takes; the argument selects the quick version."""


@dataclass(frozen=True)
class SpeedOutcome(Outcome):
    """Measurements, each with its own file, and one picture of all files in a folder."""

    measurements: Sequence[Measurement] = field(default_factory=tuple)
    """In the order of :data:`MEASUREMENTS`."""

    def write(self, folder: Path) -> list[Path]:
        """A JSON file for every measurement, and the picture, which includes older files of the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        written = [measurement.write(folder) for measurement in self.measurements]
        written.append(folder / "speed.png")
        page.draw(page.read(folder, list(MEASUREMENTS))).savefig(written[-1], dpi=150)
        return written


def run(only: Sequence[str] = (), *, quick: bool = False, progress: bool = True) -> SpeedOutcome:
    """Take all measurements, or some; at full size, or ``quick``."""
    unknown = [name for name in only if name not in MEASUREMENTS]
    if unknown:
        raise ValueError(f"there is no measurement {unknown[0]!r}; choose from {', '.join(MEASUREMENTS)}")
    names = [name for name in MEASUREMENTS if not only or name in only]
    found = []
    with tqdm(names, disable=not progress, unit="measurement") as bar, one_thread():
        for name in bar:
            bar.set_postfix_str(name)
            found.append(MEASUREMENTS[name](quick))
    return SpeedOutcome("speed", [], {}, measurements=found)


def summary(outcome: Outcome) -> str:
    """Every figure with its target."""
    assert isinstance(outcome, SpeedOutcome)
    return page.summary(outcome.measurements)
