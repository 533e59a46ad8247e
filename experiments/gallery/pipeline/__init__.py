"""Which pipeline? scikit-learn: preparation, reduction, model and settings with the best score."""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.pipeline.steps import Score, plan
from experiments.gallery.pipeline.tables import from_csv, load
from experiments.harness import peers
from experiments.harness.evaluations import Evaluations

ABOUT, BUDGET, SMALL = "Find a good scikit-learn pipeline for a table.", 60, 12
COUNTS = (15, 30, 60)
"""Numbers of evaluations in the table."""
TABLES = ("wine", "diabetes")
"""The tables of the comparison."""


def options(parser: argparse.ArgumentParser) -> None:
    """The application's own options."""
    parser.add_argument("--table", choices=TABLES, default=TABLES[0], help="(default: %(default)s)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="a table of your own, with --target")
    parser.add_argument("--target", metavar="COLUMN", help="the column of --csv to predict")


def run(options: argparse.Namespace) -> None:
    """Search with three quarters of the rows, check with the others, and write the pipeline."""
    if (options.csv is None) != (options.target is None):
        raise SystemExit("--csv and --target go together")
    data = load(options.table) if options.csv is None else from_csv(options.csv, options.target)
    folder, (seen, held_out) = options.out, data.split()
    score = Score(seen)
    result = frame.solve(ds.maximize, score, options)
    if result is None or result.best_reward is None:
        return
    choices = dict(result.best_state)
    chosen = plan(lambda name, _: choices[name], data.is_classification)
    checked = score.on(score.fitted(chosen), held_out)
    print(f"{data.name}: {data.score_name} {result.best_reward:.4f} after {len(result.history)} evaluations")
    print(f"on the rows held out: {checked:.4f}")
    for name, value in choices.items():
        print(f"  {name}: {value}")
    (folder / "choices.json").write_text(json.dumps(choices, indent=2) + "\n")
    joblib.dump(Score(data).fitted(chosen), folder / "pipeline.joblib")
    print(f"fitted to all rows: {folder / 'pipeline.joblib'} (read it with joblib.load)")


def compare(options: argparse.Namespace) -> None:
    """All methods on both tables; writes the files of the comparison and the table in the README."""
    scores = [Score(load(name).split()[0]) for name in TABLES]
    contests = [
        frame.Contest(methods(score.table.is_classification), score.of, options.budget, number=number)
        for number, score in enumerate(scores, start=1)
    ]
    runs = frame.compare(contests, options.seeds, options.jobs)
    about = {
        "what": "cross-validated score; number of a run = 100 × table + seed",
        "tables": list(TABLES),
        "budget": options.budget,
    }
    panels = [
        frame.Panel(name, f"best {score.table.score_name} so far", _of_table(runs, name))
        for name, score in zip(TABLES, scores, strict=True)
    ]
    frame.report(options.out, runs, table(runs), panels, about)


def _of_table(runs: Sequence[frame.Run], name: str) -> list[frame.Run]:
    """The runs on one table, numbered by their seeds."""
    number = TABLES.index(name) + 1
    chosen = [run for run in runs if run.seed // frame.TOGETHER == number]
    return [run._replace(seed=run.seed % frame.TOGETHER) for run in chosen]


def table(runs: Sequence[frame.Run]) -> str:
    """Scores table by table, and dagsearch against the others seed by seed."""
    parts = []
    for name in TABLES:
        own = _of_table(runs, name)
        against = frame.differences(own, COUNTS, digits=4, record=True)
        parts += [f"**{name}**", frame.table(own, COUNTS, digits=4), against]
    return "\n\n".join(parts)


# Methods -------------------------------------------------------------------------------------------------


def methods(is_classification: bool) -> dict[str, frame.Method]:
    """The methods by name; dagsearch first. All search the same function."""
    return {
        "dagsearch": partial(_dagsearch, is_classification=is_classification),
        "TPE, categories": partial(_tpe, suggest=_category, is_classification=is_classification),
        "TPE, ordered numbers": partial(_tpe, suggest=_level, is_classification=is_classification),
    }


def _dagsearch(evaluate: Evaluations, seed: int, is_classification: bool) -> None:
    def score(choose: ds.problems.Choose) -> float:
        return evaluate(plan(choose, is_classification))

    ds.maximize(score, evaluate.budget, seed=seed)


def _tpe(
    evaluate: Evaluations, seed: int, is_classification: bool, suggest: Callable[[Any, str, list[Any]], Any]
) -> None:
    def pipeline(trial: Any) -> Any:
        return plan(lambda name, options: suggest(trial, name, options), is_classification)

    peers.tpe(evaluate, pipeline, seed, patience=1_000)


def _category(trial: Any, name: str, options: list[Any]) -> Any:
    """As dagsearch is told: one of the options."""
    return trial.suggest_categorical(name, options)


def _level(trial: Any, name: str, options: list[Any]) -> Any:
    """TPE is also told that numbers have an order, which dagsearch is not."""
    if all(isinstance(option, int | float) and not isinstance(option, bool) for option in options):
        return options[trial.suggest_int(name, 0, len(options) - 1)]
    return _category(trial, name, options)
