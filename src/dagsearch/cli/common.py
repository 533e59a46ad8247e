"""What several commands share: arguments, their types, and safe text for a terminal."""

import argparse
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget
from dagsearch._internal.texts import shown
from dagsearch.errors import StorageError

if TYPE_CHECKING:
    from dagsearch.storage.database import Database, Header

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``ArgumentParser.add_subparsers`` returns: a command adds its parser there."""


def add_run(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """Add the arguments that name a stored run, or ``several``."""
    about: dict[str, Any] = {"metavar": "RUN", "help": "file with the run, or postgresql://…"}
    if several:
        parser.add_argument("storages", nargs="+", **about)
    else:
        parser.add_argument("storage", **about)
    _add_name(parser)


def add_storage(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that stores its run."""
    where = "store every evaluation in this file or at postgresql://…, or continue the run there"
    parser.add_argument("--storage", metavar="RUN", help=where)
    _add_name(parser)


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the run, if the database has several")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the option of a command that draws random numbers."""
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")


@contextmanager
def opened_run(options: argparse.Namespace) -> "Iterator[tuple[Database, Header]]":
    """The run that the options name, to be read; raises ``StorageError`` if there is no such run."""
    from dagsearch.report.runs import runs_in
    from dagsearch.storage.database import database_of

    with closing(database_of(options.storage)) as database:
        runs = runs_in(database, options.name)
        if len(runs) > 1:
            names = ", ".join(repr(one.name) for one in runs[:10])
            raise StorageError(f"{database.where} has several runs: name one of them with --name ({names})")
        yield database, runs[0]


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


def printable(text: str) -> str:
    """The text, with every character escaped that could move the cursor or control the terminal otherwise."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def imported(path: str) -> Any:
    """The object at ``package.module:name`` or ``package.module.name``; its module may raise any error.

    A module of the current folder is found if no installed module has its name. Only then the folder becomes
    part of the import path, at its end, so that files there never replace installed modules.
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    package = module.partition(".")[0]
    here = os.getcwd()
    in_folder = bool(package) and importlib.machinery.PathFinder.find_spec(package, [here]) is not None
    if in_folder and here not in sys.path:
        importlib.invalidate_caches()
        if package not in sys.modules and importlib.util.find_spec(package) is None:
            sys.path.append(here)  # it stays: worker processes import the module, too
    return getattr(importlib.import_module(module), name)
