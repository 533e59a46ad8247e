"""What several commands share: types of arguments, checks, and how an error is printed."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget
from dagsearch._internal.texts import shown

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``ArgumentParser.add_subparsers`` returns: a command adds its parser there."""


def positive(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not is_budget(number):
        limit = f" of at most {LARGEST_WHOLE}" if number > LARGEST_WHOLE else ""
        raise argparse.ArgumentTypeError(f"must be a positive whole number{limit}, got {shown(text)}")
    return number


def seconds(text: str) -> float:
    """A positive, finite number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text!r}")
    return number


def check_folder(folder: Path) -> None:
    """Create the folder, and raise ``OSError`` before the work starts if it is not writable."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"--out: {folder} is a file; give the name of a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(f"--out: no files can be written to the folder {folder} ({reason})") from error


def check_output(folder: Path, names: Sequence[str], force: bool) -> None:
    """Check the folder, and raise ``OSError`` if one of the files is there and ``force`` is not given."""
    check_folder(folder)
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(
            f"--out: {folder / there[0]} exists; give another folder, or --force to replace it"
        )


def failed(command: str, error: Exception) -> int:
    """Print the error; returns the exit code for bad input."""
    print(f"dagsearch {command}: error:", "\n".join(map(printable, str(error).splitlines())), file=sys.stderr)
    return 1


def printable(text: str) -> str:
    """The text, with every character escaped that could move the cursor or control the terminal otherwise."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
