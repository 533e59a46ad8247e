"""What a workload costs with some indexes, by what the planner says; nothing is kept in the database."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from experiments.gallery.indexes.candidates import Index


class Planner:
    """Costs of a workload with subsets of candidate indexes, by ``EXPLAIN``.

    :func:`real_indexes` and :func:`hypothetical_indexes` make one. The cost of a query depends on the indexes
    of its tables only, so what is known for these is not asked for again.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], queries: Sequence[str], indexes: Sequence[Index]
    ) -> None:
        self.connection, self.queries, self.indexes = connection, list(queries), list(indexes)
        words = [set(re.findall(r"[a-z_0-9$]+", query.lower())) for query in queries]
        self._relevant = [
            frozenset(number for number, index in enumerate(indexes) if index.table in mentioned)
            for mentioned in words
        ]
        self._known: dict[tuple[int, frozenset[int]], float] = {}
        self.sizes: list[int] = []
        """Bytes that each index takes."""

    how = ""
    """How indexes are made, in words."""

    def forget(self) -> None:
        """Forget all costs, so that the next run has to ask for them again."""
        self._known.clear()

    def cost(self, chosen: Iterable[int]) -> float:
        """The planner's cost of the whole workload with these of the candidates."""
        subset = frozenset(chosen)
        keys = [(query, subset & relevant) for query, relevant in enumerate(self._relevant)]
        unknown = [key for key in keys if key not in self._known]
        if unknown:
            with self.present(subset):
                for key in unknown:
                    self._known[key] = self._explained(self.queries[key[0]])
        return sum(self._known[key] for key in keys)

    def _explained(self, query: str) -> float:
        row = self.connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()
        assert row is not None
        return float(row[0][0]["Plan"]["Total Cost"])

    @contextmanager
    def present(self, subset: frozenset[int]) -> Iterator[None]:
        """Within the context, the database has these indexes and none of the other candidates."""
        raise NotImplementedError
        yield


class _Real(Planner):
    """All candidates exist in a transaction that is never committed; the others are dropped for a moment."""

    how = "indexes are built in a transaction that is rolled back"

    @contextmanager
    def present(self, subset: frozenset[int]) -> Iterator[None]:
        others = [index.name for number, index in enumerate(self.indexes) if number not in subset]
        with self.connection.transaction(force_rollback=True):
            if others:
                names = ", ".join(f'"{name}"' for name in others)
                self.connection.execute(f"DROP INDEX {names}")
            yield


class _Hypothetical(Planner):
    """Indexes that only HypoPG knows: nothing is built."""

    how = "hypothetical indexes of HypoPG"

    @contextmanager
    def present(self, subset: frozenset[int]) -> Iterator[None]:
        self.connection.execute("SELECT hypopg_reset()")
        for number in sorted(subset):
            self.connection.execute("SELECT hypopg_create_index(%s)", (self.indexes[number].statement,))
        yield
        self.connection.execute("SELECT hypopg_reset()")


@contextmanager
def open_planner(
    connection: psycopg.Connection[Any], queries: Sequence[str], indexes: Sequence[Index]
) -> Iterator[Planner]:
    """A planner by HypoPG where the server has it, otherwise by indexes that are really built.

    These are built in a transaction that is rolled back at the end. It locks the tables of the workload, so
    do not let a database that others use do this without HypoPG.
    """
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'hypopg'").fetchone():
        planner: Planner = _Hypothetical(connection, queries, indexes)
        for number in range(len(indexes)):
            with planner.present(frozenset({number})):
                planner.sizes.append(
                    _one(connection, "SELECT sum(hypopg_relation_size(indexrelid)) FROM hypopg()")
                )
        connection.rollback()
        yield planner
        return
    connection.rollback()
    with connection.transaction(force_rollback=True):
        planner = _Real(connection, queries, indexes)
        for index in indexes:
            connection.execute(index.statement)
            planner.sizes.append(_one(connection, f"SELECT pg_relation_size('\"{index.name}\"')"))
        yield planner


def _one(connection: psycopg.Connection[Any], query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])
