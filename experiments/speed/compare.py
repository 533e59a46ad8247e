"""Compare the speed of two commits: ``python -m experiments.speed.compare OLD NEW``.

Both are checked out into a temporary folder, and each is measured by its own suite, which may use names that
the other commit does not have. Measurements with the same name are compared. The commits take turns: what
else the machine does slows down both. A ratio below 1 means that NEW is quicker, or smaller.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Where commits have their suite: the folder that Python imports it from, and its name there.
SUITES = (
    (".", "experiments.speed"),
    ("src", "dagsearch_experiments.speed"),
    ("src", "dagsearch.experiments.speed"),
)
# What runs in a minute or two on any commit; growth and kernel take long on slow ones.
USUAL = ("subsets", "tictactoe", "digits", "uct", "scaling")
MEASURE = """
import importlib
import sys
from pathlib import Path
suite, tree, out, size, *only = sys.argv[1:]
speed = importlib.import_module(suite)
assert Path(speed.__file__).is_relative_to(tree), speed.__file__
speed.run(only, quick=size == "quick", progress=False).write(Path(out))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both commits in turns and print the ratios."""
    options = _parser().parse_args(arguments)
    found: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        checked_out(options.old, Path(folder, "old")) as old,
        checked_out(options.new, Path(folder, "new")) as new,
    ):
        for repeat in range(options.repeats):
            turns = [("old", old), ("new", new)]
            for name, tree in turns if repeat % 2 == 0 else reversed(turns):
                print(f"{name}, repeat {repeat + 1} of {options.repeats}", file=sys.stderr, flush=True)
                found[name].append(measured(tree, Path(folder, "out"), options.only, options.quick))
    print(table(found["old"], found["new"], (options.old, options.new)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="a commit, branch or tag")
    parser.add_argument("new", metavar="NEW", help="another")
    parser.add_argument("--only", nargs="+", default=USUAL, help="measurements (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="of each commit (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small versions")
    return parser


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """A work tree of the commit."""
    _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        _git("worktree", "remove", "--force", str(folder))


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)


def suite(tree: Path) -> str:
    """The name of a commit's suite."""
    for folder, name in SUITES:
        if Path(tree, folder, *name.split(".")).is_dir():
            return name
    raise SystemExit(f"{tree.name.upper()} has none of {', '.join(name for _, name in SUITES)}")


def measured(tree: Path, out: Path, only: Sequence[str], quick: bool) -> dict[str, float]:
    """Every time and size that a tree's suite writes, by name."""
    places = os.pathsep.join(map(str, (tree / "src", tree)))
    environment = os.environ | {"PYTHONPATH": places, "OMP_NUM_THREADS": "1"}
    shutil.rmtree(out, ignore_errors=True)
    settings = [suite(tree), str(tree), str(out), "quick" if quick else "full", *only]
    subprocess.run([sys.executable, "-c", MEASURE, *settings], check=True, env=environment, cwd=out.parent)
    found: dict[str, float] = {}
    for path in sorted(out.glob("*.json")):
        about = json.loads(path.read_text())
        named = [*numbers(about["measured"]), *figures(about["figures"])]
        found |= {f"{path.stem}: {name}": value for name, value in named}
    return found


def numbers(measurements: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Milliseconds of a step, whole and by part, at every size that was measured."""
    if "ms" in measurements:
        yield "ms a step", measurements["ms"]
    for part, value in measurements.get("parts_ms", {}).items():
        yield f"ms of {part}", value
    for group, sizes in measurements.items():
        if isinstance(sizes, list) and sizes and isinstance(sizes[0], dict):
            for number, size in enumerate(sizes, start=1):
                for name, value in numbers(size):
                    yield f"{group}, size {number}, {name}", value


def figures(found: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """The figures, their reciprocals where larger is better."""
    for one in found:
        if one["value"] is not None and one["at_least"]:
            yield f"1 / {one['what']}", 1.0 / one["value"]
        elif one["value"] is not None:
            yield f"{one['what']}, {one['unit']}", one["value"]


def table(
    old: Sequence[Mapping[str, float]], new: Sequence[Mapping[str, float]], names: tuple[str, str]
) -> str:
    """Medians of both, the median of their ratios, and the ratio of every repeat."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for before, after in zip(old, new, strict=True):
        for name in before.keys() & after.keys():
            if before[name] > 0.0:
                ratios[name].append(after[name] / before[name])
    lines = [f"{'':76}{names[0][:10]:>11}{names[1][:10]:>11}{'ratio':>8}  by repeat"]
    for name in (name for name in old[0] if name in ratios):
        sides = [statistics.median(run[name] for run in runs if name in run) for runs in (old, new)]
        single = " ".join(f"{ratio:.2f}" for ratio in ratios[name])
        median = statistics.median(ratios[name])
        lines.append(f"{name[:75]:76}{sides[0]:11.4g}{sides[1]:11.4g}{median:8.2f}  {single}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
