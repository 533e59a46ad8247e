"""The choice of indexes, with an embedded PostgreSQL that really runs."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import psycopg
import pytest

from experiments.gallery.indexes.data import load
from experiments.gallery.indexes.methods import methods, saving
from experiments.gallery.indexes.planner import Index, candidates, open_planner, read_workload
from experiments.gallery.indexes.server import embedded
from experiments.harness.evaluations import BudgetSpent, Evaluations

pytestmark = pytest.mark.slow

QUERIES = [
    "SELECT o_orderkey FROM orders WHERE o_custkey = 7 AND o_orderdate > '1996-01-01' ORDER BY o_orderdate",
    "SELECT count(*) FROM lineitem, part WHERE l_partkey = p_partkey AND p_brand = 'Brand#23' AND l_tax < 2",
]


@pytest.fixture(scope="module")
def address():
    with embedded() as own:
        with psycopg.connect(own) as connection:
            load(connection, scale=0.001)
        yield own


@pytest.fixture
def connection(address):
    with psycopg.connect(address) as connection:
        yield connection


def test_candidates_are_columns_that_a_query_uses_together_in_either_order(connection):
    found = candidates(connection, QUERIES)
    of_orders = {index.columns for index in found if index.table == "orders"}
    assert of_orders == {
        ("o_custkey",),
        ("o_orderdate",),
        ("o_custkey", "o_orderdate"),
        ("o_orderdate", "o_custkey"),
    }
    assert Index("part", ("p_partkey",)) not in found  # its primary key
    assert Index("part", ("p_partkey", "p_brand")) in found
    assert {index.table for index in found} == {"orders", "lineitem", "part"}


def test_costs_are_those_of_indexes_that_exist_and_nothing_is_kept(address, connection):
    indexes = candidates(connection, QUERIES)
    chosen = {
        indexes.index(Index("lineitem", ("l_partkey",))),
        indexes.index(Index("orders", ("o_custkey",))),
    }
    with open_planner(connection, QUERIES, indexes) as planner:
        base, cost = planner.cost(()), planner.cost(chosen)
        sizes = [planner.sizes[number] for number in sorted(chosen)]
    connection.rollback()
    count = (
        "SELECT count(*) FROM pg_class WHERE relname LIKE '%_idx' AND relnamespace = 'public'::regnamespace"
    )
    assert connection.execute(count).fetchone() == (0,)
    for number in sorted(chosen):
        connection.execute(indexes[number].statement)
    with psycopg.connect(address) as other:  # not committed: nobody else sees them
        assert other.execute(count).fetchone() == (0,)

    def explained(query):
        return connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()[0][0]["Plan"]["Total Cost"]

    assert cost == sum(map(explained, QUERIES)) < base
    names = [indexes[number].name for number in sorted(chosen)]
    assert sizes == [
        connection.execute("SELECT pg_relation_size(%s)", (name,)).fetchone()[0] for name in names
    ]
    connection.rollback()


def test_greedy_stays_within_the_storage_and_ours_is_no_worse_here(connection):
    indexes = candidates(connection, QUERIES)
    with open_planner(connection, QUERIES, indexes) as planner:
        storage = float(np.sort(planner.sizes)[-2:].sum())
        compared, reward = methods(planner, 2, storage), partial(saving, planner)
        best = {}
        for name, method in compared.items():
            evaluate = Evaluations(reward, 80)
            with suppress(BudgetSpent):
                method(evaluate, 0)
            assert all(sum(planner.sizes[i] for i in point) <= storage for point in evaluate.points)
            best[name] = max(evaluate.rewards)
    assert best["dagsearch"] >= best["greedy"] > 0.0
    assert best["swap climbing"] > 0.0
    connection.rollback()


def test_the_server_is_stopped_after_an_error():
    found = []

    def fail():
        with embedded() as address:
            found.append(address)
            psycopg.connect(address).close()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    (address,) = found
    assert not Path(address.split("host=")[1]).exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(address)


def test_the_workload_is_planned_as_a_whole(connection):
    queries = read_workload()
    assert len(queries) > 20
    for query in queries:
        connection.execute(f"EXPLAIN {query}")
