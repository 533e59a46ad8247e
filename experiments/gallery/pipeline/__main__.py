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
from experiments.harness import markdown

_SMALL_BUDGET = 12
_COLOURS = ("#D55E00", "#0072B2", "#009E73")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = frame.parser("pipeline", "Find a good scikit-learn pipeline for a table.", budget=60)
    parser.add_argument("--table", choices=TABLES, default=TABLES[0], help="(default: %(default)s)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="a table of your own, with --target")
    parser.add_argument("--target", metavar="COLUMN", help="the column of --csv to predict")
    options = parser.parse_args(arguments)
    if (options.csv is None) != (options.target is None):
        parser.error("--csv and --target go together")
    if options.small:
        options.budget, options.seeds = min(options.budget, _SMALL_BUDGET), min(options.seeds, 1)
    folder = frame.out_folder(options, "pipeline")
    if options.action == "compare":
        compare(options, folder)
    else:
        data = load(options.table) if options.csv is None else from_csv(options.csv, options.target)
        run(options, folder, data)


def run(options: argparse.Namespace, folder: Path, data: Table) -> None:
    """Search with three quarters of the rows, check with the others, and write the pipeline."""
    seen, held_out = data.split()
    score = Score(seen)
    result = frame.solve(ds.maximize, score, options, folder)
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


def compare(options: argparse.Namespace, folder: Path) -> None:
    """All methods on both tables; writes the files of the comparison and the table in the README."""
    scores = [Score(load(name).split()[0]) for name in TABLES]
    contests = [
        frame.Contest(
            methods(score.table.is_classification), score.of, options.budget, first=number * RUNS_PER_TABLE
        )
        for number, score in enumerate(scores, start=1)
    ]
    runs = frame.compare(contests, options.seeds, options.jobs)
    report(runs, folder)
    if options.out is None:
        markdown.put(folder / "README.md", {"results": table(runs)})


def report(runs: Sequence[frame.Run], folder: Path) -> None:
    """Write the files of a comparison and print its table."""
    about = {
        "what": "cross-validated score; number of a run = 100 × table + seed",
        "tables": list(TABLES),
        "budget": max(len(run.best) for run in runs),
    }
    frame.write(folder, runs, about, ["optuna", "pandas", "scikit-learn"])
    _draw(runs, folder / "comparison.png")
    print(table(runs))


def _draw(runs: Sequence[frame.Run], path: Path) -> None:
    """Mean best score against evaluations with its standard error, one panel per table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    shown = [name for name in TABLES if of_table(runs, name)]
    for axes, name in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        own = of_table(runs, name)
        for colour, method in zip(_COLOURS, dict.fromkeys(run.method for run in own), strict=False):
            counts = range(1, max(len(run.best) for run in own) + 1)
            mean, error = zip(*(frame.at(own, method, count) for count in counts), strict=True)
            low, high = zip(*((m - e, m + e) for m, e in zip(mean, error, strict=True)), strict=True)
            axes.plot(counts, mean, label=method, color=colour)
            axes.fill_between(counts, low, high, color=colour, alpha=0.15, linewidth=0.0)
        # The first few random pipelines would squeeze the rest.
        later = [frame.at(own, run.method, 10)[0] for run in own]
        axes.set(xlabel="evaluations", ylabel=f"best {load(name).score_name} so far", title=name)
        axes.set_ylim(bottom=min(later))
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
