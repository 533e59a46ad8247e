"""Everything that must pass: linter, formatter, type checker, docs, tests. Needs the ``dev`` extra."""

import subprocess
import sys

CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("mkdocs", "build", "--strict"),  # with --quiet, warnings would not be counted
    # Of more than eight processes each would do little but start.
    ("pytest", "-n", "logical", "--maxprocesses", "8", "--dist", "worksteal"),
)


def main() -> int:
    """Run the checks up to the first that fails; returns its exit code."""
    for check in CHECKS:
        print("$", *check, flush=True)
        code = subprocess.run([sys.executable, "-m", *check]).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
