"""Tables as people write them: formats, numbers for people, classes, columns that are no features."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dagsearch.tables import TableError, load_table, read_table
from dagsearch.tables import read as reading
from dagsearch.tables.clean import clean, number_of
from dagsearch.tables.inspection import leaks, suspicion


@pytest.fixture
def read(tmp_path):
    """Writes a file and reads it as a table; returns the columns as lists, and the notes."""

    def written(content, name="table.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        frame, notes = read_table(file)
        return {column: frame[column].tolist() for column in frame.columns}, notes

    return written


# Files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a;b\n1,5;x, y\n2,25;z\n", {"a": [1.5, 2.25], "b": ["x, y", "z"]}),
        ("a\tb\n1\tx\n", {"a": [1], "b": ["x"]}),
        ("a|b\n1|x\n", {"a": [1], "b": ["x"]}),
        ('"a, b";c\n1;2\n', {"a, b": [1], "c": [2]}),
        ("a,b\nrow1,1,2\nrow2,3,4\n", {"a": [1, 3], "b": [2, 4]}),  # as R writes it
        ("a,b\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}),  # a comma too many
        (" a , b\n1, x\n", {"a": [1], "b": ["x"]}),
        ("a;b\n1.234,50;1\n0,25;2\n", {"a": [1234.5, 0.25], "b": [1, 2]}),
    ],
)
def test_separator_and_decimal_mark_are_found_out(read, content, columns):
    assert read(content)[0] == columns


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encoding_is_found_out(read, encoding):
    columns, notes = read("größe,name\n1,Äpfel\n".encode(encoding))
    assert columns == {"größe": [1], "name": ["Äpfel"]}
    assert any("cp1252" in note for note in notes) == (encoding in ("cp1252", "latin-1"))


@pytest.mark.parametrize("header", ["a,y,b,y", "a,y,b, y "])
def test_two_columns_with_one_name_are_an_error(read, header):
    with pytest.raises(TableError, match="several columns are named 'y'; rename all but one"):
        read(f"{header}\n1,2,3,4\n")


def test_workbooks(tmp_path):
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2024-01-01", "2024-02-01"]), "b": ["x", "?"]})
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        table.to_excel(book, sheet_name="first", index=False)
        table.to_excel(book, sheet_name="second", index=False)
    frame, notes = read_table(tmp_path / "book.xlsx")
    assert frame["a"].tolist() == [1, 2]
    assert frame["when"].dtype.kind == "M"
    assert frame["b"].isna().tolist() == [False, True]
    assert "read the first of 2 sheets, 'first'" in notes


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a;b\n1;2\n")))
    assert read_table(Path("-"))[0]["b"].tolist() == [2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("table.csv", bytes(range(256)), "it is not text"),
        ("table.csv", b"", "it is empty"),
        ("table.csv", b"a,b\n1,2\n1,2,3,4\n", "Expected 2 fields"),
        ("table.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "cannot be read: "),
        ("table.parquet", b"noise", "cannot be read as parquet"),
        ("table.parquet", b"PAR1noise", "cannot be read as parquet"),
        ("table.xlsx", b"noise", "cannot be read as xlsx"),
        ("table.xlsx", b"PK\x03\x04noise", "cannot be read as xlsx"),
        ("table.png", b"noise", "a table must be a .csv"),
    ],
)
def test_files_that_are_no_tables(read, name, content, message):
    with pytest.raises(TableError, match=message):
        read(content, name)


# Numbers for people -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("$12,345.00", ".", 12345.0),
        ("-$3.50", ".", -3.5),
        ("$-3", ".", -3.0),
        ("1.234,56 €", ",", 1234.56),
        ("12 000", ".", 12000.0),
        ("12\u202f000,5", ",", 12000.5),
        ("1'234", ".", 1234.0),
        ("USD 5", ".", 5.0),
        ("12.5%", ".", 12.5),
        ("1e-3", ".", 0.001),
        (".5", ".", 0.5),
        ("−7", ".", -7.0),
    ],
)
def test_numbers_written_for_people(text, decimal, number):
    assert number_of(text, decimal) == number


NO_NUMBERS = "|abc|12a|1_000|inf|nan|1,5|12,34|555 12|1.2.3|2020-01-01|--1|$|(5)|-$-3|.|0,123"


@pytest.mark.parametrize("text", NO_NUMBERS.split("|"))
def test_texts_that_are_no_numbers(text):
    assert number_of(text) is None


def test_text_is_converted_and_told():
    frame = pd.DataFrame(
        {
            "price": ["$12,345.00", "$5", "N/A", None],
            "plain": ["1", "2", "?", "3"],
            "mixed": [1, 2.5, "3", None],
            "kind": ["a", "?", "none", "b"],
            "number": [1.0, 2.0, 3.0, 4.0],
        }
    )
    cleaned, notes = clean(frame)
    assert cleaned["price"].tolist()[:2] == [12345.0, 5.0]
    assert cleaned["price"].isna().sum() == 2
    assert cleaned["plain"].sum() == 6.0
    assert cleaned["mixed"].sum() == 6.5
    assert cleaned["kind"].isna().tolist() == [False, True, False, False]  # none is a kind
    assert notes == [
        "'N/A' counts as missing in 'price'",
        "'?' counts as missing in 'plain', 'kind'",
        "converted from text to numbers: 'price' (such as '$12,345.00'), 'plain' (such as '1'), "
        "'mixed' (such as 1)",
    ]
    assert frame["price"][0] == "$12,345.00"


def test_few_words_among_numbers_are_missing_and_told():
    cleaned, notes = clean(pd.DataFrame({"size": [*map(str, range(30)), "unknown", "broken"]}))
    assert cleaned["size"].isna().sum() == 2
    assert "'size' is nearly all numbers: 2 other values, such as 'unknown', count as missing" in notes
    half = pd.DataFrame({"size": ["1", "2", "small", "large"]})
    assert clean(half)[0]["size"].tolist() == ["1", "2", "small", "large"]


# Columns that are no features -------------------------------------------------------------------------

ROWS, TEXT = 60, "identifiers, dates or free text"
RNG = np.random.default_rng(0)
WORDS = ["the", "service", "was", "good", "bad", "slow", "fast", "and", "will", "come", "again", "never"]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("customer_id", RNG.permutation(ROWS) * 7 + 1000, "identifiers"),
        ("customerId", RNG.permutation(ROWS) * 7 + 1000, "identifiers"),
        ("Unnamed: 0", np.arange(ROWS), "identifiers"),
        ("row", np.arange(1, ROWS + 1), "identifiers"),
        ("shuffled", RNG.permutation(ROWS) + 1.0, "identifiers"),
        ("gap", np.delete(RNG.permutation(ROWS + 2), 7), "identifiers"),
        ("code", [f"C{i:05}" for i in range(ROWS)], TEXT),
        ("note", [" ".join(RNG.choice(WORDS, 8)) for _ in range(ROWS)], TEXT),
        ("day", [f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}T12:00:00Z" for i in range(ROWS)], TEXT),
        ("population", RNG.permutation(ROWS) * 7 + 1000, None),  # different everywhere, but a measurement
        ("width", RNG.normal(size=ROWS), None),
        ("paid", RNG.integers(0, 2, ROWS), None),
        ("colour", RNG.choice(["red", "green"], ROWS), None),
        ("sentence", RNG.choice(["it was good for me", "it was bad for me"], ROWS), None),
        ("version", [f"1.{i % 4}" for i in range(ROWS)], None),
        ("year", RNG.integers(1990, 2024, ROWS), None),
    ],
)
def test_columns_that_look_like_no_features(name, values, found):
    assert suspicion(pd.Series(values, name=name)) == found


def test_leaks_of_classes():
    target = pd.Series(RNG.integers(0, 2, 200))
    noise = pd.Series(RNG.normal(size=200))
    features = pd.DataFrame(
        {
            "noise": noise,
            "apart": target * 10 + noise.abs().clip(upper=5),
            "minus": 4.5 * -target + noise,
            "weak": 2.0 * target + noise,
            "missing": np.where(target == 1, noise, np.nan),
            "words": np.where(target == 1, RNG.choice(["gone", "left"], 200), "here"),
            "nearly": np.where(target == 1, "gone", "here"),
            "unlike": [f"text {i}" for i in range(200)],
        }
    )
    features.loc[0, "nearly"] = "gone" if target[0] == 0 else "here"
    found = leaks(features, target, classification=True)
    assert set(found) == {"apart", "minus", "missing", "words", "nearly"}
    assert found["apart"] == 1.0 > found["minus"] > 0.99
    assert leaks(features[:10], target[:10], classification=True) == {}
    order = pd.DataFrame({"size": [*range(20), *range(30, 50), *range(60, 80)], "other": noise[:60]})
    assert list(leaks(order, pd.Series([1] * 20 + [0] * 20 + [2] * 20), classification=True)) == ["size"]


def test_leaks_of_numbers():
    target = pd.Series(np.exp(RNG.normal(5.0, 0.6, 400)))
    features = pd.DataFrame(
        {"log": np.log(target), "euro": 1.1 * target + 2.0 * RNG.normal(size=400), "text": ["a", "b"] * 200}
    )
    features["noisy"] = target + 0.3 * target.std() * RNG.normal(size=400)
    features["outlier"] = RNG.normal(size=400)
    features.loc[0, "outlier"] = 1e6
    assert list(leaks(features, target, classification=False)) == ["log", "euro"]
    target[0] = 1e7
    assert "outlier" not in leaks(features, target, classification=False)


# Roles ------------------------------------------------------------------------------------------------


@pytest.fixture
def loaded(tmp_path):
    """Writes a table with further columns, and loads it."""

    def load(target="kind", more=None, **arguments):
        rng = np.random.default_rng(1)
        columns = {"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS)}
        columns["kind"] = rng.choice(["no", "yes"], ROWS)
        pd.DataFrame(columns | (more or {})).to_parquet(tmp_path / "table.parquet")
        return load_table(tmp_path / "table.parquet", target, **arguments)

    return load


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["yes", "no"], ("no", "yes")),
        (["stay", "leave", "stay"], ("leave", "stay")),
        ([True, False], ("False", "True")),
        ([1, 1, 2], ("1", "2")),
        ([1.0, 0.0], ("0", "1")),
        (["c", "a", "b"], ("a", "b", "c")),
        ([10, 9, 8], ("8", "9", "10")),
        (["M", "B"], ("B", "M")),
    ],
)
def test_classes_are_numbered(loaded, labels, classes):
    values = (labels * ROWS)[:ROWS]
    split = loaded(more={"kind": values})
    assert split.classes == classes
    as_text = [str(int(value)) if isinstance(value, float) else str(value) for value in values]
    assert [classes[code] for code in split.target] == as_text
    assert split.target.dtype == np.int64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "kinds"}, "--target: there is no column 'kinds'; did you mean 'kind'?"),
        ({"group": "C"}, "--group-column: there is no column 'C'"),
        ({"weight": "text"}, "--weight-column: 'text' must hold numbers of at least 0"),
        ({"weight": "a"}, "--weight-column: 'a' must hold numbers of at least 0"),
        ({"time": "text"}, "--time-column: 'x0' in 'text' is neither a date nor a number"),
        ({"keep": ["nothing"]}, "--keep or --fixed: there is no column 'nothing'"),
    ],
)
def test_bad_roles_are_told(loaded, arguments, message):
    with pytest.raises(TableError, match=message):
        loaded(more={"text": [f"x{i % 4}" for i in range(ROWS)]}, **arguments)


def test_columns_with_roles_are_no_features_and_time_sorts(loaded):
    days = pd.Series(pd.date_range("2024-01-01", periods=ROWS)).sample(frac=1.0, random_state=0)
    more = {"day": days.dt.strftime("%d.%m.%Y").tolist(), "who": [i // 3 for i in range(ROWS)], "w": 1.5}
    split = loaded(more=more, group="who", time="day", weight="w")
    assert list(split.features.columns) == ["a", "b"]
    assert split.weights.sum() == 1.5 * ROWS
    order = pd.to_datetime(pd.Series(more["day"])[split.features.index], format="%d.%m.%Y")
    assert order.is_monotonic_increasing
    assert split.groups.index.equals(split.target.index)
    half = split.rows(np.arange(30))
    assert len(half.features) == len(half.target) == len(half.groups) == len(half.weights) == 30


def test_row_numbers_are_seen_before_rows_without_a_target_are_excluded(loaded):
    kind = [None if i % 3 == 0 else "yes" if i % 2 else "no" for i in range(ROWS)]
    split = loaded(more={"kind": kind, "step": np.arange(ROWS) * 1.0, "mixed": RNG.permutation(ROWS)})
    assert split.excluded == {"step": "likely identifiers", "mixed": "likely identifiers"}
    assert len(split.target) == 40
    assert "20 rows without a target were excluded" in split.notes


def test_infinite_numbers_are_missing_and_told(tmp_path):
    values = "".join(f"{'inf' if i % 2 else i + 0.5},{i * 0.3},{i % 2}\n" for i in range(40))
    (tmp_path / "table.csv").write_text(f"a,b,kind\n{values}")
    split = load_table(tmp_path / "table.csv", "kind")
    assert split.features["a"].isna().sum() == 20
    assert "infinite or too large numbers count as missing in 'a' (20 rows)" in split.notes
    (tmp_path / "table.csv").write_text(f"a,b,kind\n{'9' * 400},1.5,0\n{values}")
    assert load_table(tmp_path / "table.csv", "kind").features["a"].isna().sum() == 21


def test_doubtful_columns_are_excluded_unless_kept(loaded):
    odd = {"id": range(ROWS), "same": 1, "nothing": None}
    split = loaded(more=odd)
    assert split.excluded == {"id": "likely identifiers", "same": "constant", "nothing": "constant"}
    assert "excluded as likely identifiers: 'id' (--keep to use)" in split.notes
    assert list(loaded(more=odd, keep=["id"]).features) == ["a", "b", "id"]


def test_large_tables_are_refused(read, monkeypatch):
    content = "a,b\n" + "1,2\n" * 100
    monkeypatch.setattr(reading, "MAX_CELLS", 100)
    with pytest.raises(TableError, match="has more than 100 cells"):
        read(content)
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    for name, packed in (("table.csv", content.encode()), ("table.csv.gz", gzip.compress(content.encode()))):
        with pytest.raises(TableError, match="has more than 100 bytes"):
            read(packed, name)
