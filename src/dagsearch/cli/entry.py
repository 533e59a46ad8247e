"""``dagsearch COMMAND``: reads the arguments and runs one command.

A command is a module with a function ``add_parser(commands)``. It adds the command's parser, with a default
``run``; ``run(options)`` returns the exit code. All of these modules are imported for ``--help``, so slow
imports belong inside ``run``.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol, TextIO

from dagsearch import __version__
from dagsearch._internal.hints import did_you_mean
from dagsearch.cli import demo, example, export, report, resume, select, show, watch

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands


class Command(Protocol):
    """A module that adds one command."""

    def add_parser(self, commands: "Commands") -> None:
        """Add the command's parser, with ``run`` among its defaults."""


_COMMANDS: tuple[Command, ...] = (demo, example, select, show, watch, report, resume, export)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``dagsearch``; returns the exit code."""
    about = "Find the best sequence of discrete choices when evaluating one outcome is expensive."
    return run_one_of(_COMMANDS, "dagsearch", about, arguments)


def run_one_of(commands: Sequence[Command], program: str, about: str, arguments: Sequence[str] | None) -> int:
    """Run the command that the arguments name; returns the exit code."""
    if sys.stdout is None or sys.stderr is None:  # the shell has closed it
        nowhere = open(os.devnull, "w")  # noqa: SIM115
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    options = _parsed(commands, program, about, arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as head, has had enough
        _discard(sys.stdout)
        return 141  # the shell's code for a process that wrote to a closed pipe
    except OSError as error:  # commands name the files that they cannot read or write; this is their output
        _discard(sys.stdout)
        try:
            print(
                f"{program} {options.command}: error: the output cannot be written ({error})", file=sys.stderr
            )
            sys.stderr.flush()
        except OSError:
            _discard(sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130  # the shell's code for a process that Ctrl-C ended


def _discard(stream: TextIO) -> None:
    """Let a stream that cannot be written to lose what Python flushes at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _parsed(
    commands: Sequence[Command], program: str, about: str, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """The options; ends the process if one is unknown, and says which was meant."""
    parser = argparse.ArgumentParser(
        prog=program, description=about, epilog=f"Run '{program} COMMAND --help' for a command's options."
    )
    parser.add_argument("--version", action="version", version=f"dagsearch {__version__}")
    named = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in commands:
        command.add_parser(named)
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] in named.choices:  # argparse would first ask for what is missing
        chosen = named.choices[given[0]]
        known = set(re.findall(r"--([\w-]+)", chosen.format_help()))
        options = [one.partition("=")[0] for one in takewhile(lambda one: one != "--", given)]
        for name in [one.removeprefix("--") for one in options if one.startswith("--")]:
            if not any(option.startswith(name) for option in known):
                chosen.error(
                    f"there is no option --{name}; {did_you_mean(name, known, 'see the usage above')}"
                )
    return parser.parse_args(given)
