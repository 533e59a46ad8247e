"""``python -m experiments.gallery.text``: the most probable continuation of a prompt, or the comparison."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.text import OURS, RUNS_PER_PROMPT, WIDTHS, Curves, beam, table
from experiments.gallery.text.methods import Calls, budget, methods
from experiments.gallery.text.model import CharacterModel
from experiments.gallery.text.problem import Continuation
from experiments.harness.drawing import figure

PROMPTS = Path(__file__).with_name("prompts.txt").read_text().splitlines()
"""Beginnings of titles."""
_SHORTEST, _LONGEST = 16, 32


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    about = "Find the most probable continuation of a text."
    parser = frame.parser("text", about, 200, small=40)
    parser.add_argument("--prompt", default=PROMPTS[0], help="how the text begins (default: %(default)s)")
    parser.add_argument(
        "--length", type=int, default=_SHORTEST, help="characters to add (default: %(default)s)"
    )
    options = frame.parsed(parser, arguments)
    if options.length < 2:
        parser.error(f"--length must be at least 2, got {options.length}")
    return (_compare if options.action == "compare" else _run)(options)


def _run(options: argparse.Namespace) -> int:
    problem = Continuation(options.prompt, options.length, CharacterModel())
    result = frame.solve(ds.search, problem, options)
    if result is None:
        return 130
    if result.best_state is None:
        print("no text is complete yet: give a larger --budget", file=sys.stderr)
        return 1
    found = problem.prompt + problem.whole(result.best_state)
    print(f"log-likelihood {result.best_reward:.3f} after {1 + len(result.history)} calls of the model")
    print(found)
    (options.out / "text.txt").write_text(found + "\n")
    return 0


def contests(model: CharacterModel, small: bool) -> list[frame.Contest]:
    """Every prompt with all methods; the lengths go from 16 to 32."""
    made = []
    for number, prompt in list(enumerate(PROMPTS))[: 2 if small else None]:
        length = 6 if small else _SHORTEST + number * (_LONGEST - _SHORTEST) // (len(PROMPTS) - 1)
        problem = Continuation(prompt, length, model)
        compared = methods(problem)
        made.append(
            frame.Contest(
                compared,
                Calls(problem),
                {name: budget(name, length) for name in compared},
                first=RUNS_PER_PROMPT * number,
            )
        )
    return made


def _compare(options: argparse.Namespace) -> int:
    model = CharacterModel()
    runs = frame.compare(contests(model, options.small), options.seeds, options.jobs)
    about = {
        "what": "log-likelihood after each call of the model; number of a run = 100 × prompt + seed",
        "lengths": [_SHORTEST, _LONGEST],
        "prompts": len(PROMPTS),
    }
    frame.write(options.out, runs, about, ["textgenrnn", "ults", "torch"])
    _draw(options.out / "comparison.png", runs)
    frame.publish(options.out, table(runs))
    return 0


def _draw(path: Path, runs: Sequence[frame.Run]) -> None:
    """Mean log-likelihoods of the beams, and ours after as many calls."""
    curves, drawn = Curves(runs), figure(7.0, 4.2)
    axes = drawn.subplots()
    names = [beam(width) for width in WIDTHS]
    calls = [curves.mean_calls(name) for name in names]
    axes.plot(
        calls, [curves.final(name) for name in names], "o-", color=frame.COLOURS[1], label="beams of 1 to 20"
    )
    ours = np.array([curves.after(1.0, name) for name in names])
    known = np.isfinite(ours)
    axes.plot(np.array(calls)[known], ours[known], "o-", color=frame.COLOURS[0], label=OURS)
    axes.set(
        xlabel="calls of the model", ylabel="mean log-likelihood", title="The most probable text, 50 prompts"
    )
    axes.legend()
    drawn.savefig(path, dpi=130)


if __name__ == "__main__":
    sys.exit(main())
