"""``python -m experiments.gallery.pipeline``: a good pipeline for a table, or the comparison with Optuna."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import joblib

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.pipeline import RUNS_PER_TABLE, TABLES, of_table, table
from experiments.gallery.pipeline.methods import methods
from experiments.gallery.pipeline.steps import Score, plan
from experiments.gallery.pipeline.tables import Table, from_csv, load


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = frame.parser("pipeline", "Find a good scikit-learn pipeline for a table.", 60, small=12)
    parser.add_argument("--table", choices=TABLES, default=TABLES[0], help="(default: %(default)s)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="a table of your own, with --target")
    parser.add_argument("--target", metavar="COLUMN", help="the column of --csv to predict")
    options = frame.parsed(parser, arguments)
    if (options.csv is None) != (options.target is None):
        parser.error("--csv and --target go together")
    if options.action == "compare":
        compare(options)
    else:
        data = load(options.table) if options.csv is None else from_csv(options.csv, options.target)
        run(options, data)


def run(options: argparse.Namespace, data: Table) -> None:
    """Search with three quarters of the rows, check with the others, and write the pipeline."""
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
        frame.Contest(
            methods(score.table.is_classification), score.of, options.budget, first=number * RUNS_PER_TABLE
        )
        for number, score in enumerate(scores, start=1)
    ]
    runs = frame.compare(contests, options.seeds, options.jobs)
    about = {
        "what": "cross-validated score; number of a run = 100 × table + seed",
        "tables": list(TABLES),
        "budget": options.budget,
    }
    panels = [
        frame.Panel(name, f"best {score.table.score_name} so far", of_table(runs, name))
        for name, score in zip(TABLES, scores, strict=True)
    ]
    frame.report(options.out, runs, table(runs), panels, about)


if __name__ == "__main__":
    main()
