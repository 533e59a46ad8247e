"""What is compared: dagsearch and Optuna's TPE on the same function."""

from collections.abc import Callable
from typing import Any

import dagsearch as ds
from experiments.gallery.frame import Method
from experiments.gallery.pipeline.steps import plan
from experiments.harness.evaluations import Evaluations
from experiments.harness.peers import tpe


def methods(is_classification: bool) -> dict[str, Method]:
    """The methods by name; dagsearch first."""
    return {
        "dagsearch": _dagsearch(is_classification),
        "TPE, categories": _tpe(is_classification, _category),
        "TPE, ordered numbers": _tpe(is_classification, _level),
    }


def _dagsearch(is_classification: bool) -> Method:
    def run(evaluate: Evaluations, seed: int) -> None:
        def score(choose: ds.problems.Choose) -> float:
            return evaluate(plan(choose, is_classification))

        ds.maximize(score, evaluate.budget, seed=seed)

    return run


def _tpe(is_classification: bool, suggest: Callable[[Any, str, list[Any]], Any]) -> Method:
    def run(evaluate: Evaluations, seed: int) -> None:
        def pipeline(trial: Any) -> Any:
            return plan(lambda name, options: suggest(trial, name, options), is_classification)

        tpe(evaluate, pipeline, seed, patience=1_000)

    return run


def _category(trial: Any, name: str, options: list[Any]) -> Any:
    """As dagsearch is told: one of the options."""
    return trial.suggest_categorical(name, options)


def _level(trial: Any, name: str, options: list[Any]) -> Any:
    """TPE is also told that numbers have an order, which dagsearch is not."""
    if all(isinstance(option, int | float) and not isinstance(option, bool) for option in options):
        return options[trial.suggest_int(name, 0, len(options) - 1)]
    return _category(trial, name, options)
