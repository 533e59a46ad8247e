"""Markdown tables and their places in pages."""

import re
from collections.abc import Mapping, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def aligned(table: str) -> str:
    """A Markdown table as text in columns, for a terminal."""
    lines = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in table.splitlines()]
    del lines[1]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def filled(text: str, parts: Mapping[str, str]) -> str:
    """A page with its parts, each between ``<!-- its name -->`` and ``<!-- end -->``.

    Parts without a place on the page are left out; a place without a part is an error.
    """

    def part(place: re.Match[str]) -> str:
        return f"<!-- {place[1]} -->\n\n{parts[place[1]]}\n\n<!-- end -->"

    return re.sub(r"<!-- (\w+) -->.*?<!-- end -->", part, text, flags=re.DOTALL)
