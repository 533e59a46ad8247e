"""``dagsearch export`` and ``dagsearch import``: a run as lines of JSON, and back."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, add_run, opened_run


def add_parser(commands: Commands) -> None:
    """Add ``export`` and ``import``."""
    export = commands.add_parser(
        "export",
        help="write a stored search as lines of JSON",
        description=(
            "Write a run to standard output as lines of JSON: one for its settings, then one for each event. "
            "Every event is checked. The search may be running."
        ),
    )
    add_run(export)
    export.set_defaults(run=run)
    back = commands.add_parser(
        "import",
        help="store an exported search",
        description="Store the output of 'dagsearch export' as a new run, which can be resumed.",
    )
    back.add_argument("file", metavar="FILE", type=Path, help="exported file")
    back.add_argument("storage", metavar="STORAGE", help="file, or postgresql://…")
    back.add_argument("--name", help="name of the new run (default: the exported name)")
    back.set_defaults(run=run_import)


def run(options: argparse.Namespace) -> None:
    """Print the lines."""
    from dagsearch.storage.database import exported

    with opened_run(options) as (database, header):
        for line in exported(database, header):
            print(line)


def run_import(options: argparse.Namespace) -> None:
    """Store the lines."""
    from dagsearch.storage.database import imported

    lines = options.file.read_text(encoding="utf-8").splitlines()
    header, events, where = imported(options.storage, lines, options.name)
    print(f"stored {events} events as run {header.name!r} of {where}")
