"""``python -m experiments gallery NAME``: one application of the gallery; without a name, all of them.

An application is a module of this folder with ``ABOUT``, ``BUDGET``, ``SMALL`` (the largest budget of a small
version), ``options(parser)``, ``run(options)``, ``compare(options)`` and ``table(runs)``.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(readme.parent.name for readme in FOLDER.glob("*/README.md"))


def main(arguments: Sequence[str]) -> int:
    """Run an application; returns the exit code."""
    if not arguments or arguments[0] not in NAMES:
        print(listed())
        return 2 if arguments else 0
    name, *given = arguments
    application = import_module(f"experiments.gallery.{name}")
    parser = argparse.ArgumentParser(f"python -m experiments gallery {name}", description=application.ABOUT)
    _shared_options(parser, name, application.BUDGET)
    application.options(parser)
    options = parser.parse_args(given)
    if options.small:
        options.budget = min(options.budget, application.SMALL)
    options.seeds = options.seeds or (1 if options.small else 5)
    if options.out is None:
        options.out = Path(f"{name}-run") if options.action == "run" else FOLDER / name
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        getattr(application, options.action)(options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def listed() -> str:
    """The applications, and how each is started."""
    lines = []
    for name in NAMES:
        text = (FOLDER / name / "README.md").read_text().strip()
        title, summary = re.split(r"\n\s*\n", text, maxsplit=2)[:2]
        start = f"python -m experiments gallery {name}"
        lines += [title.lstrip("# "), "  " + " ".join(summary.split())]
        lines += [f"  start:   {start}", f"  compare: {start} compare", ""]
    return "\n".join([*lines, "They need: python -m pip install '.[gallery]', in a clone."])


def _shared_options(parser: argparse.ArgumentParser, name: str, budget: int) -> None:
    add = parser.add_argument
    add("action", nargs="?", choices=("run", "compare"), default="run", help="what to do (default: run)")
    add("--budget", type=int, default=budget, help="evaluations (default: %(default)s)")
    add("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    add("--seeds", type=int, help="runs of each method compared (default: 5; small: 1)")
    add("--small", action="store_true", help="a small version, which takes seconds")
    add("--fresh", action="store_true", help="delete an earlier run first")
    where = f"{name}-run; for compare: experiments/gallery/{name}"
    add("--out", type=Path, metavar="DIR", help=f"folder to write to (default: {where})")
    add("--jobs", type=int, default=1, help="evaluations, or compared runs, at the same time (default: 1)")
