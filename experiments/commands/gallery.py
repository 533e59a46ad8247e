"""``python -m experiments gallery``: the applications in the folder ``gallery`` of the repository."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dagsearch.cli.common import failed

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

_BESIDE_SOURCES = Path(__file__).parents[3] / "gallery"


def add_parser(commands: "Commands") -> None:
    """Add ``gallery``."""
    gallery = commands.add_parser(
        "gallery",
        help="list the applications of the gallery and how each is started",
        description=(
            "List the applications in the folder gallery of the repository, and how each is started. The "
            "folder is looked for in the current folder, then beside the sources of dagsearch."
        ),
    )
    gallery.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the list; returns the exit code."""
    folder = next((path for path in (Path("gallery"), _BESIDE_SOURCES) if _applications(path)), None)
    if folder is None:
        missing = "there is no folder 'gallery' here: run this in a clone of the repository"
        return failed("gallery", FileNotFoundError(missing))
    for readme in _applications(folder):
        title, summary = described(readme)
        print(f"{title}\n  {summary}\n  start:   python -m experiments.gallery.{readme.parent.name}")
        print(f"  compare: python -m experiments.gallery.{readme.parent.name} compare\n")
    print(f"Run these in {folder.resolve().parent}, after: python -m pip install '.[gallery]'")
    return 0


def _applications(folder: Path) -> list[Path]:
    """The READMEs of the applications in a folder: those of its packages that can be run."""
    return [
        main.parent / "README.md"
        for main in sorted(folder.glob("*/__main__.py"))
        if (main.parent / "README.md").exists()
    ]


def described(readme: Path) -> tuple[str, str]:
    """Title and first paragraph of a README, each on one line."""
    title, paragraph = re.split(r"\n\s*\n", readme.read_text().strip(), maxsplit=2)[:2]
    return title.lstrip("# "), " ".join(paragraph.split())
