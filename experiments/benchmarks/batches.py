"""Eight evaluations at once: what batches cost in accuracy, and how busy workers are."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from dagsearch.methods import default_initial
from dagsearch.problems import DigitsPixels, Subsets
from experiments.benchmarks.digits import Settings
from experiments.benchmarks.variants import changed
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Row, recorded_steps, run_rounds

BATCH = 8
"""Number of evaluations at once."""
SLEEP = 0.1
"""Seconds of an evaluation that only sleeps."""


def run(size: Settings, jobs: int, progress: bool) -> Outcome:
    """Best accuracy on the digits one at a time and in batches, and the rate with sleeping workers."""
    tasks = [
        (batch, split, number, size.budget)
        for batch in (1, BATCH)
        for split in range(size.splits)
        for number in range(size.runs)
    ]
    rows = [*_throughput(size.budget), *run_rounds(one_run, tasks, jobs, progress)]
    about = {"settings": asdict(size), "batch": BATCH, "seconds of a sleeping evaluation": SLEEP}
    scores = [row for row in rows if row.setting == "split 0"]
    drawn = curves_figure(scores, "best accuracy so far", "10 of 64 pixels of the digits, demo's split")
    return Outcome("batches", rows, about, {"batches": drawn})


def one_run(batch: int, split: int, number: int, budget: int) -> list[Row]:
    """One search that asks for ``batch`` leaves at a time."""
    problem = DigitsPixels(split=split)
    search = changed(problem, number, default_initial(budget))
    while len(search.history) < budget:
        for proposal in search.ask(min(batch, budget - len(search.history))):
            search.tell(proposal, problem.reward(proposal.leaf))
    method = "one at a time" if batch == 1 else f"batches of {batch}"
    best = [evaluation.best_reward for evaluation in search.history]
    steps = sorted({*recorded_steps(budget, 1.1), 4 * budget // 5})
    return [Row(method, f"split {split}", number, step, best[step - 1]) for step in steps]


def _throughput(budget: int) -> list[Row]:
    """Evaluations per second with ``BATCH`` sleeping workers, as a share of the ideal rate."""
    problem = Subsets(64, 10, reward=_sleeping)
    search = changed(problem, 0, 20)
    began = time.perf_counter()
    with ThreadPoolExecutor(BATCH) as executor:
        search.run(budget, executor=executor)
    seconds = time.perf_counter() - began
    share = budget * SLEEP / BATCH / seconds
    return [Row(f"{BATCH} workers", "share of the ideal rate", 0, budget, share)]


def _sleeping(chosen: frozenset[int]) -> float:
    time.sleep(SLEEP)
    return float(sum(chosen))
