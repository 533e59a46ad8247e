"""What a workload costs with some indexes, by what the planner says; nothing is kept in the database."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from experiments.gallery.indexes.candidates import Index


class Planner:
    """Costs of a workload with subsets of candidate indexes, by ``EXPLAIN``.

    :func:`open_planner` makes one, and all candidates; those that are not in a subset are dropped for a
    moment. The cost of a query depends on the indexes of its tables only, so what is known for these is not
    asked for again.
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

    def cost(self, chosen: Iterable[int]) -> float:
        """The planner's cost of the whole workload with these of the candidates."""
        subset = frozenset(chosen)
        keys = [(query, subset & relevant) for query, relevant in enumerate(self._relevant)]
        unknown = [key for key in keys if key not in self._known]
        if unknown:
            others = [index.name for number, index in enumerate(self.indexes) if number not in subset]
            with self._without(others):
                for key in unknown:
                    self._known[key] = self._explained(self.queries[key[0]])
        return sum(self._known[key] for key in keys)

    def size(self, chosen: Iterable[int]) -> int:
        """Bytes that these of the candidates take."""
        return sum(self.sizes[number] for number in chosen)

    def _explained(self, query: str) -> float:
        row = self.connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()
        assert row is not None
        return float(row[0][0]["Plan"]["Total Cost"])

    @contextmanager
    def _without(self, others: Sequence[str]) -> Iterator[None]:
        """Within the context the indexes of these names do not exist."""
        with self.connection.transaction(force_rollback=True):
            if others:
                names = ", ".join(f'"{name}"' for name in others)
                self.connection.execute(f"DROP INDEX {names}")
            yield


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
