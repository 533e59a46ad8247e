"""All nodes updated after every reward, or only those that a descent reads."""

from collections.abc import Callable

from dagsearch.engine.defaults import default_initial
from dagsearch.problems import DigitsPixels, Synthetic
from dagsearch.values.refresh import Eager, Lazy, Refresh
from dagsearch_experiments.benchmark import synthetic
from dagsearch_experiments.benchmark.variants import changed
from dagsearch_experiments.drawing import curves_figure
from dagsearch_experiments.runner import Outcome, Row, recorded_steps, run_rounds

REFRESH: dict[str, Callable[[], Refresh]] = {
    "all nodes every time": Eager,
    "on demand": lambda: Lazy(above=0),
}


def run(runs: int, budget: int, jobs: int, progress: bool) -> Outcome:
    """Optimum found on the synthetic DAG, and best accuracy on the digits."""
    tasks = [(method, number, budget) for method in REFRESH for number in range(runs)]
    rows = run_rounds(one_run, tasks, jobs, progress)
    about = {"runs": runs, "budget": budget, "measured": "whether the optimum was found; best accuracy"}
    digits = [row for row in rows if row.setting == "digits"]
    drawn = curves_figure(digits, "best accuracy so far", "10 of 64 pixels of the digits")
    return Outcome("freshness", rows, about, {"freshness": drawn})


def one_run(method: str, number: int, budget: int) -> list[Row]:
    """One search on each problem; methods differ only in which nodes are updated after a reward."""
    problem, digits = Synthetic(seed=number), DigitsPixels(split=number % 3)
    search = changed(problem, number, synthetic.BUDGET // 10, refresh=REFRESH[method]())
    rows = synthetic.found_rows(method, "synthetic", number, search, problem.best_reward)
    search = changed(digits, number, default_initial(budget), refresh=REFRESH[method]())
    best = [step.best_reward for step in search.steps(budget)]
    steps = recorded_steps(budget, growth=1.1)
    return rows + [Row(method, "digits", number, step, best[step - 1]) for step in steps]
