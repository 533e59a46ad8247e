"""Data like TPC-H's: the same tables, sizes, keys and ranges of values, from a seed."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

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
    """Create and fill the tables; at scale 1 there are 1.5 million orders.

    The planner's statistics use all rows, so that costs are reproducible.
    """
    connection.execute(Path(__file__).with_name("schema.sql").read_text())
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

    def words(count: int, length: int = 5) -> list[str]:
        """Comments, which only give rows their width."""
        return [" ".join(chosen) for chosen in rng.choice(_COLOURS.split(), (count, length)).tolist()]

    def money(least: int, most: int, count: int) -> Any:
        return _cents(rng.integers(100 * least, 100 * most, count) / 100)

    def phones(nation: Any) -> list[str]:
        digits = rng.integers((100, 100, 1000), (1000, 1000, 10_000), (len(nation), 3)).tolist()
        return [f"{10 + country}-{a}-{b}-{c}" for country, (a, b, c) in zip(nation, digits, strict=True)]

    # With fewer suppliers, TPC-H's formula would give a part the same one twice.
    suppliers, parts, customers = (max(100, round(scale * count)) for count in (10_000, 200_000, 150_000))
    yield "region", (range(5), _REGIONS, words(5))
    yield "nation", (range(25), [name.replace("_", " ") for name in _NATIONS.split()], _REGION_OF, words(25))

    nation = rng.integers(0, 25, suppliers)
    contact = _named("Supplier", suppliers), words(suppliers, 2), nation, phones(nation)
    yield "supplier", (_keys(suppliers), *contact, money(-1000, 10_000, suppliers), words(suppliers, 8))

    maker, price = rng.integers(1, 6, parts), 900.0 + _keys(parts) / 10 % 200.01 + _keys(parts) % 1000
    name, brand = words(parts), 10 * maker + rng.integers(1, 6, parts)
    makers = np.char.mod("Manufacturer#%d", maker), np.char.mod("Brand#%d", brand)
    kind = rng.choice(_TYPES, parts), rng.integers(1, 51, parts), rng.choice(_CONTAINERS, parts)
    yield "part", (_keys(parts), name, *makers, *kind, _cents(price), words(parts, 3))

    stock, turn, count = np.repeat(_keys(parts), 4), np.tile(np.arange(4), parts), 4 * parts
    seller = 1 + (stock + turn * (suppliers // 4 + (stock - 1) // suppliers)) % suppliers
    supply = rng.integers(1, 10_000, count), money(1, 1000, count), words(count, 12)
    yield "partsupp", (stock, seller, *supply)

    nation, balance = rng.integers(0, 25, customers), money(-1000, 10_000, customers)
    segment = rng.choice(_SEGMENTS, customers)
    contact = _named("Customer", customers), words(customers, 2), nation, phones(nation)
    yield "customer", (_keys(customers), *contact, balance, segment, words(customers, 10))

    # Orders and their items; a third of the customers order nothing.
    count = max(100, round(scale * 1_500_000))
    key = 32 * (_keys(count) // 8) + _keys(count) % 8 + 1  # as in TPC-H, a quarter of the numbers is used
    buyer = rng.integers(1, customers + 1, count)
    buyer -= (buyer % 3 == 0) & (buyer > 1)
    date = _FIRST_DAY + rng.integers(0, int((_LAST_DAY - _FIRST_DAY).astype(int)), count)
    sizes = rng.integers(1, 8, count)
    of, number = np.repeat(np.arange(count), sizes), np.concatenate([_keys(size) for size in sizes])
    items, quantity = rng.integers(0, stock.size, of.size), rng.integers(1, 51, of.size)
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
    clerk = np.char.mod("Clerk#%09d", rng.integers(1, max(2, count // 1500) + 1, count))
    rest = rng.choice(_PRIORITIES, count), clerk, np.zeros(count, dtype=int), words(count, 7)
    yield "orders", (key, buyer, status, _cents(total), date, *rest)

    item = key[of], stock[items], seller[items], number, quantity, _cents(paid), discount, tax
    state = returned, np.where(open_, "O", "F"), shipped, promised, received
    delivery = rng.choice(_INSTRUCTIONS, of.size), rng.choice(_MODES, of.size), words(of.size, 4)
    yield "lineitem", (*item, *state, *delivery)


def _keys(count: int) -> Any:
    return np.arange(1, count + 1)


def _named(what: str, count: int) -> list[str]:
    return [f"{what}#{number:09d}" for number in range(1, count + 1)]


def _cents(amounts: Any) -> Any:
    return np.char.mod("%.2f", amounts)
