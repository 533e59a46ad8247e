"""``python -m experiments gallery``: the applications in the folder ``experiments/gallery``."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

FOLDER = Path(__file__).parents[1] / "gallery"


def add_parser(commands: "Commands") -> None:
    """Add ``gallery``."""
    about = "list the applications of the gallery and how each is started"
    commands.add_parser("gallery", help=about, description=about).set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the list; returns the exit code."""
    for readme in sorted(FOLDER.glob("*/README.md")):
        title, summary = described(readme)
        start = f"python -m experiments.gallery.{readme.parent.name}"
        print(f"{title}\n  {summary}\n  start:   {start}\n  compare: {start} compare\n")
    print(f"Run these in {FOLDER.parents[1]}, after: python -m pip install '.[gallery]'")
    return 0


def described(readme: Path) -> tuple[str, str]:
    """Title and first paragraph of a README, each on one line."""
    title, paragraph = re.split(r"\n\s*\n", readme.read_text().strip(), maxsplit=2)[:2]
    return title.lstrip("# "), " ".join(paragraph.split())
