"""``dagsearch export`` and ``dagsearch import``: a run as lines of JSON, and back."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from dagsearch.cli.common import Commands, add_run, failed, opened_run, printable
from dagsearch.errors import StorageError


def add_parser(commands: Commands) -> None:
    """Add ``export`` and ``import``."""
    export = commands.add_parser(
        "export",
        help="write a stored search as lines of JSON",
        description=(
            "Write a run as lines of JSON: one for its settings, then one for each event. Every event is "
            "checked. The search may still run."
        ),
    )
    add_run(export)
    export.add_argument("--out", type=Path, metavar="FILE", help="new file (default: standard output)")
    export.set_defaults(run=run)
    back = commands.add_parser(
        "import",
        help="store a search that was exported",
        description="Store the lines that 'dagsearch export' wrote as a new run, which can be resumed.",
    )
    back.add_argument("file", metavar="FILE", type=Path, help="file that was exported")
    back.add_argument("storage", metavar="STORAGE", help="file, or postgresql://…")
    back.add_argument("--name", help="name of the new run (default: as before)")
    back.set_defaults(run=run_import)


def run(options: argparse.Namespace) -> int:
    """Write the lines; returns the exit code."""
    from dagsearch.storage.transfer import exported

    try:
        with opened_run(options) as (database, header):
            lines = exported(database, header)
            if options.out is None:
                for line in lines:
                    print(line)
                return 0
            count = _write(lines, options.out)
    except StorageError as error:
        return failed("export", error)
    except OSError as error:
        if options.out is None:  # it is the output that cannot be written
            raise
        return failed("export", error)
    print(f"wrote {count - 1} events to {printable(str(options.out))}")
    return 0


def _write(lines: Iterable[str], out: Path) -> int:
    """Write lines to a new file; returns their number."""
    count = 0
    try:
        with out.open("x", encoding="utf-8") as file:
            for count, line in enumerate(lines, start=1):  # noqa: B007
                file.write(f"{line}\n")
    except FileExistsError as error:
        raise FileExistsError(f"--out: {out} exists already; give another name") from error
    except StorageError:  # half of a run is no run
        out.unlink()
        raise
    return count


def run_import(options: argparse.Namespace) -> int:
    """Store the lines; returns the exit code."""
    from dagsearch.storage.transfer import imported

    try:
        header, events, where = imported(options.storage, _lines(options.file), options.name)
    except (StorageError, OSError) as error:
        return failed("import", error)
    print(f"stored {events} events as run {header.name!r} of {printable(where)}")
    return 0


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise StorageError(f"{file} is not an exported run ({error})") from error
