"""The experiments of the paper, one module each; ``python -m experiments reproduce`` runs one by name."""

from pathlib import Path

from experiments.harness.runner import Outcome, Request
from experiments.paper import mnist, synthetic, tictactoe


def section_4_1(quick: bool, jobs: int) -> Outcome:
    """Section 4.1."""
    return synthetic.run(synthetic.QUICK if quick else synthetic.Settings(), jobs)


def section_4_2(quick: bool, jobs: int) -> Outcome:
    """Section 4.2."""
    return tictactoe.run(tictactoe.QUICK if quick else tictactoe.Settings(), jobs)


def section_4_3(
    quick: bool,
    jobs: int,
    data: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
    save_weights: Path | None = None,
) -> Outcome:
    """Section 4.3."""
    request = Request(quick, jobs, data=data, weights=weights, device=device)
    return mnist.run_mnist(mnist.QUICK if quick else mnist.Settings(), request, save_weights)


def section_4_3_by_digits(quick: bool, jobs: int) -> Outcome:
    """Section 4.3 with scikit-learn's digits."""
    return mnist.run_digits(mnist.QUICK if quick else mnist.Settings(), jobs)
