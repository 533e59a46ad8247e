"""``dagsearch benchmark``: the defaults beside the paper's method, other people's, parts of themselves."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch import baselines
from dagsearch.backups import JointSamples, MomentMatching
from dagsearch.covariances import Nearness, Overlap, SetKernel
from dagsearch.engine.compositions import default_parts
from dagsearch.learning.refresh import Eager, Lazy, Refresh
from dagsearch.policies import Thompson
from dagsearch.problem import Problem
from dagsearch.problems import DigitsPixels, Subsets, Synthetic, TicTacToe
from dagsearch.refinements import Regrow, Swaps
from dagsearch.rollouts import Thompson as ThompsonRollout
from dagsearch.rollouts import Uniform
from dagsearch.search import Search
from dagsearch_experiments import calibration, convnet, mnist, mnist_data, selectors, tictactoe
from dagsearch_experiments.drawing import curves_figure, figure
from dagsearch_experiments.peers import PEERS, Trial, best_rewards
from dagsearch_experiments.runner import Curve, Outcome, Row, curves, recorded_steps, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "dagsearch"


def _changed(problem: Problem, seed: int, initial: int, **changes: Any) -> Search:
    """The default search with some of its parts changed."""
    covariance = changes.pop("covariance", None)
    parts = {**default_parts(problem, covariance, initial=initial), **changes}
    return Search(problem, **parts, seed=seed)


def _sampled(problem: Problem, seed: int, initial: int, descend: bool) -> Search:
    samples = JointSamples(128, seed)
    policy = {"policy": Thompson(samples)} if descend else {}
    return _changed(problem, seed, initial, backup=samples, **policy)


Composed = Callable[[Any, int, int], Search]
"""``make(problem, seed, initial)``."""

ABLATIONS: dict[str, Composed] = {
    OURS: _changed,
    "uniform roll-outs": lambda p, s, i: _changed(p, s, i, rollout=Uniform()),
    "Thompson roll-outs": lambda p, s, i: _changed(p, s, i, rollout=ThompsonRollout()),
    "no refinements": lambda p, s, i: _changed(p, s, i, refinements=()),
    "swaps only": lambda p, s, i: _changed(p, s, i, refinements=(Swaps(),)),
    "regrowing only": lambda p, s, i: _changed(p, s, i, refinements=(Regrow(),)),
    "no evidence": lambda p, s, i: _changed(p, s, i, evidence=None),
    "joint samples": lambda p, s, i: _sampled(p, s, i, descend=False),
    "joint samples, Thompson descent": lambda p, s, i: _sampled(p, s, i, descend=True),
}
SET_ABLATIONS: dict[str, Composed] = {
    **ABLATIONS,
    "items all unlike": lambda p, s, i: _changed(p, s, i, covariance=SetKernel()),
    "Matérn-5/2": lambda p, s, i: _changed(p, s, i, covariance=SetKernel(_nearness(p), shape="matern-5/2")),
    "linear only": lambda p, s, i: _changed(p, s, i, covariance=SetKernel(_nearness(p), nonlinear=0.0)),
    "overlap of partial sets": lambda p, s, i: _changed(p, s, i, covariance=Overlap.of(p)),
    "paper's method": lambda p, s, i: mnist.METHODS["probabilistic DAG"](p, s),
}


def _nearness(problem: Subsets) -> Nearness:
    assert problem.positions is not None
    return Nearness(problem.positions)


@dataclass(frozen=True)
class Settings:
    """Size of a benchmark."""

    runs: int = 10
    budget: int = 200
    splits: int = 3
    peers: bool = True


def run(
    name: str,
    *,
    quick: bool = False,
    jobs: int = 1,
    peers: bool = True,
    data: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
    progress: bool = True,
) -> Outcome:
    """Run a benchmark at full size, or ``quick``."""
    if name == "synthetic":
        return _synthetic(5 if quick else 100, jobs, progress)
    if name == "digits":
        size = Settings(2, 40, 1, peers) if quick else Settings(peers=peers)
        return _digits(size, jobs, progress)
    if name == "tictactoe":
        return _tictactoe(3 if quick else 100, jobs, progress)
    if name == "calibration":
        return calibration.run(10 if quick else 200, jobs, progress)
    if name == "selection":
        return selectors.run(quick, jobs, progress)
    if name == "freshness":
        return _freshness(3 if quick else 100, 40 if quick else 200, jobs, progress)
    if name == "batches":
        return _batches(Settings(2, 40) if quick else Settings(), jobs, progress)
    if name == "mnist":
        return _mnist(2 if quick else 10, 60 if quick else 1_200, data, weights, device, jobs, progress)
    raise ValueError(f"there is no benchmark {name!r}")


# Synthetic ----------------------------------------------------------------------------------------

_SYNTHETIC_BUDGET = 50


def _synthetic(runs: int, jobs: int, progress: bool) -> Outcome:
    methods = [*ABLATIONS, "paper's method"]
    rows = run_rounds(_synthetic_run, [(m, r) for m in methods for r in range(runs)], jobs, progress)
    about = {"runs": runs, "budget": _SYNTHETIC_BUDGET, "measured": "whether the optimum has been evaluated"}
    drawn = curves_figure(rows, "share of runs that have found the optimum", "15 choose 5, synthetic")
    return Outcome("synthetic", rows, about, {"synthetic": drawn})


def _synthetic_run(method: str, number: int) -> list[Row]:
    problem = Synthetic(seed=number)
    if method in ABLATIONS:
        search = ABLATIONS[method](problem, number, _SYNTHETIC_BUDGET // 10)
    else:
        search = Search.paper(problem, seed=number)
    found = [step.best_reward >= problem.best_reward - 1e-9 for step in search.steps(_SYNTHETIC_BUDGET)]
    return [Row(method, "", number, step, float(hit)) for step, hit in enumerate(found, start=1)]


# Digits -------------------------------------------------------------------------------------------


def _digits(size: Settings, jobs: int, progress: bool) -> Outcome:
    tasks = [
        (method, split, number, size.budget)
        for method in SET_ABLATIONS
        for split in range(size.splits)
        for number in range(size.runs)
    ]
    if size.peers:
        # Slow ones, and those that need hundreds of evaluations, on the demo's split only.
        tasks += [(peer, 0, number, size.budget) for peer in PEERS for number in range(size.runs)]
    rows = run_rounds(_digits_run, tasks, jobs, progress)
    shown = [OURS, "items all unlike", "paper's method", *PEERS]
    figures = {"digits": _draw_race(rows, shown, "10 of 64 pixels of the digits, LDA, demo's split")}
    return Outcome("digits", rows, {"settings": asdict(size)}, figures)


def _digits_run(method: str, split: int, number: int, budget: int) -> list[Row]:
    problem = DigitsPixels(split=split)
    started = time.perf_counter()
    if method in SET_ABLATIONS:
        trials = timed_trials(SET_ABLATIONS[method](problem, number, min(20, budget // 5)), budget)
    else:
        # Greedy selection has no answer before it has evaluated hundreds of smaller subsets.
        trials = PEERS[method](problem, 700 if "selection" in method else budget, number)
    return _race_rows(method, f"split {split}", number, trials, time.perf_counter() - started)


def timed_trials(search: Search, budget: int) -> list[Trial]:
    """Run a search by hand, with its own time per evaluation."""
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


def _race_rows(method: str, setting: str, number: int, trials: Sequence[Trial], seconds: float) -> list[Row]:
    """Best reward, own milliseconds per evaluation, and seconds in all, at some steps."""
    best, own = best_rewards(trials), np.cumsum([trial.seconds for trial in trials])
    steps = [step for step in recorded_steps(len(trials), growth=1.1) if not np.isnan(best[step - 1])]
    paid = (seconds - own[-1]) / len(trials)
    rows = [Row(method, setting, number, step, float(best[step - 1])) for step in steps]
    own_time = f"{setting}, own ms"
    rows += [Row(method, own_time, number, step, 1e3 * float(own[step - 1]) / step) for step in steps]
    clock = f"{setting}, seconds"
    return rows + [Row(method, clock, number, step, float(own[step - 1]) + paid * step) for step in steps]


def _draw_race(rows: Sequence[Row], shown: Sequence[str], title: str) -> "Figure":
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


# MNIST --------------------------------------------------------------------------------------------

MNIST_METHODS = (OURS, "probabilistic DAG", "UCT-RAVE", "random")


def compose_mnist(method: str, number: int) -> Search:
    """A search over MNIST's pixels, for :func:`mnist.advance_together`."""
    if method in mnist.METHODS:
        return mnist.METHODS[method](mnist.pixels(), number)
    return SET_ABLATIONS[method](mnist.pixels(), number, 20)


def _mnist(
    runs: int,
    steps: int,
    data_folder: Path | None,
    weights: Path | None,
    device: str,
    jobs: int,
    progress: bool,
) -> Outcome:
    convnet.import_torch()
    data = mnist_data.load(data_folder)
    net = convnet.trained(data, weights, device, 1 if steps < 100 else convnet.EPOCHS, progress)
    score = convnet.SubsetAccuracy(net, data.validation, data.validation_labels, device)
    tasks = [(method, number) for method in MNIST_METHODS for number in range(runs)]
    found, seconds = mnist.advance_together(tasks, score, steps, jobs, progress, compose_mnist)
    test = convnet.SubsetAccuracy(net, data.test, data.test_labels, device)
    best = max((run for run in found if run.method == OURS), key=lambda run: run.best_reward)
    about = {
        "runs": runs,
        "steps": steps,
        "weights": "given" if weights is not None else "trained",
        "seconds": seconds,
        "chosen": sorted(best.best_state),
        "chosen_validation_accuracy": best.best_reward,
        "chosen_test_accuracy": test([best.best_state])[0],
    }
    rows = [row for run in found for row in run.rows]
    drawn = curves_figure(rows, "best validation accuracy so far", "10 of 784 pixels of MNIST", band=True)
    return Outcome("mnist", rows, about, {"mnist": drawn})


# Batches --------------------------------------------------------------------------------------------

BATCH, _SLEEP = 8, 0.1


def _batches(size: Settings, jobs: int, progress: bool) -> Outcome:
    tasks = [
        (batch, split, number, size.budget)
        for batch in (1, BATCH)
        for split in range(size.splits)
        for number in range(size.runs)
    ]
    rows = [*_throughput(size.budget), *run_rounds(_batch_run, tasks, jobs, progress)]
    about = {"settings": asdict(size), "batch": BATCH, "seconds of a sleeping evaluation": _SLEEP}
    scores = [row for row in rows if row.setting == "split 0"]
    drawn = curves_figure(scores, "best accuracy so far", "10 of 64 pixels of the digits, demo's split")
    return Outcome("batches", rows, about, {"batches": drawn})


def _batch_run(batch: int, split: int, number: int, budget: int) -> list[Row]:
    problem = DigitsPixels(split=split)
    search = _changed(problem, number, min(20, budget // 5))
    while len(search.history) < budget:
        for proposal in search.ask(min(batch, budget - len(search.history))):
            search.tell(proposal, problem.reward(proposal.leaf))
    method = "one at a time" if batch == 1 else f"batches of {batch}"
    best = [evaluation.best_reward for evaluation in search.history]
    steps = sorted({*recorded_steps(budget, 1.1), 4 * budget // 5})
    return [Row(method, f"split {split}", number, step, best[step - 1]) for step in steps]


def _throughput(budget: int) -> list[Row]:
    """Evaluations per second with as many sleeping workers, as a share of what could be."""
    problem = Subsets(64, 10, reward=_sleeping)
    search = _changed(problem, 0, 20)
    began = time.perf_counter()
    with ThreadPoolExecutor(BATCH) as executor:
        search.run(budget, executor=executor)
    seconds = time.perf_counter() - began
    share = budget * _SLEEP / BATCH / seconds
    return [Row(f"{BATCH} workers", "share of the ideal rate", 0, budget, share)]


def _sleeping(chosen: frozenset[int]) -> float:
    time.sleep(_SLEEP)
    return float(sum(chosen))


# Refresh ------------------------------------------------------------------------------------------

FRESHNESS: dict[str, Callable[[], Refresh]] = {
    "all nodes every time": Eager,
    "on demand": lambda: Lazy(above=0),
}


def _freshness(runs: int, budget: int, jobs: int, progress: bool) -> Outcome:
    tasks = [(method, number, budget) for method in FRESHNESS for number in range(runs)]
    rows = run_rounds(_freshness_run, tasks, jobs, progress)
    about = {"runs": runs, "budget": budget, "measured": "whether the optimum was found; best accuracy"}
    digits = [row for row in rows if row.setting == "digits"]
    drawn = curves_figure(digits, "best accuracy so far", "10 of 64 pixels of the digits")
    return Outcome("freshness", rows, about, {"freshness": drawn})


def _freshness_run(method: str, number: int, budget: int) -> list[Row]:
    """The same seeds, problems and parts but for what is brought up to date after a reward."""
    synthetic, digits = Synthetic(seed=number), DigitsPixels(split=number % 3)
    search = _changed(synthetic, number, _SYNTHETIC_BUDGET // 10, refresh=FRESHNESS[method]())
    found = [step.best_reward >= synthetic.best_reward - 1e-9 for step in search.steps(_SYNTHETIC_BUDGET)]
    rows = [Row(method, "synthetic", number, step, float(hit)) for step, hit in enumerate(found, start=1)]
    search = _changed(digits, number, min(20, budget // 5), refresh=FRESHNESS[method]())
    best = [step.best_reward for step in search.steps(budget)]
    steps = recorded_steps(budget, growth=1.1)
    return rows + [Row(method, "digits", number, step, best[step - 1]) for step in steps]


# Tic-Tac-Toe ----------------------------------------------------------------------------------------

_GAME_STEPS = (25, 50, 75, 100, 150, 200)
GAME_METHODS: dict[str, Composed] = {
    OURS: _changed,
    "uniform roll-outs": lambda p, s, i: _changed(p, s, i, rollout=Uniform()),
    "Thompson roll-outs": lambda p, s, i: _changed(p, s, i, rollout=ThompsonRollout()),
    "joint samples": lambda p, s, i: _sampled(p, s, i, descend=False),
    "joint samples, Thompson descent": lambda p, s, i: _sampled(p, s, i, descend=True),
    "prior on the maximum": lambda p, s, i: _changed(p, s, i, backup=MomentMatching(prior=(0.0, 1.0))),
    "paper's method": lambda p, s, i: tictactoe.METHODS["probabilistic DAG"](p, s),
    "UCT": lambda p, s, i: baselines.uct(p, seed=s),
}


def _tictactoe(runs: int, jobs: int, progress: bool) -> Outcome:
    tasks = [(method, number) for method in GAME_METHODS for number in range(runs)]
    rows = run_rounds(_game_run, tasks, jobs, progress)
    drawn = curves_figure(rows, "reward against a perfect opponent", "Tic-Tac-Toe")
    drawn.axes[0].axhline(0.0, color="black", linestyle=":", linewidth=1.0)
    measured = "mean reward of 10 games against a perfect opponent; a search ends when all leaves are known"
    return Outcome("tictactoe", rows, {"runs": runs, "measured": measured}, {"tictactoe": drawn})


def _game_run(method: str, number: int) -> list[Row]:
    game = TicTacToe()
    search = GAME_METHODS[method](game, number, 20)
    found: dict[int, float] = {}
    for step, _ in enumerate(search.steps(max(_GAME_STEPS)), start=1):
        if step in _GAME_STEPS:
            found[step] = _strength(search, game)
    last = _strength(search, game)
    return [Row(method, "", number, step, found.get(step, last)) for step in _GAME_STEPS]


def _strength(search: Search, game: TicTacToe) -> float:
    games = [tictactoe.play(search, game, np.random.default_rng([number, 2])) for number in range(10)]
    return float(np.mean(games))


# Summaries ------------------------------------------------------------------------------------------


def summary(outcome: Outcome) -> str:
    """Every method's mean and standard error at a few steps, as a table."""
    found = curves(outcome.rows)
    marks = _marks(found)
    lines = [f"{'':48}{'':18}" + "".join(f"{mark:>17}" for mark in marks)]
    for (method, setting), curve in found.items():
        if setting.endswith("seconds"):
            continue
        cells = [_cell(curve, mark) for mark in marks]
        lines.append(f"{method:48}{setting:18}" + "".join(f"{cell:>17}" for cell in cells))
    return "\n".join(lines)


def _marks(found: Mapping[tuple[str, str], Curve]) -> list[int]:
    last = max(int(curve.steps[-1]) for curve in found.values())
    return [mark for mark in (25, 50, 100, 200, 400, 1200) if mark <= last] or [last]


def _cell(curve: Curve, mark: int) -> str:
    if curve.steps[0] > mark:
        return "–"
    at = curve.at(mark)
    return f"{curve.mean[at]:.4g} ± {curve.error[at]:.2g}"
