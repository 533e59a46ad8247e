"""10 of the 784 pixels of MNIST, with the network of section 4.3."""

from pathlib import Path

from dagsearch.search import Search
from experiments.benchmarks.variants import OURS, SET_ABLATIONS
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome
from experiments.paper import convnet, mnist, mnist_data

METHODS = (OURS, "probabilistic DAG", "UCT-RAVE", "random")


def compose(method: str, number: int) -> Search:
    """A search over MNIST's pixels, for :func:`mnist.advance_together`."""
    if method in mnist.METHODS:
        return mnist.METHODS[method](mnist.pixels(), number)
    return SET_ABLATIONS[method](mnist.pixels(), number, 20)


def run(
    runs: int,
    steps: int,
    data_folder: Path | None,
    weights: Path | None,
    device: str,
    jobs: int,
    progress: bool,
) -> Outcome:
    """Best validation accuracy against evaluations; all runs of all methods advance together."""
    convnet.import_torch()
    data = mnist_data.load(data_folder)
    net = convnet.trained(data, weights, device, 1 if steps < 100 else convnet.EPOCHS, progress)
    score = convnet.SubsetAccuracy(net, data.validation, data.validation_labels, device)
    tasks = [(method, number) for method in METHODS for number in range(runs)]
    found, seconds = mnist.advance_together(tasks, score, steps, jobs, progress, compose)
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
