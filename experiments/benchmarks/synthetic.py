"""The synthetic DAG of section 4.1: when is the optimum found?"""

from dagsearch.problems import Synthetic
from dagsearch.search import Search
from experiments.benchmarks.variants import ABLATIONS
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Row, run_rounds

BUDGET = 50


def run(runs: int, jobs: int, progress: bool) -> Outcome:
    """Share of the runs that have found the optimum, by method and step."""
    methods = [*ABLATIONS, "paper's method"]
    rows = run_rounds(one_run, [(m, r) for m in methods for r in range(runs)], jobs, progress)
    about = {"runs": runs, "budget": BUDGET, "measured": "whether the optimum has been evaluated"}
    drawn = curves_figure(rows, "share of runs that have found the optimum", "15 choose 5, synthetic")
    return Outcome("synthetic", rows, about, {"synthetic": drawn})


def one_run(method: str, number: int) -> list[Row]:
    """One search on one draw of the problem."""
    problem = Synthetic(seed=number)
    if method in ABLATIONS:
        search = ABLATIONS[method](problem, number, BUDGET // 10)
    else:
        search = Search.paper(problem, seed=number)
    return found_rows(method, "", number, search, problem.best_reward)


def found_rows(method: str, setting: str, number: int, search: Search, optimum: float) -> list[Row]:
    """Whether the search has found the optimum, after every step."""
    found = [step.best_reward >= optimum - 1e-9 for step in search.steps(BUDGET)]
    return [Row(method, setting, number, step, float(hit)) for step, hit in enumerate(found, start=1)]
