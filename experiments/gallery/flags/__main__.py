"""``python -m experiments.gallery.flags``: choose GCC's flags for small or fast programs."""

import argparse
import math
import shlex
import sys
from pathlib import Path

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.flags import COUNTS, DIGITS
from experiments.gallery.flags.compiler import Compiler
from experiments.gallery.flags.methods import METHODS
from experiments.gallery.flags.space import LEVELS, PLACES, command, preset

_TITLE = "size of four programs compiled by GCC, 60 choices"


class Measured:
    """The reward of chosen flags; an instance can be sent to other processes."""

    def __init__(self, compiler: Compiler, measure: str) -> None:
        self.compiler, self.measure = compiler, measure

    def __call__(self, chosen: dict[str, str]) -> float:
        """The reward of the chosen options."""
        return self.of(command(chosen))

    def of(self, arguments: list[str]) -> float:
        """Minus the logarithm of bytes or seconds: a flag changes them by a factor."""
        measured = self.compiler.size if self.measure == "size" else self.compiler.seconds
        return -math.log(measured(arguments))

    def identity(self) -> str:
        """A run belongs to one measure, one compiler and one version of the programs."""
        texts = [source.read_text() for source in self.compiler.sources]
        return f"{self.measure} {self.compiler.version} {frame.digest(texts)}"

    def shown(self, reward: float) -> str:
        """A reward as a practitioner reads it."""
        measured = math.exp(-reward)
        return f"{measured:.0f} bytes" if self.measure == "size" else f"{1000 * measured:.2f} ms"


def main() -> int:
    """Read the arguments, search or compare; returns the exit code."""
    options = _options()
    sources = [Path(source) for source in options.programs]
    compiler = Compiler(sources) if sources else Compiler()
    print(f"{compiler.version}; programs: {', '.join(source.stem for source in compiler.sources)}")
    if not compiler.expected:  # a program that does not work without optimisation is refused here
        raise SystemExit("there are no programs to compile")
    return (_compare if options.action == "compare" else _run)(compiler, options)


def _options() -> argparse.Namespace:
    about = "Choose a level and flags of GCC for small or fast programs."
    parser = frame.parser("flags", about, 200, small=6)
    parser.add_argument(
        "--measure",
        choices=("size", "time"),
        default="size",
        help="bytes of code, which is exact, or CPU time, which is noisy (default: %(default)s)",
    )
    parser.add_argument(
        "--programs",
        nargs="+",
        default=[],
        metavar="FILE.c",
        help="programs of yours that print their result",
    )
    return frame.parsed(parser, None)


def _run(compiler: Compiler, options: argparse.Namespace) -> int:
    measured, folder = Measured(compiler, options.measure), options.out
    result = frame.solve(
        ds.search,
        ds.problems.Choices(PLACES, reward=measured),
        options,
        noisy=options.measure == "time",
        start=[preset(level, compiler.enabled(level)) for level in reversed(LEVELS)],
        on_error="skip",
    )
    if result is None:
        return 130
    if result.best_reward is None:
        print("every evaluation failed; the warnings above say why", file=sys.stderr)
        return 1
    print(f"best of {len(result.history)} evaluations: {measured.shown(result.best_reward)}")
    for level in LEVELS:
        print(f"  {level} alone: {measured.shown(measured.of([level]))}")
    line = shlex.join(command(result.best_state))
    (folder / "flags.txt").write_text(line + "\n")
    print(f"{line}\nwrote {folder / 'flags.txt'}; use it as: gcc @{folder / 'flags.txt'} FILE.c")
    return 0


def _compare(compiler: Compiler, options: argparse.Namespace) -> int:
    measured = Measured(compiler, "size")
    contest = frame.Contest(METHODS, measured.of, options.budget, shown=lambda reward: math.exp(-reward))
    runs = frame.compare([contest], options.seeds, options.jobs)
    levels = {level: compiler.size([level]) for level in LEVELS}
    about = {"compiler": compiler.version, "budget": options.budget, "levels": levels}
    panel = frame.Panel(_TITLE, "bytes, best so far", runs, {"-Os": levels["-Os"]})
    frame.report(options.out, runs, frame.table(runs, COUNTS, DIGITS), [panel], about)
    print("alone:", ", ".join(f"{level} {size} bytes" for level, size in levels.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
