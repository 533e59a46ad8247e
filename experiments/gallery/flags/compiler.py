"""Compiles the programs with some flags, checks that they still work, and measures them."""

import hashlib
import math
import os
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from experiments.harness.evaluations import EvaluationFailed

PROGRAMS = Path(__file__).parent / "programs"

# Seconds that GCC may take for all programs, and a program for its work; many times what they take.
_COMPILE, _RUN = 120.0, 60.0
# How often a program repeats its work when its time is measured.
_REPEATS = 5


class Compiler:
    """Measures programs compiled with given arguments.

    Parameters
    ----------
    sources : sequence of Path
        C programs. What each prints without optimisation is what it must print.
    gcc : str
        The compiler.
    """

    def __init__(
        self, sources: Sequence[Path] = tuple(sorted(PROGRAMS.glob("*.c"))), gcc: str = "gcc"
    ) -> None:
        self.sources, self.gcc = list(sources), gcc
        self._works: dict[str, bool] = {}

    @cached_property
    def version(self) -> str:
        """The first line that the compiler says about itself."""
        return self._run([self.gcc, "--version"], _RUN).splitlines()[0]

    def enabled(self, level: str) -> set[str]:
        """The flags that a level switches on, by the compiler's own list; without ``-f``."""
        listed = self._run([self.gcc, level, "-Q", "--help=optimizers"], _RUN).splitlines()
        words = [line.split() for line in listed if line.endswith("[enabled]")]
        return {first.removeprefix("-f") for first, *_ in words}

    @cached_property
    def expected(self) -> list[str]:
        """What the programs print if they are compiled without optimisation."""
        with tempfile.TemporaryDirectory() as folder:
            self._compile(["-O0"], Path(folder))
            return [self._run([program], _RUN) for program in self._linked(Path(folder))]

    def size(self, arguments: Sequence[str]) -> int:
        """Bytes of code and constants, of all programs together.

        Raises :class:`EvaluationFailed` if the compiler or a program fails, or prints another result.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._compile(arguments, folder)
            objects = [folder / f"{source.stem}.o" for source in self.sources]
            digest = hashlib.sha256(b"".join(path.read_bytes() for path in objects)).hexdigest()
            if digest not in self._works:  # the same code does the same
                self._works[digest] = self._printed(folder, 1) == self.expected
            if not self._works[digest]:
                raise EvaluationFailed("a program printed a wrong result")
            rows = self._run(["size", *objects], _RUN).splitlines()[1:]
        return sum(int(text) + int(data) for text, data, *_ in (row.split() for row in rows))

    def seconds(self, arguments: Sequence[str]) -> float:
        """CPU time of the programs: the geometric mean, so that each counts alike. It is noisy."""
        times = []
        with tempfile.TemporaryDirectory() as name:
            self._compile(arguments, Path(name))
            for program, expected in zip(self._linked(Path(name)), self.expected, strict=True):
                before = _cpu()
                if self._run([program, str(_REPEATS)], _RUN) != expected:
                    raise EvaluationFailed(f"{program.name} printed a wrong result")
                times.append(_cpu() - before)
        return math.exp(sum(map(math.log, times)) / len(times))

    def _compile(self, arguments: Sequence[str], folder: Path) -> None:
        self._run([self.gcc, "-c", *arguments, *(path.resolve() for path in self.sources)], _COMPILE, folder)

    def _linked(self, folder: Path) -> list[Path]:
        programs = [folder / source.stem for source in self.sources]
        for program in programs:
            self._run([self.gcc, "-o", program, program.with_suffix(".o"), "-lm"], _COMPILE)
        return programs

    def _printed(self, folder: Path, repeats: int) -> list[str]:
        try:
            return [self._run([program, str(repeats)], _RUN) for program in self._linked(folder)]
        except EvaluationFailed:
            return []

    def _run(self, arguments: Sequence[str | Path], seconds: float, folder: Path | None = None) -> str:
        try:
            done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=seconds)
        except FileNotFoundError as error:
            raise SystemExit(f"{arguments[0]} was not found: install GCC and binutils") from error
        except subprocess.TimeoutExpired as error:
            raise EvaluationFailed(
                f"{os.fspath(arguments[0])} took longer than {seconds:g} seconds"
            ) from error
        if done.returncode != 0:
            raise EvaluationFailed(
                f"{os.fspath(arguments[0])} failed ({done.returncode}): {done.stderr[:200]}"
            )
        return done.stdout


def _cpu() -> float:
    """CPU seconds of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
