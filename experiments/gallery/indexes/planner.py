"""The workload, its candidate indexes, and its cost with some of them according to the planner."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

_COMMENT = re.compile(r"--[^\n]*")
_TEXT = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[a-z_][a-z_0-9$]*")
# Columns after these words are compared, joined, grouped or sorted; columns after SELECT are only returned.
_CLAUSE = re.compile(r"\b(select|from|where|on|group by|order by|having|limit)\b")
_USED = {"where", "on", "group by", "order by"}


class Index(NamedTuple):
    """A candidate index."""

    table: str
    """The table's name."""
    columns: tuple[str, ...]
    """Its columns; their order matters."""

    @property
    def name(self) -> str:
        """A name that describes the index."""
        return "_".join((self.table, *self.columns, "idx"))[:63]

    @property
    def statement(self) -> str:
        """The SQL statement that creates the index."""
        columns = ", ".join(f'"{column}"' for column in self.columns)
        return f'CREATE INDEX "{self.name}" ON "{self.table}" ({columns})'


def read_workload() -> list[str]:
    """The queries of the workload, separated by semicolons."""
    text = Path(__file__).with_name("workload.sql").read_text()
    return [query.strip() for query in _COMMENT.sub("", text).split(";") if query.strip()]


def candidates(connection: psycopg.Connection[Any], queries: Sequence[str]) -> list[Index]:
    """Indexes on one column or an ordered pair of columns, from the columns that a query uses together.

    Both columns are compared, joined, grouped or sorted by in the same query. Indexes that a primary key
    already provides are left out.
    """
    columns = defaultdict[str, list[str]](list)
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
        "ORDER BY table_name, ordinal_position"
    ):
        columns[table].append(column)
    rows = connection.execute("SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'")
    existing = [(table, made.partition("(")[2].rstrip(")").split(", ")) for table, made in rows]
    found = set[Index]()
    for query in queries:
        parts = _CLAUSE.split(_TEXT.sub("", query.lower()))
        clauses = zip(parts[1::2], parts[2::2], strict=True)
        used = {word for clause, text in clauses if clause in _USED for word in _WORD.findall(text)}
        mentioned = set(_WORD.findall(" ".join(parts)))
        for table in columns.keys() & mentioned:
            first = [name for name in columns[table] if name in used]
            found.update(Index(table, names) for size in (1, 2) for names in permutations(first, size))
    return sorted(
        index
        for index in found
        if not any(
            index.table == table and list(index.columns) == names[: len(index.columns)]
            for table, names in existing
        )
    )


class Planner:
    """Costs of a workload with subsets of candidate indexes, by ``EXPLAIN``.

    :func:`open_planner` creates it and all candidates; candidates outside a subset are dropped temporarily.
    The cost of a query depends only on the indexes of its tables, so it is looked up if these are the same
    as before.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], queries: Sequence[str], indexes: Sequence[Index]
    ) -> None:
        self.connection, self.queries, self.indexes = connection, list(queries), list(indexes)
        words = [set(_WORD.findall(query.lower())) for query in queries]
        self._relevant = [
            frozenset(number for number, index in enumerate(indexes) if index.table in mentioned)
            for mentioned in words
        ]
        self._known: dict[tuple[int, frozenset[int]], float] = {}
        self.sizes: list[int] = []
        """Size of each index in bytes."""

    def cost(self, chosen: Iterable[int]) -> float:
        """The planner's cost of the whole workload with these candidates."""
        subset = frozenset(chosen)
        keys = [(query, subset & relevant) for query, relevant in enumerate(self._relevant)]
        unknown = [key for key in keys if key not in self._known]
        if unknown:
            others = [f'"{index.name}"' for number, index in enumerate(self.indexes) if number not in subset]
            with self.connection.transaction(force_rollback=True):
                if others:
                    self.connection.execute(f"DROP INDEX {', '.join(others)}")
                for key in unknown:
                    row = self.connection.execute(f"EXPLAIN (FORMAT JSON) {self.queries[key[0]]}").fetchone()
                    assert row is not None
                    self._known[key] = float(row[0][0]["Plan"]["Total Cost"])
        return sum(self._known[key] for key in keys)

    def fits(self, chosen: Iterable[int], storage: float) -> bool:
        """Whether these candidates take at most ``storage`` bytes."""
        return sum(self.sizes[number] for number in chosen) <= storage


@contextmanager
def open_planner(
    connection: psycopg.Connection[Any], queries: Sequence[str], indexes: Sequence[Index]
) -> Iterator[Planner]:
    """A planner; its indexes are built in a transaction that is rolled back at the end."""
    connection.rollback()
    with connection.transaction(force_rollback=True):
        planner = Planner(connection, queries, indexes)
        for index in indexes:
            connection.execute(index.statement)
            row = connection.execute(f"SELECT pg_relation_size('\"{index.name}\"')").fetchone()
            assert row is not None
            planner.sizes.append(int(row[0]))
        yield planner
