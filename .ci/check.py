"""Everything that must pass: linter, formatter, type checker, docs, tests. Needs the ``dev`` extra."""

import subprocess
import sys
import tempfile

BESIDE = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("docs.site",),
)
"""What runs one after the other while the tests run."""
# With more than eight processes, each would hardly do more than start.
TESTS = ("pytest", "-n", "logical", "--maxprocesses", "8", "--dist", "worksteal")


def run(check: tuple[str, ...], output: object = None) -> int:
    """Run a module; returns its exit code."""
    return subprocess.run([sys.executable, "-m", *check], stdout=output, stderr=output).returncode


def run_beside() -> int:
    """Run the checks beside the tests up to the first that fails, and print what it says."""
    for check in BESIDE:
        with tempfile.TemporaryFile("w+") as output:
            code = run(check, output)
            output.seek(0)
            print("$", *check, "\n", output.read() if code else "passed", flush=True)
        if code:
            return code
    return 0


def main() -> int:
    """Run everything; returns 0 if nothing failed."""
    beside = subprocess.Popen([sys.executable, __file__, "beside"])
    print("$", *TESTS, flush=True)
    codes = run(TESTS), beside.wait()  # negative if a signal ended it
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(run_beside() if sys.argv[1:] == ["beside"] else main())
