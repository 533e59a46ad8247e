"""What a search says on the way, against the truth: on problems whose best score is known.

Every run goes on to one and a half times the budget. Stated are the probability that the best leaf so far is
the best of all, the same as the rule ``confidence`` takes it, the interval of a forecast, the intervals of
rewards that were predicted, and the belief about the best possible reward.
"""

import math
from collections.abc import Iterator, Sequence

from dagsearch.data import REACH
from dagsearch.methods import default_initial
from dagsearch.search import Search
from experiments.general.peers import with_noise
from experiments.general.stated import stated
from experiments.harness import markdown
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.truth.fitted import FITTED
from experiments.truth.fresh import FRESH
from experiments.truth.known import found
from experiments.truth.measures import Line, brier, confidence_lines, line, probability_lines, stops, table

EARLIEST, LATEST = 0.4, 1.5
"""When a search is asked, in budgets."""
PROBABILITY, CAUTIOUS, FOUND = "probability best", "cautious probability", "found"
MODEL, PATIENCE, SKILL = "model", "patience", "skill"
FORECAST, REWARDS, VALUE = "forecast", "rewards", "best possible"
"""Names of what is measured."""
INTERVALS = {
    FORECAST: "90 % interval of `forecast`, from half the budget to all of it",
    REWARDS: "90 % interval of a reward (`Evaluation.predicted`)",
    VALUE: "90 % of the belief about the best possible reward (`result.value`)",
}
"""What the intervals are of."""
ROUNDS = 16
"""Number of runs of every problem."""


def run(jobs: int, quick: bool = False) -> Outcome:
    """Run the fresh problems."""
    names = ["walk", "columns", "valley"] if quick else list(FRESH)
    return measured("search", names, 1 if quick else ROUNDS, jobs)


def summary(outcome: Outcome) -> str:
    """What is stated and what is true, as a table."""
    return markdown.aligned(table(lines(outcome.rows)))


def lines(rows: Sequence[Row]) -> list[Line]:
    """What is stated against what is true."""
    asked = stops(rows, [PROBABILITY, CAUTIOUS, FOUND])
    found = probability_lines(asked, PROBABILITY, FOUND) + confidence_lines(asked, CAUTIOUS, FOUND)
    for name, quantity in INTERVALS.items():
        some = [row for row in rows if row.method == name]
        found.append(line(quantity, "0.90", [row.value for row in some], [row.setting for row in some]))
    return found


def scores(rows: Sequence[Row]) -> tuple[float, float]:
    """Brier score of ``probability_best``, and that of always saying the share that is true."""
    said = stops(rows, [PROBABILITY, FOUND]).said
    share = said[FOUND].mean()
    return brier(said[PROBABILITY], said[FOUND]), float(share * (1.0 - share))


def measured(name: str, problems: Sequence[str], rounds: int, jobs: int) -> Outcome:
    """Run some problems."""
    tasks = [(problem, number) for number in range(rounds) for problem in problems]
    rows = run_rounds(one_run, tasks, jobs, True)
    return Outcome(name, rows, {"rounds": rounds, "problems": list(problems), "earliest": EARLIEST})


def one_run(problem: str, number: int) -> list[Row]:
    """What is stated in one run, and what is true."""
    known = {**FITTED, **FRESH}[problem]
    instance, best = known.make(number), known.best(number)
    truth = stated(instance)
    search = Search.default(
        stated(instance._replace(scores=with_noise(instance, number))),
        initial=default_initial(known.budget),
        noisy=instance.noise > 0.0,
        seed=number,
    )
    rows, ahead = [], None
    asked = set(_steps(known.budget))
    for step, _ in enumerate(search.steps(round(LATEST * known.budget)), 1):
        if step == known.budget // 2:
            ahead = search.forecast(known.budget - step)
        if step in asked:
            incumbent = search.incumbent()
            assert incumbent is not None
            at_best = found(truth.reward(incumbent.leaf), best)
            rows += [Row(name, problem, number, step, value) for name, value in _said(search, best, at_best)]
    history = search.history
    if ahead is not None and len(history) >= known.budget:
        reached = history[known.budget - 1].best_reward
        tiny = 1e-9 * max(1.0, abs(reached))
        covered = ahead.low - tiny <= reached <= ahead.high + tiny
        rows.append(Row(FORECAST, problem, number, known.budget, float(covered)))
    inside = [
        abs(one.reward - one.predicted.mean) <= REACH * math.sqrt(one.predicted.variance)
        for one in history[: known.budget]
        if one.predicted is not None
    ]
    rows.append(Row(REWARDS, problem, number, known.budget, sum(inside) / len(inside)))
    return rows


def _said(search: Search, best: float, at_best: bool) -> Iterator[tuple[str, float]]:
    """What a search says of its best leaf, with the truth; nothing where it does not know."""
    result, signs = search.result(), search.answers.signs()
    if result.probability_best is None or signs is None:
        return
    yield PROBABILITY, result.probability_best
    yield CAUTIOUS, signs.cautious
    yield from zip((MODEL, PATIENCE, SKILL), signs, strict=True)
    yield FOUND, float(at_best)
    reach = REACH * math.sqrt(result.value.variance)
    yield VALUE, float(abs(best - result.value.mean) <= reach + 1e-9 * max(1.0, abs(best)))


def _steps(budget: int) -> Iterator[int]:
    """Numbers of evaluations after which a search is asked: every 10 % more, as the rule does."""
    step = math.ceil(EARLIEST * budget)
    while step <= LATEST * budget:
        yield step
        step = max(step + 1, round(1.1 * step))
