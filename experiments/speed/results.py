"""Results of a measurement: figures with their targets, and the data behind them."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.harness.runner import versions

SEED = 0


@dataclass(frozen=True)
class Figure:
    """One number, in most cases with a target."""

    what: str
    """What is measured."""
    value: float | None
    """The number; ``None`` if it could not be measured."""
    unit: str
    """Its unit."""
    target: float | None
    """The target; ``None`` if there is none."""
    at_least: bool = False
    """Whether larger is better."""
    note: str = ""
    """Remark about this figure."""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; ``None`` without a target."""
        if self.target is None:
            return None
        if self.value is None:
            return False
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def wanted(self) -> str:
        """The target as text."""
        if self.target is None:
            return f"– {self.unit}"
        return f"{'≥' if self.at_least else '≤'} {self.target:,g} {self.unit}"

    @property
    def shown(self) -> str:
        """The value as text."""
        return (
            "–" if self.value is None else f"{self.value:.3g}" if self.value < 1e3 else f"{self.value:,.0f}"
        )


@dataclass(frozen=True)
class Measurement:
    """The result of one measurement."""

    name: str
    """Its name for ``--only``."""
    figures: Sequence[Figure]
    """Its figures."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """All other data, for tables and the picture."""
    quick: bool = False
    """Whether it is a small version, which is not judged by targets."""

    def verdict(self, figure: Figure) -> bool | None:
        """Whether a figure reaches its target; ``None`` if that is not judged."""
        return None if self.quick else figure.reached

    def write(self, folder: Path) -> Path:
        """Write JSON with the machine and the versions; returns the path."""
        path = folder / f"{self.name}.json"
        figures = [asdict(figure) | {"reached": self.verdict(figure)} for figure in self.figures]
        about = {"experiment": f"speed, {self.name}", "quick": self.quick, "seed": SEED, "figures": figures}
        about |= {"measured": self.measured, "machine": machine(), "versions": versions()}
        path.write_text(json.dumps(_rounded(about), indent=2, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> "Measurement":
        """The measurement in a file of :meth:`write`."""
        about = json.loads(path.read_text())
        figures = [
            Figure(**{name: value for name, value in figure.items() if name != "reached"})
            for figure in about["figures"]
        ]
        return cls(path.stem, figures, about["measured"], about["quick"])


def machine() -> dict[str, Any]:
    """The processor and the system."""
    return {
        "cpu": _model() or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "not limited"),
    }


def _model() -> str | None:
    """The processor's name; Linux only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _rounded(value: Any) -> Any:
    """Floats rounded to five digits, the precision of the measurements."""
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
