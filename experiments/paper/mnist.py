"""Section 4.3: which ten pixels distinguish digits best, on MNIST or, without PyTorch, on 8×8 digits."""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from dagsearch import baselines
from dagsearch.methods import PRESETS
from dagsearch.problems import DigitsPixels, Subsets
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching, Softmax
from experiments.harness.drawing import curves_figure, figure
from experiments.harness.runner import (
    ExperimentError,
    Outcome,
    Request,
    Row,
    prepare_worker,
    recorded_steps,
    run_rounds,
    stop_workers,
)
from experiments.paper import convnet, mnist_data
from experiments.paper.ablations import RandomChild

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETTINGS = PRESETS["mnist"]
BETA, NOISE, C, INITIAL = (_SETTINGS["beta"], _SETTINGS["noise"], _SETTINGS["c"], _SETTINGS["standardize"])


def _paper(problem: Subsets, seed: int, **settings: Any) -> Search:
    return Search.paper(problem, preset="mnist", seed=seed, **settings)


METHODS: dict[str, Callable[[Subsets, int], Search]] = {
    "probabilistic DAG": _paper,
    "probabilistic DAG, softmax": lambda problem, seed: _paper(problem, seed, backup=Softmax()),
    "probabilistic tree": lambda problem, seed: baselines.probabilistic_tree(
        problem, c=C, noise=NOISE, beta=BETA, standardize=INITIAL, seed=seed
    ),
    "UCT": lambda problem, seed: baselines.uct(problem, c=BETA, standardize=INITIAL, seed=seed),
    "UCD": lambda problem, seed: baselines.ucd(problem, c=BETA, standardize=INITIAL, seed=seed),
    "UCT-RAVE": lambda problem, seed: baselines.uct_rave(problem, seed=seed),
    "random": lambda problem, seed: baselines.random_search(problem, seed=seed),
    "probabilistic DAG, prior on the maximum": lambda problem, seed: _paper(
        problem, seed, backup=MomentMatching(prior=(0.0, 1.0))
    ),
    "probabilistic DAG, prior on maximum and increments": lambda problem, seed: _paper(
        problem, seed, backup=MomentMatching(prior=(0.0, 1.0)), increment_prior=(0.0, 1.0)
    ),
    "probabilistic DAG, prior on increments": lambda problem, seed: _paper(
        problem, seed, increment_prior=(0.0, 1.0)
    ),
    "probabilistic DAG, summary adds a random child": lambda problem, seed: _paper(
        problem, seed, expansion=RandomChild(seed)
    ),
}
SHOWN = tuple(METHODS)[:7]


@dataclass(frozen=True)
class Settings:
    """Size of the experiment."""

    rounds: int = 10
    steps: int = 1_200
    epochs: int = convnet.EPOCHS


QUICK = Settings(rounds=2, steps=60, epochs=1)


def run_digits(quick: bool, jobs: int) -> Outcome:
    """The experiment on scikit-learn's digits."""
    settings = QUICK if quick else Settings()
    tasks = [(method, number, settings.steps) for method in METHODS for number in range(settings.rounds)]
    rows = run_rounds(one_digits_round, tasks, jobs)
    about = {"dataset": "digits", "settings": asdict(settings), **_constants()}
    return Outcome("digits", rows, about, {"digits": draw(rows, "10 of 64 pixels of the digits, LDA")})


def one_digits_round(method: str, number: int, steps: int) -> list[Row]:
    """One search."""
    search = METHODS[method](DigitsPixels(), number)
    search.run(steps)
    return _rows(method, number, search, steps)


def network(request: Request, epochs: int) -> tuple[mnist_data.Mnist, Any, float]:
    """The images, the network, with weights from a file or trained now, and the seconds that this took."""
    convnet.import_torch()
    data = mnist_data.load(request.data)
    started = time.perf_counter()
    net = convnet.trained(data, request.weights, request.device, epochs, request.progress)
    return data, net, time.perf_counter() - started


def run_mnist(
    quick: bool,
    jobs: int,
    data: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
    save_weights: Path | None = None,
) -> Outcome:
    """The experiment on MNIST; all rounds of all methods advance together."""
    settings, request = QUICK if quick else Settings(), Request(quick, jobs, True, data, weights, device)
    images, net, training = network(request, settings.epochs)
    if save_weights is not None:
        convnet.save_weights(net, save_weights)
    score = convnet.SubsetAccuracy(net, images.validation, images.validation_labels, device)
    tasks = [(method, number) for method in METHODS for number in range(settings.rounds)]
    runs, seconds = advance_together(tasks, score, settings.steps, request)
    best = max((run for run in runs if run.method == "probabilistic DAG"), key=lambda run: run.best_reward)
    test = convnet.SubsetAccuracy(net, images.test, images.test_labels, device)
    about = {
        "dataset": "mnist",
        "weights": "given" if request.weights is not None else f"trained for {settings.epochs} epochs",
        "device": convnet.import_torch().cuda.get_device_name() if device == "cuda" else "cpu",
        "seconds": {"training": round(training, 1), **seconds},
        "settings": asdict(settings),
        **_constants(),
        "chosen": sorted(best.best_state),
        "chosen_validation_accuracy": best.best_reward,
        "chosen_test_accuracy": test([best.best_state])[0],
        "mean_share_of_first_choices_visited_once": _visited_once(runs),
    }
    rows = [row for run in runs for row in run.rows]
    figures = {
        "mnist": draw(rows, "10 of 784 pixels of MNIST"),
        "mnist-pixels": draw_pixels(best.best_state, images.test, seed=0),
        "mnist-classes": draw_classes(best.best_state, images.test, images.test_labels),
    }
    return Outcome("mnist", rows, about, figures)


class Run(NamedTuple):
    """The record of one search."""

    method: str
    number: int
    rows: list[Row]
    best_state: frozenset[int]
    best_reward: float
    visited_once: float
    """Share of the root's visited children that were visited only once."""


def advance_together(
    tasks: Sequence[tuple[str, int]],
    score: Callable[[Sequence[frozenset[int]]], Sequence[float]],
    steps: int,
    request: Request,
    make: Callable[[str, int], Search] | None = None,
) -> tuple[list[Run], dict[str, float]]:
    """Step all searches, spread over processes, with their evaluations in two batches per step.

    While the leaves of one half of the searches are evaluated, the other half computes its next leaves.
    ``make(method, number)`` composes a search over :func:`pixels` in its process. The second result has
    seconds: of the whole run, of the evaluations, and of the same evaluations one by one.
    """
    # A process that has used a GPU must not be forked.
    context = multiprocessing.get_context("spawn")
    workers, started = [], time.perf_counter()
    for share in range(min(request.jobs, len(tasks))):
        here, there = context.Pipe()
        arguments = (there, tasks[share :: request.jobs], steps, make or _composed)
        process = context.Process(target=_advance, args=arguments, daemon=True)
        process.start()
        there.close()  # so that recv() raises EOFError if the worker dies
        workers.append((process, here))
    try:
        runs, evaluating = _serve([connection for _, connection in workers], score, steps, request.progress)
        for process, _ in workers:
            process.join()
    except EOFError as error:
        raise ExperimentError("a search process died; its error message is printed above") from error
    finally:
        stop_workers()
    whole = time.perf_counter() - started
    one_by_one = len(tasks) * steps * _seconds_alone(score, [run.best_state for run in runs])
    found = {"searches": whole, "evaluations": evaluating, "evaluations one by one": one_by_one}
    runs = sorted(runs, key=lambda run: tasks.index((run.method, run.number)))
    return runs, {name: round(seconds, 1) for name, seconds in found.items()}


def _seconds_alone(
    score: Callable[[Sequence[frozenset[int]]], Sequence[float]], leaves: Sequence[frozenset[int]]
) -> float:
    """Seconds of one evaluation by itself, measured after a warm-up."""
    score(leaves[:1])
    started = time.perf_counter()
    for leaf in leaves:
        score([leaf])
    return (time.perf_counter() - started) / len(leaves)


def _serve(
    connections: Sequence[Connection],
    score: Callable[[Sequence[frozenset[int]]], Sequence[float]],
    steps: int,
    progress: bool,
) -> tuple[list[Run], float]:
    """Evaluate the leaves that the processes send; returns their runs and the seconds of evaluations."""
    halves = [half for half in (connections[::2], connections[1::2]) if half]
    evaluating = 0.0
    for _ in tqdm(range(steps), disable=not progress, unit="step", desc="searching"):
        for half in halves:
            asked: list[list[frozenset[int]]] = [connection.recv() for connection in half]
            started = time.perf_counter()
            rewards = iter(score([leaf for leaves in asked for leaf in leaves]))
            evaluating += time.perf_counter() - started
            for connection, leaves in zip(half, asked, strict=True):
                connection.send([next(rewards) for _ in leaves])
    return [run for connection in connections for run in connection.recv()], evaluating


def _advance(
    connection: Connection,
    tasks: Sequence[tuple[str, int]],
    steps: int,
    make: Callable[[str, int], Search],
) -> None:
    """The searches of one process: send the leaves they ask for, receive the rewards."""
    prepare_worker()
    searches = [make(method, number) for method, number in tasks]
    for _ in range(steps):
        proposals = [search.ask() for search in searches]
        connection.send([getattr(proposal.leaf, "state", proposal.leaf) for proposal in proposals])
        for search, proposal, reward in zip(searches, proposals, connection.recv(), strict=True):
            search.tell(proposal, reward)
    connection.send([_run_of(*task, search, steps) for task, search in zip(tasks, searches, strict=True)])


def pixels() -> Subsets:
    """Ten pixels of 784; another process computes the rewards."""
    positions = np.indices((28, 28)).reshape(2, -1).T
    return Subsets(784, convnet.PIXELS, reward=_no_reward, positions=positions)


def _composed(method: str, number: int) -> Search:
    return METHODS[method](pixels(), number)


def _no_reward(subset: frozenset[int]) -> float:
    raise NotImplementedError("rewards come in batches from the process that holds the network")


def _run_of(method: str, number: int, search: Search, steps: int) -> Run:
    best = max(search.history, key=lambda evaluation: evaluation.reward)
    once = float("nan")
    if search.explored is not None:
        graph = search.explored.graph
        once = float(np.mean(graph.visits[graph.children(search.explored.root)] == 1))
    rows = _rows(method, number, search, steps)
    leaf: Any = getattr(best.leaf, "state", best.leaf)
    return Run(method, number, rows, leaf, best.reward, once)


def _visited_once(runs: Sequence[Run]) -> dict[str, float | None]:
    """By method, the mean over rounds; ``None`` for a method without a DAG."""
    shares: dict[str, float | None] = {}
    for method in METHODS:
        mean = float(np.mean([run.visited_once for run in runs if run.method == method]))
        shares[method] = None if np.isnan(mean) else round(mean, 4)
    return shares


def _constants() -> dict[str, float]:
    return {"beta": BETA, "noise": NOISE, "c": C, "standardising_rollouts": INITIAL}


def _rows(method: str, number: int, search: Search, steps: int) -> list[Row]:
    return [
        Row(method, "", number, step, search.history[step - 1].best_reward)
        for step in recorded_steps(steps, growth=1.1)
    ]


def draw(rows: Sequence[Row], title: str) -> "Figure":
    """Best accuracy so far against evaluations."""
    return curves_figure(
        (row for row in rows if row.method in SHOWN), "best validation accuracy so far", title, band=True
    )


def draw_pixels(chosen: frozenset[int], images: NDArray[np.uint8], seed: int) -> "Figure":
    """The chosen pixels, numbered, on nine random test images."""
    drawn = figure(6.0, 6.0)
    picked = np.random.default_rng(seed).choice(len(images), size=9, replace=False)
    for axes, image in zip(drawn.subplots(3, 3).ravel(), images[picked], strict=True):
        axes.imshow(image.reshape(28, 28), cmap="gray")
        for number, pixel in enumerate(sorted(chosen)):
            row, column = divmod(pixel, 28)
            axes.add_patch(_square(column, row))
            axes.annotate(str(number), (column + 0.8, row - 0.8), color="#F0E442", fontsize=7)
        axes.set(xticks=[], yticks=[])
    return drawn


def _square(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#D55E00", linewidth=1.3)


def draw_classes(chosen: frozenset[int], images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> "Figure":
    """Share of the images of every class in which each chosen pixel is on."""
    drawn = figure(9.0, 3.6)
    pixels = sorted(chosen)
    for digit, axes in enumerate(drawn.subplots(2, 5, sharex=True, sharey=True).ravel()):
        share = (images[labels == digit][:, pixels] > 0).mean(axis=0)
        axes.bar(range(len(pixels)), share, color="#0072B2")
        axes.set(title=f"digit {digit}", ylim=(0.0, 1.0), xticks=range(len(pixels)))
        axes.tick_params(labelsize=7)
        axes.title.set_fontsize(9)
    drawn.supxlabel("chosen pixel", fontsize=9)
    drawn.supylabel("share of images in which it is on", fontsize=9)
    return drawn
