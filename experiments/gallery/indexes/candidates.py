"""The workload, and the indexes that may help it."""

import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

WORKLOAD = Path(__file__).with_name("workload.sql")

_COMMENT = re.compile(r"--[^\n]*")
_TEXT = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[a-z_][a-z_0-9$]*")
# What follows these words is compared, joined, grouped or sorted; what follows SELECT is only returned.
_CLAUSE = re.compile(r"\b(select|from|where|on|group by|order by|having|limit)\b")
_USED = {"where", "on", "group by", "order by"}


class Index(NamedTuple):
    """An index that could be made."""

    table: str
    """The table's name."""
    columns: tuple[str, ...]
    """Its columns; their order matters."""

    @property
    def name(self) -> str:
        """A name that says what the index holds."""
        return "_".join((self.table, *self.columns, "idx"))[:63]

    @property
    def statement(self) -> str:
        """The SQL that makes the index."""
        columns = ", ".join(f'"{column}"' for column in self.columns)
        return f'CREATE INDEX "{self.name}" ON "{self.table}" ({columns})'


def read_workload() -> list[str]:
    """The queries of the workload, which are separated by semicolons."""
    queries = [query.strip() for query in _COMMENT.sub("", WORKLOAD.read_text()).split(";")]
    return [query for query in queries if query]


def candidates(connection: psycopg.Connection[Any], queries: Sequence[str]) -> list[Index]:
    """Indexes on one column or an ordered pair of columns, from the columns that a query uses together.

    The first column is compared, joined, grouped or sorted by in some query; the second may also be one that
    the same query only returns, so that the table itself need not be read. Indexes that a primary key or
    another index already provides are left out.
    """
    columns, existing = _columns(connection), _existing(connection)
    found: dict[Index, None] = {}
    for query in queries:
        used, mentioned = _used_words(query), set(_WORD.findall(_TEXT.sub("", query.lower())))
        for table, names in columns.items():
            if table not in mentioned:
                continue
            first = [name for name in names if name in used]
            found |= dict.fromkeys(Index(table, (name,)) for name in first)
            found |= dict.fromkeys(Index(table, pair) for pair in permutations(first, 2))
    return [index for index in sorted(found) if not _provided(index, existing)]


def _used_words(query: str) -> set[str]:
    """The words of the clauses that compare, join, group or sort."""
    parts = _CLAUSE.split(_TEXT.sub("", query.lower()))
    clauses = zip(parts[1::2], parts[2::2], strict=True)
    return {word for clause, text in clauses if clause in _USED for word in _WORD.findall(text)}


def _columns(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """The columns of every table, in their order."""
    found: dict[str, list[str]] = {}
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
        "ORDER BY table_name, ordinal_position"
    ):
        found.setdefault(table, []).append(column)
    return found


def _existing(connection: psycopg.Connection[Any]) -> list[Index]:
    """The indexes that there are: those of primary keys."""
    rows = connection.execute("SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'")
    return [Index(table, tuple(made.partition("(")[2].rstrip(")").split(", "))) for table, made in rows]


def _provided(index: Index, existing: Sequence[Index]) -> bool:
    size = len(index.columns)
    return any(one.table == index.table and one.columns[:size] == index.columns for one in existing)
