"""The command line: one module per command."""

from dagsearch.cli.entry import main

__all__ = ["main"]
