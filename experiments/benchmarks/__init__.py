"""``python -m experiments benchmark``: the default search against its variants and others."""

from collections.abc import Mapping

from experiments.benchmarks import (
    batches,
    calibration,
    digits,
    game,
    pixels,
    portfolio,
    selection,
    synthetic,
)
from experiments.harness import markdown
from experiments.harness.runner import Curve, Outcome, Request, curves


def run(name: str, request: Request, peers: bool = True) -> Outcome:
    """Run a benchmark; ``peers`` says whether that of the digits includes other packages."""
    quick, jobs, progress = request.quick, request.jobs, request.progress
    if name == "synthetic":
        return synthetic.run(5 if quick else 100, jobs, progress)
    if name == "digits":
        size = digits.Settings(2, 40, 1, peers) if quick else digits.Settings(peers=peers)
        return digits.run(size, jobs, progress)
    if name == "tictactoe":
        return game.run(3 if quick else 100, jobs, progress)
    if name == "calibration":
        return calibration.run(10 if quick else 200, jobs, progress)
    if name == "selection":
        return selection.run(quick, jobs, progress)
    if name == "portfolio":
        return portfolio.run(request)
    if name == "batches":
        return batches.run(digits.Settings(2, 40) if quick else digits.Settings(), jobs, progress)
    if name == "mnist":
        return pixels.run(request)
    raise ValueError(f"there is no benchmark {name!r}; see python -m experiments benchmark --help")


def summary(outcome: Outcome) -> str:
    """Every method's mean and standard error at a few steps, as a table."""
    found = curves(outcome.rows)
    marks = _marks(found)
    rows = [
        [method, setting, *(_cell(curve, mark) for mark in marks)]
        for (method, setting), curve in found.items()
        if not setting.endswith("seconds")
    ]
    return markdown.aligned(markdown.table(["method", "setting", *map(str, marks)], rows))


def _marks(found: Mapping[tuple[str, str], Curve]) -> list[int]:
    last = max(int(curve.steps[-1]) for curve in found.values())
    return [mark for mark in (25, 50, 100, 200, 400, 1200) if mark <= last] or [last]


def _cell(curve: Curve, mark: int) -> str:
    if curve.steps[0] > mark:
        return "–"
    at = curve.at(mark)
    return f"{curve.mean[at]:.4g} ± {curve.error[at]:.2g}"
