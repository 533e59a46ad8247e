"""10 of the 784 pixels of MNIST, with the network of section 4.3."""

from dagsearch.search import Search
from experiments.benchmarks.variants import OURS, SET_ABLATIONS
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Request
from experiments.paper import convnet, mnist

METHODS = (OURS, "probabilistic DAG", "UCT-RAVE", "random")


def compose(method: str, number: int) -> Search:
    """A search over MNIST's pixels, for :func:`mnist.advance_together`."""
    if method in mnist.METHODS:
        return mnist.METHODS[method](mnist.pixels(), number)
    return SET_ABLATIONS[method](mnist.pixels(), number, 20)


def run(request: Request) -> Outcome:
    """Best validation accuracy against evaluations; all runs of all methods advance together."""
    runs, steps = (2, 60) if request.quick else (10, 1_200)
    data, net, _ = mnist.network(request, 1 if request.quick else convnet.EPOCHS)
    score = convnet.SubsetAccuracy(net, data.validation, data.validation_labels, request.device)
    tasks = [(method, number) for method in METHODS for number in range(runs)]
    found, seconds = mnist.advance_together(tasks, score, steps, request, compose)
    test = convnet.SubsetAccuracy(net, data.test, data.test_labels, request.device)
    best = max((run for run in found if run.method == OURS), key=lambda run: run.best_reward)
    about = {
        "runs": runs,
        "steps": steps,
        "weights": "given" if request.weights is not None else "trained",
        "seconds": seconds,
        "chosen": sorted(best.best_state),
        "chosen_validation_accuracy": best.best_reward,
        "chosen_test_accuracy": test([best.best_state])[0],
    }
    rows = [row for run in found for row in run.rows]
    drawn = curves_figure(rows, "best validation accuracy so far", "10 of 784 pixels of MNIST", band=True)
    return Outcome("mnist", rows, about, {"mnist": drawn})
