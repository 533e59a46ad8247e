"""Tables in pages: Markdown, and where it goes."""

from collections.abc import Mapping, Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def aligned(table: str) -> str:
    """A table in Markdown as text in columns, for a terminal."""
    lines = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in table.splitlines()]
    del lines[1]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def filled(text: str, parts: Mapping[str, str]) -> str:
    """A page with its parts, each between ``<!-- its name -->`` and ``<!-- end -->``.

    A part for which the page has no place is left out.
    """
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", "<!-- end -->"
        before, found, rest = text.partition(begin)
        if found:
            text = f"{before}{begin}\n\n{part}\n\n{end}{rest.partition(end)[2]}"
    return text


def put(page: Path, parts: Mapping[str, str]) -> None:
    """Write the parts into a page; raises ``ValueError`` if it has a place for none of them."""
    text = page.read_text(encoding="utf-8")
    if not any(f"<!-- {name} -->" in text for name in parts):
        places = ", ".join(f"<!-- {name} -->" for name in parts)
        raise ValueError(f"{page} has no place for a table: {places}, each with <!-- end -->")
    page.write_text(filled(text, parts), encoding="utf-8")
