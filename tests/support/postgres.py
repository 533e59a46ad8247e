"""A real PostgreSQL for tests, and storage in either of the two kinds of database."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes an empty schema of one server, which the programs of ``pgserver`` run; returns its URL."""
    import psycopg

    from experiments.gallery.indexes.server import embedded

    with embedded() as address:
        numbers = count(1)

        def fresh() -> str:
            name = f"test{next(numbers)}"
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA {name}")
            return f"{address}&options=-csearch_path%3D{name}"

        yield fresh


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes new storage, in each of the two kinds of database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres")
    numbers = count(1)
    return lambda: str(tmp_path / f"run{next(numbers)}.db")


@pytest.fixture
def storage(fresh: Callable[[], str]) -> str:
    """New storage, in each of the two kinds of database."""
    return fresh()
