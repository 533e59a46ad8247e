"""Tables in the pages of ``docs``: Markdown, and where it goes."""

from collections.abc import Mapping, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


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
