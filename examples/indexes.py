"""Which indexes? At most three of ten, to minimise the steps of SQLite's virtual machine for a workload.

It prints:

    CREATE INDEX ON sale (amount, day) (customer, day) (day)
    1.5 thousand steps; without indexes 183.7
"""

import random
import sqlite3

import dagsearch as ds

COLUMNS = ["customer", "day", "city", "amount"]
INDEXES = [f"({one})" for one in COLUMNS] + [
    f"({one}, {two})" for one in COLUMNS for two in COLUMNS if one < two
]
QUERIES = [
    "SELECT sum(amount) FROM sale WHERE customer = 17",
    "SELECT count(*) FROM sale WHERE city = 3 AND day = 40",
    "SELECT max(amount) FROM sale WHERE city = 5",
    "SELECT customer, sum(amount) FROM sale WHERE day = 12 GROUP BY customer",
    "SELECT day FROM sale WHERE amount > 995",
    "UPDATE sale SET amount = amount + 1 WHERE customer = 3",
]

draw = random.Random(0)
database = sqlite3.connect(":memory:", isolation_level=None)
database.execute("CREATE TABLE sale (customer, day, city, amount)")
rows = [
    (draw.randrange(500), draw.randrange(365), draw.randrange(20), draw.randrange(1000))
    for _ in range(10_000)
]
database.executemany("INSERT INTO sale VALUES (?, ?, ?, ?)", rows)


def steps(indexes):
    """Thousands of steps of SQLite's virtual machine for the workload with some indexes."""
    taken = []
    database.execute("BEGIN")
    for number, index in enumerate(sorted(indexes)):
        database.execute(f"CREATE INDEX i{number} ON sale {index}")
    database.execute("ANALYZE")
    database.set_progress_handler(lambda: taken.append(1), 100)
    for query in QUERIES:
        database.execute(query).fetchall()
    database.set_progress_handler(None, 0)
    database.execute("ROLLBACK")
    return len(taken) / 10


result = ds.search(
    ds.problems.Subsets(INDEXES, (0, 3), reward=lambda chosen: -steps(chosen)), budget=40, seed=0
)
print("CREATE INDEX ON sale", *sorted(result.best_state))
print(f"{-result.best_reward:.1f} thousand steps; without indexes {steps([]):.1f}")
