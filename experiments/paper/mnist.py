"""Section 4.3: which ten pixels distinguish digits best, on MNIST or, without PyTorch, on 8×8 digits."""

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagsearch.methods import PRESETS
from dagsearch.problems import DigitsPixels, Subsets
from dagsearch.search import Search
from experiments.harness.curves import best_rewards
from experiments.harness.drawing import curves_figure, figure
from experiments.harness.runner import ExperimentError, Outcome, Row, run_rounds, run_tasks
from experiments.paper import convnet
from experiments.paper.methods import OURS, PIXELS, SHOWN, Make

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Settings(NamedTuple):
    """Size of the experiment."""

    rounds: int = 10
    steps: int = 1_200
    epochs: int = convnet.EPOCHS


QUICK = Settings(rounds=1, steps=40, epochs=1)


def run_digits(quick: bool, jobs: int) -> Outcome:
    """The experiment on scikit-learn's digits."""
    settings = QUICK if quick else Settings()
    tasks = [(method, number, settings.steps) for method in PIXELS for number in range(settings.rounds)]
    rows = run_rounds(one_digits_round, tasks, jobs)
    about = {"settings": settings._asdict(), **PRESETS["mnist"]}
    return Outcome("digits", rows, about, {"digits": draw(rows, "10 of 64 pixels of the digits, LDA")})


def one_digits_round(method: str, number: int, steps: int) -> list[Row]:
    """One search."""
    return searched(PIXELS[method](DigitsPixels(), number), method, number, steps).rows


# On MNIST ----------------------------------------------------------------------------------------------


class Network(NamedTuple):
    """Sources of the images and of the network's weights, and the network's device."""

    data: Path | None
    weights: Path
    device: str


class Run(NamedTuple):
    """The record of one search."""

    method: str
    rows: list[Row]
    best_state: frozenset[int]
    best_reward: float
    visited_once: float
    """Share of the root's visited children with a single visit."""


def run_mnist(
    quick: bool,
    jobs: int,
    data: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
    save_weights: Path | None = None,
) -> Outcome:
    """The experiment on MNIST."""
    settings = QUICK if quick else Settings()
    runs = run_on_network(PIXELS, settings, jobs, data, weights, device, save_weights)
    best = max((run for run in runs if run.method == OURS), key=lambda run: run.best_reward)
    rows, images = [row for run in runs for row in run.rows], convnet.load(data)
    once = {name: np.mean([run.visited_once for run in runs if run.method == name]) for name in PIXELS}
    about = {
        "weights": "given" if weights is not None else f"trained for {settings.epochs} epochs",
        "device": convnet.on_device(device).cuda.get_device_name() if device == "cuda" else "cpu",
        "settings": settings._asdict(),
        **PRESETS["mnist"],
        "chosen": sorted(best.best_state),
        "chosen_validation_accuracy": best.best_reward,
        "mean_share_of_first_choices_visited_once": {
            name: None if np.isnan(share) else round(float(share), 4) for name, share in once.items()
        },
    }
    figures = {
        "mnist": draw(rows, "10 of 784 pixels of MNIST"),
        "mnist-pixels": draw_pixels(best.best_state, images.test, seed=0),
        "mnist-classes": draw_classes(best.best_state, images.test, images.test_labels),
    }
    return Outcome("mnist", rows, about, figures)


def run_on_network(
    methods: Mapping[str, Make],
    settings: Settings,
    jobs: int,
    data: Path | None,
    weights: Path | None,
    device: str,
    save_weights: Path | None = None,
) -> list[Run]:
    """All rounds of some methods; without weights the network is trained first. Every process has a copy."""
    convnet.on_device(device)
    images = convnet.load(data)
    with tempfile.TemporaryDirectory() as folder:
        if weights is None:
            weights = save_weights or Path(folder, "trained.npz")
            convnet.save_weights(convnet.train(images, device, settings.epochs), weights)
        network = Network(data, weights, device)
        accuracy(network)  # raises for bad files and devices before any search begins
        tasks = [
            (make, method, number, settings.steps, network)
            for method, make in methods.items()
            for number in range(settings.rounds)
        ]
        return run_tasks(one_round, tasks, jobs)


def one_round(make: Make, method: str, number: int, steps: int, network: Network) -> Run:
    """One search on MNIST: ten pixels of 784."""
    score, positions = accuracy(network), np.indices((28, 28)).reshape(2, -1).T
    problem = Subsets(784, convnet.PIXELS, lambda chosen: score([chosen])[0], positions=positions)
    return searched(make(problem, number), method, number, steps)


@cache
def accuracy(network: Network) -> convnet.SubsetAccuracy:
    """The accuracy of subsets of pixels on the validation images."""
    images = convnet.load(network.data)
    net = convnet.load_weights(network.weights, network.device)
    return convnet.SubsetAccuracy(net, images.validation, images.validation_labels, network.device)


def searched(search: Search, method: str, number: int, steps: int) -> Run:
    """Run a search; returns its record."""
    search.run(steps)
    best, once = max(search.history, key=lambda evaluation: evaluation.reward), float("nan")
    if search.explored is not None:
        graph = search.explored.graph
        once = float(np.mean(graph.visits[graph.children(search.explored.root)] == 1))
    rows = best_rewards(search.history, method, "", number, growth=1.1)
    leaf: Any = getattr(best.leaf, "state", best.leaf)
    return Run(method, rows, leaf, best.reward, once)


REFERENCES = {
    "best by hill-climbing": frozenset({656, 542, 325, 596, 317, 458, 375, 405, 152, 210}),
    "greedy forward selection": frozenset({377, 409, 486, 567, 656, 431, 238, 155, 151, 400}),
}
"""Known subsets of pixels."""


def run_references(
    quick: bool, jobs: int, data: Path | None = None, weights: Path | None = None, device: str = "cpu"
) -> Outcome:
    """Accuracies of known subsets by a network with given weights."""
    if weights is None:
        raise ExperimentError("references needs --weights FILE: the network that scores the subsets")
    found = accuracy(Network(data, weights, device))(list(REFERENCES.values()))
    rows = [Row(name, "", 0, 0, float(value)) for name, value in zip(REFERENCES, found, strict=True)]
    return Outcome("references", rows, {name: sorted(chosen) for name, chosen in REFERENCES.items()})


# Figures ------------------------------------------------------------------------------------------------


def draw(rows: Sequence[Row], title: str) -> "Figure":
    """Best accuracy so far against evaluations."""
    shown = (row for row in rows if row.method in SHOWN)
    return curves_figure(shown, "best validation accuracy so far", title)


def draw_pixels(chosen: frozenset[int], images: NDArray[np.uint8], seed: int) -> "Figure":
    """The chosen pixels, numbered, on nine random test images."""
    from matplotlib.patches import Rectangle

    drawn = figure(6.0, 6.0)
    picked = np.random.default_rng(seed).choice(len(images), size=9, replace=False)
    for axes, image in zip(drawn.subplots(3, 3).ravel(), images[picked], strict=True):
        axes.imshow(image.reshape(28, 28), cmap="gray")
        for number, pixel in enumerate(sorted(chosen)):
            row, column = divmod(pixel, 28)
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#D55E00", linewidth=1.3)
            )
            axes.annotate(str(number), (column + 0.8, row - 0.8), color="#F0E442", fontsize=7)
        axes.set(xticks=[], yticks=[])
    return drawn


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
