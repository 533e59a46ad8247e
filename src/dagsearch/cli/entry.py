"""``dagsearch COMMAND``: reads the arguments and runs one command.

A command is a module with a function ``add_parser(commands)``. It adds the command's parser, with a default
``run``; ``run(options)`` returns the exit code. Other packages add commands by entry points of the group
``dagsearch.commands`` that name such a module. All of these modules are imported for ``--help``, so slow
imports belong inside ``run``.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from dagsearch import __version__
from dagsearch.cli import backup, demo, example, play, report, resume, select, show, watch

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

GROUP = "dagsearch.commands"
"""Entry points of this group are commands, too."""


class Command(Protocol):
    """A module that adds one command."""

    def add_parser(self, commands: "Commands") -> None:
        """Add the command's parser, with ``run`` among its defaults."""


_OWN: tuple[Command, ...] = (demo, example, select, show, watch, report, resume, backup, play)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``dagsearch``; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        return 141  # the shell's code for a process that wrote to a closed pipe
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130  # the shell's code for a process that Ctrl-C ended


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsearch",
        description="Find the best sequence of discrete choices when evaluating one outcome is expensive.",
        epilog="Run 'dagsearch COMMAND --help' for a command's options.",
    )
    parser.add_argument("--version", action="version", version=f"dagsearch {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in (*_OWN, *_installed()):
        command.add_parser(commands)
    return parser


def _installed() -> list[Command]:
    """The commands of other packages, in alphabetical order."""
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return [point.load() for point in found]
