"""Accuracies of two known subsets of pixels, by the network whose weights are given."""

from pathlib import Path

from dagsearch.errors import ProblemError
from experiments.harness.runner import Outcome, Row
from experiments.paper import convnet, mnist_data

SUBSETS = {
    "best by hill-climbing": frozenset({656, 542, 325, 596, 317, 458, 375, 405, 152, 210}),
    "greedy forward selection": frozenset({377, 409, 486, 567, 656, 431, 238, 155, 151, 400}),
}


def run(
    quick: bool = False,
    jobs: int = 1,
    data: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
) -> Outcome:
    """Accuracy of each subset on the validation images."""
    if weights is None:
        raise ProblemError(
            "references needs --weights FILE: the weights of the network that scores the subsets"
        )
    images = mnist_data.load(data)
    net = convnet.load_weights(weights, device)
    score = convnet.SubsetAccuracy(net, images.validation, images.validation_labels, device)
    found = score(list(SUBSETS.values()))
    rows = [Row(name, "", 0, 0, float(value)) for name, value in zip(SUBSETS, found, strict=True)]
    return Outcome(
        "references", rows, {"subsets": {name: sorted(chosen) for name, chosen in SUBSETS.items()}}
    )
