"""``python -m experiments COMMAND``, in a clone: the paper's experiments, benchmarks, games, the gallery."""

import sys
from collections.abc import Sequence

from dagsearch.cli.entry import run_one_of
from experiments.commands import arena, benchmark, gallery, reproduce, truth


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment; returns the exit code."""
    about = "Experiments with dagsearch: what the documentation reports, by commands that anyone can run."
    return run_one_of(
        (reproduce, benchmark, truth, arena, gallery), "python -m experiments", about, arguments
    )


if __name__ == "__main__":
    sys.exit(main())
