"""Shared by several commands: arguments, their types, and safe text for a terminal."""

import argparse
import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from dagsearch._internal.checks import is_budget

if TYPE_CHECKING:
    from dagsearch.storage.database import Database, Header

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The result of ``ArgumentParser.add_subparsers``, to which a command adds its parser."""


def add_run(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """Add the arguments that name a stored run, or ``several``."""
    name, nargs = ("storages", "+") if several else ("storage", None)
    parser.add_argument(name, nargs=nargs, metavar="RUN", help="file with the run, or postgresql://…")
    add_name(parser)


def add_name(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a run."""
    parser.add_argument("--name", help="name of the run, if the database has several")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the option of a command that draws random numbers."""
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")


@contextmanager
def opened_run(options: argparse.Namespace) -> "Iterator[tuple[Database, Header]]":
    """The run that the options name, for reading; raises ``StorageError`` if it does not exist."""
    from dagsearch.storage.database import database_of

    with closing(database_of(options.storage)) as database:
        yield database, database.run(options.name)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not is_budget(number := int(text)):
        raise argparse.ArgumentTypeError(f"must be a positive whole number, got {text!r}")
    return number


def printable(text: str) -> str:
    """The text with every character escaped that could move the cursor or otherwise control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def imported(option: str, path: str) -> Any:
    """The object at ``package.module:name`` or ``package.module.name``, the value of an option.

    A module in the current folder is found if no installed module has its name.
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # permanently: worker processes import the module, too
    try:
        return pkgutil.resolve_name(path)
    except Exception as error:  # a user's script may fail in any way
        raise ValueError(f"{option} {path} cannot be imported ({type(error).__name__}: {error})") from error
