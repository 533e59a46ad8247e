"""The experiments of the paper, one module each; ``python -m experiments reproduce`` runs one by name."""

from pathlib import Path

from experiments.harness.runner import Outcome, best_setting
from experiments.paper import counts, maximum, mnist, synthetic, tictactoe


def run(
    name: str,
    *,
    quick: bool = False,
    jobs: int = 1,
    dataset: str = "mnist",
    data: Path | None = None,
    weights: Path | None = None,
    save_weights: Path | None = None,
    device: str = "cpu",
    progress: bool = True,
) -> Outcome:
    """Run an experiment of the paper at full size, or ``quick``."""
    if name == "max":
        return maximum.run()
    if name == "counts":
        return counts.run()
    if name == "synthetic":
        return synthetic.run(synthetic.QUICK if quick else synthetic.Settings(), jobs, progress)
    if name == "tictactoe":
        return tictactoe.run(tictactoe.QUICK if quick else tictactoe.Settings(), jobs, progress)
    if name == "mnist":
        size = mnist.QUICK if quick else mnist.Settings()
        if dataset == "digits":
            return mnist.run_digits(size, jobs, progress)
        return mnist.run_mnist(size, data, weights, save_weights, device, jobs, progress)
    raise ValueError(f"there is no experiment {name!r}; see python -m experiments reproduce --help")


def summary(outcome: Outcome) -> str:
    """The last value of every method with its best setting, as a table."""
    lines = []
    for method, (setting, curve) in best_setting(outcome.rows).items():
        number = f"{curve.mean[-1]:.6g}"
        if len(curve.values) > 1:
            number += f" ± {curve.error[-1]:.2g}"
        lines.append(f"{method:52}{setting:22}{number}")
    return "\n".join(lines)
