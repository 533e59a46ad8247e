"""``dagsearch COMMAND``: reads the arguments and runs one command.

A command is a module with a function ``add_parser(commands)``. It adds the command's parser, with a default
``run``; ``run(options)`` raises an error for bad input, and may return an exit code. ``--help`` imports
all of these modules, so slow imports belong inside ``run``.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from dagsearch import __version__
from dagsearch.cli import demo, example, export, pages, resume, select, show
from dagsearch.cli.common import printable
from dagsearch.errors import DagSearchError
from dagsearch.report.progress import flush

# Extra packages of each command that needs more than the library.
_EXTRAS = {"demo": "sklearn", "example": "select", "select": "select", "watch": "watch"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``dagsearch``; returns the exit code."""
    options = _parser().parse_args(arguments)
    code = 0
    try:
        code = options.run(options) or 0
        print(end="", flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130  # the shell's code after Ctrl-C
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        code = 141  # the shell's code after writing to a closed pipe
    except (DagSearchError, ImportError, ValueError, OSError, OverflowError) as error:
        text = str(error)
        if isinstance(error, ModuleNotFoundError) and error.name and options.command in _EXTRAS:
            text += f": pip install 'dagsearch[{_EXTRAS[options.command]}]'"
        with suppress(OSError):
            text = printable(" ".join(text.split()))
            print(f"dagsearch {options.command}: error: {text}", file=sys.stderr)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        flush(stream)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsearch",
        description="Find the best sequence of discrete choices when evaluating one outcome is expensive.",
        epilog="Run 'dagsearch COMMAND --help' for a command's options.",
    )
    parser.add_argument("--version", action="version", version=f"dagsearch {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in (demo, example, select, show, pages, resume, export):
        command.add_parser(commands)
    return parser
