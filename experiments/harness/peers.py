"""Methods to compare with, for any kind of point, and packages that only comparisons need.

A method evaluates points until :class:`~experiments.harness.evaluations.BudgetSpent` ends it.
"""

import importlib
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.harness.evaluations import Evaluations

Point = TypeVar("Point")


def climb(evaluate: Evaluations, point: Point, neighbours: Callable[[Point], Iterable[Point]]) -> Point:
    """The local optimum found by repeatedly making the first change that helps.

    ``neighbours(point)`` yields the points one change away in the order in which they are tried.
    """
    reward, climbing = evaluate.or_worst(point), True
    while climbing:
        climbing = False
        for neighbour in neighbours(point):
            if (found := evaluate.or_worst(neighbour)) > reward:
                point, reward, climbing = neighbour, found, True
                break
    return point


def ascend(
    value: Callable[[IntArray], FloatArray], point: IntArray, neighbours: Callable[[IntArray], IntArray]
) -> tuple[IntArray, float]:
    """The local optimum found by steepest ascent, and its value; all neighbours are evaluated at once."""
    height = float(value(point[None])[0])
    while True:
        around = neighbours(point)
        values = value(around)
        if values.max() <= height:
            return point, height
        point, height = around[values.argmax()], float(values.max())


def optuna(evaluate: Evaluations, suggest: Callable[[Any], Any], sampler: str, seed: int) -> None:
    """A sampler of Optuna, such as ``TPESampler``; ``suggest(trial)`` turns its suggestions into a point.

    Once converged, it proposes the same point forever, more slowly each time: set a patience.
    """
    package = import_peer("optuna")
    package.logging.set_verbosity(package.logging.ERROR)
    with warnings.catch_warnings(action="ignore"):  # its Gaussian processes are experimental
        made = getattr(package.samplers, sampler)(seed=seed)
        study = package.create_study(direction="maximize", sampler=made)
        while True:
            trial = study.ask()
            study.tell(trial, evaluate(suggest(trial)))


def import_peer(name: str, extra: str = "benchmark") -> Any:
    """Import a module that only comparisons need, or raise an error that explains how to install it."""
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # theirs
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).partition(".")[0]
        raise ModuleNotFoundError(f"this experiment needs {missing}: pip install '.[{extra}]'") from error
