"""What is compared: dagsearch and Optuna's TPE on the same function."""

from collections.abc import Callable
from typing import Any

import optuna

import dagsearch as ds
from experiments.gallery.frame import Evaluations, Method
from experiments.gallery.pipeline.steps import plan

# Trials per evaluation after which TPE, which may propose the same pipeline again, is ended.
_TRIALS = 20


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


def _tpe(is_classification: bool, suggest: Callable[[optuna.Trial, str, list[Any]], Any]) -> Method:
    def run(evaluate: Evaluations, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(
            lambda trial: evaluate(
                plan(lambda name, options: suggest(trial, name, options), is_classification)
            ),
            n_trials=_TRIALS * evaluate.budget,
        )

    return run


def _category(trial: optuna.Trial, name: str, options: list[Any]) -> Any:
    """As dagsearch is told: one of the options."""
    return trial.suggest_categorical(name, options)


def _level(trial: optuna.Trial, name: str, options: list[Any]) -> Any:
    """TPE is also told that numbers have an order, which dagsearch is not."""
    if all(isinstance(option, int | float) and not isinstance(option, bool) for option in options):
        return options[trial.suggest_int(name, 0, len(options) - 1)]
    return _category(trial, name, options)
