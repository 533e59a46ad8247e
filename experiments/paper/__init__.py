"""The experiments of the paper, one module each; ``python -m experiments reproduce`` runs one by name."""

from pathlib import Path

from experiments.harness.runner import Outcome, Request, best_setting
from experiments.paper import correlated, counts, maximum, mnist, references, steps, synthetic, tictactoe


def run(name: str, request: Request, dataset: str = "mnist", save_weights: Path | None = None) -> Outcome:
    """Run an experiment of the paper; ``dataset`` and ``save_weights`` are for that with MNIST."""
    quick, jobs, progress = request.quick, request.jobs, request.progress
    if name == "max":
        return maximum.run()
    if name == "counts":
        return counts.run()
    if name == "references":
        return references.run(request)
    if name == "moves":
        from experiments.paper import moves  # needs OpenSpiel

        return moves.run(quick, jobs, progress)
    small = {"correlated": correlated.run, "steps": steps.run}
    if name in small:
        return small[name](quick, jobs, progress)
    if name == "synthetic":
        return synthetic.run(synthetic.QUICK if quick else synthetic.Settings(), jobs, progress)
    if name == "tictactoe":
        return tictactoe.run(tictactoe.QUICK if quick else tictactoe.Settings(), jobs, progress)
    if name == "mnist":
        size = mnist.QUICK if quick else mnist.Settings()
        if dataset == "digits":
            return mnist.run_digits(size, jobs, progress)
        return mnist.run_mnist(size, request, save_weights)
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
