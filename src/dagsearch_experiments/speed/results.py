"""What a measurement says: figures with their targets, and everything they come from."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dagsearch_experiments.runner import versions

SEED = 0


@dataclass(frozen=True)
class Figure:
    """One number, as a rule one that we want to be small, or large."""

    what: str
    """Of what."""
    value: float | None
    """The number; ``None`` if it could not be measured."""
    unit: str
    """What it is counted in."""
    target: float | None
    """Where it should be; ``None`` if it is there to be known."""
    at_least: bool = False
    """Whether larger is better."""
    note: str = ""
    """What to know about this very measurement."""

    @property
    def reached(self) -> bool | None:
        """Whether it is where it should be; ``None`` if it need not be anywhere."""
        if self.target is None:
            return None
        if self.value is None:
            return False
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def wanted(self) -> str:
        """The target, as a reader wants it."""
        if self.target is None:
            return f"– {self.unit}"
        return f"{'≥' if self.at_least else '≤'} {self.target:,g} {self.unit}"

    @property
    def shown(self) -> str:
        """The value, as a reader wants it."""
        return (
            "–" if self.value is None else f"{self.value:.3g}" if self.value < 1e3 else f"{self.value:,.0f}"
        )


@dataclass(frozen=True)
class Measurement:
    """What one measurement gave."""

    name: str
    """By which it is asked for."""
    figures: Sequence[Figure]
    """What it is about."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """Everything else, to be looked at and drawn."""
    quick: bool = False
    """Whether it is a small version, by which no target is judged."""

    def verdict(self, figure: Figure) -> bool | None:
        """Whether a figure is where it should be; ``None`` if that cannot be said."""
        return None if self.quick else figure.reached

    def write(self, folder: Path) -> Path:
        """As JSON, with the machine and the versions; returns where."""
        path = folder / f"{self.name}.json"
        figures = [asdict(figure) | {"reached": self.verdict(figure)} for figure in self.figures]
        about = {"experiment": f"speed, {self.name}", "quick": self.quick, "seed": SEED, "figures": figures}
        about |= {"measured": self.measured, "machine": machine(), "versions": versions()}
        path.write_text(json.dumps(_rounded(about), indent=2, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> "Measurement":
        """What :meth:`write` wrote."""
        about = json.loads(path.read_text())
        figures = [
            Figure(**{name: value for name, value in figure.items() if name != "reached"})
            for figure in about["figures"]
        ]
        return cls(path.stem, figures, about["measured"], about["quick"])


def machine() -> dict[str, Any]:
    """The processor, as far as the system tells."""
    return {
        "cpu": _model() or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "not limited"),
    }


def _model() -> str | None:
    """The processor's name where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _rounded(value: Any) -> Any:
    """Floats to five digits: what is measured is not known better."""
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
