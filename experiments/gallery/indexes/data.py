"""Data like TPC-H's: the same tables, sizes, keys and ranges of values, from a seed."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

SCHEMA = Path(__file__).with_name("schema.sql")

_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    "ALGERIA ARGENTINA BRAZIL CANADA EGYPT ETHIOPIA FRANCE GERMANY INDIA INDONESIA IRAN IRAQ JAPAN JORDAN "
    "KENYA MOROCCO MOZAMBIQUE PERU CHINA ROMANIA SAUDI_ARABIA VIETNAM RUSSIA UNITED_KINGDOM UNITED_STATES"
)
_REGION_OF = (0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1)
_COLOURS = """
almond antique aquamarine azure beige black blue brown chocolate coral cream cyan dark drab forest
frosted ghost gold green grey honeydew hot indian ivory khaki lace lavender lemon light lime linen
magenta maroon metallic mint misty navy
"""
_TYPES = [
    f"{size} {finish} {metal}"
    for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
_CONTAINERS = [
    f"{size} {kind}"
    for size in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for kind in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
]
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
_INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
_FIRST_DAY, _LAST_DAY = np.datetime64("1992-01-01"), np.datetime64("1998-08-02")
_TODAY = np.datetime64("1995-06-17")


def load(connection: psycopg.Connection[Any], scale: float) -> None:
    """Make the tables and fill them; at scale 1 there are 1.5 million orders.

    The planner's statistics are taken of all rows, so that costs are the same every time.
    """
    connection.execute(SCHEMA.read_text())
    rng = np.random.default_rng(0)
    largest = 0
    for name, columns in _tables(rng, scale):
        lines = zip(*(np.asarray(column).astype(str).tolist() for column in columns), strict=True)
        text = io.StringIO()
        text.writelines("\t".join(line) + "\n" for line in lines)
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            copy.write(text.getvalue())
        largest = max(largest, len(columns[0]))
        connection.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = off)")
    connection.commit()
    connection.autocommit = True
    # ANALYZE reads 300 rows per unit of this target.
    connection.execute(f"SET default_statistics_target = {min(10_000, max(100, -(-largest // 300)))}")
    connection.execute("VACUUM ANALYZE")
    connection.autocommit = False


def _tables(rng: np.random.Generator, scale: float) -> Iterable[tuple[str, Sequence[Any]]]:
    """The tables in turn, as columns."""
    # With fewer suppliers, TPC-H's formula would let a part have the same one twice.
    suppliers, parts, customers = (max(100, round(scale * count)) for count in (10_000, 200_000, 150_000))
    yield "region", (range(5), _REGIONS, _words(rng, 5))
    yield "nation", (range(25), _nations(), _REGION_OF, _words(rng, 25))
    yield "supplier", _supplier(rng, suppliers)
    price = 900.0 + (np.arange(1, parts + 1) / 10 % 200.01) + (np.arange(1, parts + 1) % 1000)
    yield "part", _part(rng, parts, price)
    stock = np.repeat(np.arange(1, parts + 1), 4)
    seller = (
        1 + (stock + np.tile(np.arange(4), parts) * (suppliers // 4 + (stock - 1) // suppliers)) % suppliers
    )
    yield (
        "partsupp",
        (
            stock,
            seller,
            rng.integers(1, 10_000, stock.size),
            _money(rng, 1, 1000, stock.size),
            _words(rng, stock.size, 12),
        ),
    )
    yield "customer", _customer(rng, customers)
    yield from _orders(rng, max(100, round(scale * 1_500_000)), customers, stock, seller, price)


def _nations() -> list[str]:
    return [name.replace("_", " ") for name in _NATIONS.split()]


def _supplier(rng: np.random.Generator, count: int) -> Sequence[Any]:
    key, nation = np.arange(1, count + 1), rng.integers(0, 25, count)
    name = [f"Supplier#{number:09d}" for number in key]
    return (
        key,
        name,
        _words(rng, count, 2),
        nation,
        _phones(rng, nation),
        _money(rng, -1000, 10_000, count),
        _words(rng, count, 8),
    )


def _part(rng: np.random.Generator, count: int, price: Any) -> Sequence[Any]:
    maker = rng.integers(1, 6, count)
    return (
        np.arange(1, count + 1),
        [" ".join(words) for words in rng.choice(_COLOURS.split(), (count, 5)).tolist()],
        [f"Manufacturer#{one}" for one in maker],
        [f"Brand#{one}{two}" for one, two in zip(maker, rng.integers(1, 6, count), strict=True)],
        rng.choice(_TYPES, count),
        rng.integers(1, 51, count),
        rng.choice(_CONTAINERS, count),
        np.char.mod("%.2f", price),
        _words(rng, count, 3),
    )


def _customer(rng: np.random.Generator, count: int) -> Sequence[Any]:
    key, nation = np.arange(1, count + 1), rng.integers(0, 25, count)
    name = [f"Customer#{number:09d}" for number in key]
    balance, segment = _money(rng, -1000, 10_000, count), rng.choice(_SEGMENTS, count)
    return (
        key,
        name,
        _words(rng, count, 2),
        nation,
        _phones(rng, nation),
        balance,
        segment,
        _words(rng, count, 10),
    )


def _orders(
    rng: np.random.Generator, count: int, customers: int, stock: Any, seller: Any, price: Any
) -> Iterable[tuple[str, Sequence[Any]]]:
    """Orders and their items; a third of the customers orders nothing."""
    key = np.arange(1, count + 1)
    key = 32 * (key // 8) + key % 8 + 1  # as in TPC-H, a quarter of the numbers is used
    buyer = rng.integers(1, customers + 1, count)
    buyer -= (buyer % 3 == 0) & (buyer > 1)
    date = _FIRST_DAY + rng.integers(0, int((_LAST_DAY - _FIRST_DAY).astype(int)), count)
    sizes = rng.integers(1, 8, count)
    of, number = (
        np.repeat(np.arange(count), sizes),
        np.concatenate([np.arange(1, size + 1) for size in sizes]),
    )
    items = rng.integers(0, stock.size, of.size)
    quantity = rng.integers(1, 51, of.size)
    paid = quantity * price[stock[items] - 1]
    discount, tax = rng.integers(0, 11, of.size) / 100, rng.integers(0, 9, of.size) / 100
    shipped = date[of] + rng.integers(1, 122, of.size)
    promised = date[of] + rng.integers(30, 91, of.size)
    received = shipped + rng.integers(1, 31, of.size)
    open_ = shipped > _TODAY
    returned = np.where(received <= _TODAY, rng.choice(["R", "A"], of.size), "N")
    waiting = np.bincount(of, weights=open_, minlength=count)
    status = np.select([waiting == 0, waiting == sizes], ["F", "O"], "P")
    total = np.bincount(of, weights=paid * (1 + tax) * (1 - discount), minlength=count)
    clerk = [f"Clerk#{number:09d}" for number in rng.integers(1, max(2, count // 1500) + 1, count)]
    urgency, no_priority, comment = (
        rng.choice(_PRIORITIES, count),
        np.zeros(count, dtype=int),
        _words(rng, count, 7),
    )
    yield "orders", (key, buyer, status, _cents(total), date, urgency, clerk, no_priority, comment)
    costs = quantity, _cents(paid), discount, tax
    days = shipped, promised, received
    instruction, mode = rng.choice(_INSTRUCTIONS, of.size), rng.choice(_MODES, of.size)
    words, state = _words(rng, of.size, 4), np.where(open_, "O", "F")
    item = key[of], stock[items], seller[items], number
    yield "lineitem", (*item, *costs, returned, state, *days, instruction, mode, words)


def _words(rng: np.random.Generator, count: int, length: int = 5) -> list[str]:
    """Comments: they only make rows as wide as they are."""
    return [" ".join(words) for words in rng.choice(_COLOURS.split(), (count, length)).tolist()]


def _cents(amounts: Any) -> Any:
    return np.char.mod("%.2f", amounts)


def _money(rng: np.random.Generator, least: int, most: int, count: int) -> Any:
    return np.char.mod("%.2f", rng.integers(100 * least, 100 * most, count) / 100)


def _phones(rng: np.random.Generator, nation: Any) -> list[str]:
    digits = rng.integers((100, 100, 1000), (1000, 1000, 10_000), (len(nation), 3)).tolist()
    return [f"{10 + country}-{a}-{b}-{c}" for country, (a, b, c) in zip(nation, digits, strict=True)]
