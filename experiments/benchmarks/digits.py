"""10 of the 64 pixels of scikit-learn's digits: variants of the default search, and other packages."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from dagsearch.methods import default_initial
from dagsearch.problems import DigitsPixels
from dagsearch.search import Search
from experiments.benchmarks.subset_peers import PEERS, Trial, best_rewards
from experiments.benchmarks.variants import OURS, SET_ABLATIONS
from experiments.harness.drawing import figure
from experiments.harness.runner import Outcome, Row, curves, recorded_steps, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Settings:
    """Size of the benchmark."""

    runs: int = 10
    budget: int = 200
    splits: int = 3
    peers: bool = True


def run(size: Settings, jobs: int, progress: bool) -> Outcome:
    """Best accuracy against evaluations and seconds."""
    tasks = [
        (method, split, number, size.budget)
        for method in SET_ABLATIONS
        for split in range(size.splits)
        for number in range(size.runs)
    ]
    if size.peers:
        # Slow methods, and those that need hundreds of evaluations, run on the demo's split only.
        tasks += [(peer, 0, number, size.budget) for peer in PEERS for number in range(size.runs)]
    rows = run_rounds(one_run, tasks, jobs, progress)
    shown = [OURS, "items all unlike", "paper's method", *PEERS]
    figures = {"digits": _draw(rows, shown, "10 of 64 pixels of the digits, LDA, demo's split")}
    return Outcome("digits", rows, {"settings": asdict(size)}, figures)


def one_run(method: str, split: int, number: int, budget: int) -> list[Row]:
    """One search, or one run of a peer."""
    problem = DigitsPixels(split=split)
    started = time.perf_counter()
    if method in SET_ABLATIONS:
        trials = timed_trials(SET_ABLATIONS[method](problem, number, default_initial(budget)), budget)
    else:
        # Greedy selection has no answer before it has evaluated hundreds of smaller subsets.
        trials = PEERS[method](problem, 700 if "selection" in method else budget, number)
    return _rows(method, f"split {split}", number, trials, time.perf_counter() - started)


def timed_trials(search: Search, budget: int) -> list[Trial]:
    """Run a search by ask and tell, and measure its own time per evaluation."""
    trials = []
    resumed = time.perf_counter()
    for _ in range(budget):
        proposal = search.ask()
        thought = time.perf_counter() - resumed
        reward = search.problem.reward(proposal.leaf)
        resumed = time.perf_counter()
        search.tell(proposal, reward)
        trials.append(Trial(proposal.leaf, reward, True, thought))
    return trials


def _rows(method: str, setting: str, number: int, trials: Sequence[Trial], seconds: float) -> list[Row]:
    """Best reward, own milliseconds per evaluation, and seconds in all, at some steps."""
    best, own = best_rewards(trials), np.cumsum([trial.seconds for trial in trials])
    steps = [step for step in recorded_steps(len(trials), growth=1.1) if not np.isnan(best[step - 1])]
    paid = (seconds - own[-1]) / len(trials)
    rows = [Row(method, setting, number, step, float(best[step - 1])) for step in steps]
    own_time = f"{setting}, own ms"
    rows += [Row(method, own_time, number, step, 1e3 * float(own[step - 1]) / step) for step in steps]
    clock = f"{setting}, seconds"
    return rows + [Row(method, clock, number, step, float(own[step - 1]) + paid * step) for step in steps]


def _draw(rows: Sequence[Row], shown: Sequence[str], title: str) -> "Figure":
    """Best score against evaluations, and against seconds."""
    found = curves(rows)
    drawn = figure(11.0, 4.4)
    by_step, by_second = drawn.subplots(1, 2, sharey=True)
    for number, method in enumerate(method for method in shown if (method, "split 0") in found):
        score, clock = found[method, "split 0"], found[method, "split 0, seconds"]
        style = {"color": f"C{number}", "linewidth": 2.2 if method == OURS else 1.2}
        by_step.plot(score.steps, score.mean, label=method, **style)
        by_second.plot(clock.mean, score.mean, **style)
    by_step.set(xlabel="evaluations", ylabel="best accuracy so far", title=title, xscale="log")
    by_second.set(xlabel="seconds, evaluations included", xscale="log")
    by_step.legend(fontsize="x-small", loc="lower right")
    return drawn
