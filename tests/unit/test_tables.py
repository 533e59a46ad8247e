"""Tables as people write them: formats, numbers for people, classes, columns that are no features."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dagsearch.tables.clean import clean, number_of
from dagsearch.tables.inspection import leaks, suspicion
from dagsearch.tables.read import TableError, TextFormat, read_table, separator
from dagsearch.tables.roles import Roles, load_table, split_target


@pytest.fixture
def read(tmp_path):
    """Writes a file and reads it as a table; returns the columns as lists, and the notes."""

    def written(content, name="table.csv", **text):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        frame, notes = read_table(file, TextFormat(**text))
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
        ("a  b\n1 x\n22 y\n", {"a": [1, 22], "b": ["x", "y"]}),
        ("sep=;\na;b\n1;2\n", {"a": [1], "b": [2]}),
        ('"a, b";c\n1;2\n', {"a, b": [1], "c": [2]}),
        ("a,b\nrow1,1,2\nrow2,3,4\n", {"a": [1, 3], "b": [2, 4]}),  # as R writes it
        ("a,b\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}),  # a comma too many
        (" a , b\n1, x\n", {"a": [1], "b": ["x"]}),
        ("a;b\n1.234,50;1\n0,25;2\n", {"a": [1234.5, 0.25], "b": [1, 2]}),
    ],
)
def test_separator_and_decimal_mark_are_found_out(read, content, columns):
    assert read(content)[0] == columns


def test_what_is_given_is_not_found_out(read):
    assert read("a;b,c\n1;2,3\n", sep=",")[0] == {"a;b": ["1;2"], "c": [3]}
    assert read("a;b\n1,234;1\n", decimal=".")[0]["a"] == [1234.0]
    assert read("a;b\n1,234;1\n", decimal=",")[0]["a"] == [1.234]
    assert read("größe,b\n1,ü\n".encode("cp437"), encoding="cp437")[0] == {"größe": [1], "b": ["ü"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"])
def test_encoding_is_found_out(read, encoding):
    columns, notes = read("größe,name\n1,Äpfel\n".encode(encoding))
    assert columns == {"größe": [1], "name": ["Äpfel"]}
    assert any("cp1252" in note for note in notes) == (encoding in ("cp1252", "latin-1"))


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("table.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)),
        ("table.csv", gzip.compress(b"a,b\n1,2\n", mtime=0)),  # the content counts, not the name
        ("table.tsv.bz2", bz2.compress(b"a\tb\n1\t2\n")),
        ("table.csv.xz", lzma.compress(b"a,b\n1,2\n")),
        ("table.zip", zipped(table=b"a,b\n1,2\n")),
    ],
)
def test_compressed_tables(read, name, content):
    assert read(content, name)[0] == {"a": [1], "b": [2]}


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


@pytest.mark.parametrize("content", [b"a;b\n1;2\n", gzip.compress(b"a,b\n1,2\n", mtime=0)])
def test_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert read_table(Path("-")).frame["b"].tolist() == [2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("table.csv", bytes(range(256)), "it is not text"),
        ("table.csv", b"", "it is empty"),
        ("table.csv", b"a,b\n1,2\n1,2,3,4\n", "Expected 2 fields.*give --sep"),
        ("table.csv", b"a,b\n\x81,\x8d\n", "its encoding is unknown; give --encoding"),
        ("table.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "cannot be decompressed"),
        ("table.parquet", b"noise", "cannot be read as parquet"),
        ("table.parquet", b"PAR1noise", "cannot be read as parquet"),
        ("table.xlsx", b"noise", "cannot be read as xlsx"),
        ("table.xlsx", b"PK\x03\x04noise", "cannot be unpacked"),
        ("table.zip", zipped(one=b"a", two=b"b"), "holds 2 files"),
        ("table.csv", b"\xd0\xcf\x11\xe0noise", "save it as .xlsx"),
        ("table.png", b"noise", "a table must be a .csv"),
    ],
)
def test_files_that_are_no_tables(read, name, content, message):
    with pytest.raises(TableError, match=message):
        read(content, name)


def test_bad_formats_are_named(read):
    with pytest.raises(TableError, match="--encoding klingon"):
        read("a,b\n1,2\n", encoding="klingon")
    with pytest.raises(TableError, match="--encoding ascii"):
        read("ä,b\n1,2\n", encoding="ascii")


def test_header_that_is_none_is_noticed(read):
    assert "lack a header" in read("1,2\n3,4\n")[1][0]


def test_wide_tables_are_read(read):
    names = [f"{i} is the number of a column whose name is long" for i in range(3_000)]
    columns, notes = read(";".join(names) + "\n" + ";".join("1,25" for _ in names) + "\n")
    assert len(columns) == len(names)
    assert columns[names[7]] == [1.25]
    assert notes == ["numbers are written with a decimal comma"]


def test_separator_of_odd_lines():
    assert separator(["a"]) == ","
    assert separator(["a b", "x"]) == ","
    assert separator(["one, two;three", "1;2", "3;4"]) == ";"


# Numbers for people -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("$12,345.00", ".", 12345.0),
        ("-$3.50", ".", -3.5),
        ("$-3", ".", -3.0),
        ("(1,234)", ".", -1234.0),
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "12a",
        "1_000",
        "inf",
        "nan",
        "1,5",
        "12,34",
        "555 12",
        "1.2.3",
        "2020-01-01",
        "--1",
        "$",
        "(5",
        "5)",
        "555 123 456",
    ],
)
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
        "converted from text to numbers: 'price' (such as '$12,345.00')",
    ]
    assert frame["price"][0] == "$12,345.00"


def test_telephone_numbers_stay_text_and_large_numbers_do_not():
    cleaned, notes = clean(
        pd.DataFrame({"phone": ["555 123 456", "555 123 457"], "people": ["1 234 567", "123 456 789"]})
    )
    assert cleaned["phone"].tolist() == ["555 123 456", "555 123 457"]
    assert cleaned["people"].tolist() == [1234567.0, 123456789.0]
    assert notes == ["converted from text to numbers: 'people' (such as '1 234 567')"]


def test_few_words_among_numbers_are_missing_and_told():
    cleaned, notes = clean(pd.DataFrame({"size": [*map(str, range(30)), "unknown", "broken"]}))
    assert cleaned["size"].isna().sum() == 2
    assert "'size' is nearly all numbers: 2 other values count as missing, such as 'unknown'" in notes
    half = pd.DataFrame({"size": ["1", "2", "small", "large"]})
    assert clean(half)[0]["size"].tolist() == ["1", "2", "small", "large"]


def test_lists_and_categories_are_left_alone():
    frame = pd.DataFrame({"lists": [[1], [2]], "class": pd.Categorical(["1", "2"]), "flag": [True, None]})
    cleaned, notes = clean(frame)
    assert notes == []
    assert cleaned["class"].dtype == "category"
    assert cleaned["flag"].tolist()[0] is True


def written(tmp_path, text):
    file = tmp_path / "table.csv"
    file.write_text(text)
    return read_table(file)


def test_names_that_differ_by_spaces_are_told_apart(tmp_path):
    assert list(written(tmp_path, "a ,a,b\n1,2,3\n4,5,6\n").frame.columns) == ["a", "a.1", "b"]


@pytest.mark.parametrize(
    ("head", "names", "skipped"),
    [
        ("# made today\n# by me, for you, and us\na,b,c\n", ["a", "b", "c"], True),
        ("# made today\n\n#a,b,c\n", ["#a", "b", "c"], True),
        ("#a,b,c\n", ["#a", "b", "c"], False),
        ("# made; today\na;b;c\n", ["a", "b", "c"], True),
    ],
)
def test_comments_above_the_header_are_skipped(tmp_path, head, names, skipped):
    sep = ";" if ";b" in head else ","
    read = written(tmp_path, head + "".join(f"{i}{sep}{i * 2}{sep}{i * 3}\n" for i in range(9)))
    assert list(read.frame.columns) == names
    assert read.frame[names[2]].tolist() == [3 * i for i in range(9)]
    assert any("comments above the header were skipped: '# made" in note for note in read.notes) == skipped


# Columns that are no features -------------------------------------------------------------------------

ROWS = 60
RNG = np.random.default_rng(0)
WORDS = ["the", "service", "was", "good", "bad", "slow", "fast", "and", "will", "come", "again", "never"]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("customer_id", RNG.permutation(ROWS) * 7 + 1000, "identifiers"),
        ("customerId", RNG.permutation(ROWS) * 7 + 1000, "identifiers"),
        ("Unnamed: 0", np.arange(ROWS), "identifiers"),
        ("row", np.arange(1, ROWS + 1), "identifiers"),
        ("code", [f"C{i:05}" for i in range(ROWS)], "identifiers"),
        ("note", [" ".join(RNG.choice(WORDS, 8)) for _ in range(ROWS)], "free text"),
        ("day", [f"{i % 28 + 1}.{i % 12 + 1}.2024" for i in range(ROWS)], "dates"),
        ("day", [f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}T12:00:00Z" for i in range(ROWS)], "dates"),
        ("day", [f"{i % 28 + 1} March 2024" for i in range(ROWS)], "dates"),
        ("day", [20240100 + i % 28 + 1 for i in range(ROWS)], "dates"),
        ("day", pd.date_range("2024-01-01", periods=ROWS), "dates"),
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
    target = pd.Series(RNG.integers(0, 2, ROWS))
    noise = pd.Series(RNG.normal(size=ROWS))
    features = pd.DataFrame(
        {
            "noise": noise,
            "apart": target * 10 + noise.abs().clip(upper=5),
            "missing": np.where(target == 1, noise, np.nan),
            "text": np.where(target == 1, "gone", "here"),
            "words": np.where(target == 1, RNG.choice(["gone", "left"], ROWS), "here"),
            "nearly": np.where(target == 1, "gone", "here"),
            "unlike": [f"text {i}" for i in range(ROWS)],
        }
    )
    features.loc[0, "nearly"] = "gone" if target[0] == 0 else "here"
    assert leaks(features, target, classification=True) == ["apart", "missing", "text", "words"]
    assert leaks(features[:10], target[:10], classification=True) == []


def test_leaks_of_numbers():
    target = pd.Series(RNG.normal(size=ROWS))
    features = pd.DataFrame(
        {"log": np.exp(target), "noisy": target + 0.1 * RNG.normal(size=ROWS), "text": ["a", "b"] * 30}
    )
    features["minus"] = -3.0 * target
    assert leaks(features, target, classification=False) == ["log", "minus"]


# Roles ------------------------------------------------------------------------------------------------


def table(**more):
    rng = np.random.default_rng(1)
    columns = {
        "a": rng.normal(size=ROWS),
        "b": rng.normal(size=ROWS),
        "kind": rng.choice(["no", "yes"], ROWS),
    }
    return pd.DataFrame(columns | more)


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        (["yes", "no"], None, ("no", "yes")),
        (["Yes", "No"], None, ("No", "Yes")),
        (["stay", "leave"], None, ("leave", "stay")),
        (["stay", "leave"], "leave", ("stay", "leave")),
        ([True, False], None, ("False", "True")),
        ([1, 2], None, ("1", "2")),
        ([1.0, 0.0], None, ("0", "1")),
        ([1, -1], "-1", ("1", "-1")),
        (["c", "a", "b"], None, ("a", "b", "c")),
        ([10, 9, 8], None, ("8", "9", "10")),
        (["M", "B"], None, ("B", "M")),
    ],
)
def test_classes_are_numbered(labels, positive, classes):
    values = (labels * ROWS)[:ROWS]
    split = split_target(table(kind=values), Roles("kind"), positive=positive)
    assert split.classes == classes
    as_text = [str(int(value)) if isinstance(value, float) else str(value) for value in values]
    assert [classes[code] for code in split.target] == as_text
    assert split.target.dtype == np.int64


def test_numbered_classes_are_told_unless_they_are_numbers_already():
    assert any(
        "'yes' is 1 and counts as positive" in note for note in split_target(table(), Roles("kind")).notes
    )
    assert split_target(table(kind=[0, 1] * 30), Roles("kind")).notes == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positive": "maybe"}, "--positive maybe: it must be one of two classes; 'kind' has 'no', 'yes'"),
        ({"roles": Roles("a"), "positive": "yes"}, "--positive yes: the target 'a' has no classes"),
        ({"roles": Roles("kind", group="C")}, "--group-column: there is no column 'C'"),
        (
            {"roles": Roles("kind", time="kind")},
            "--time-column: the column 'kind' is used by --target already",
        ),
        ({"roles": Roles("kind", weight="text")}, "--weight-column: 'text' must hold numbers of at least 0"),
        ({"roles": Roles("kind", weight="a")}, "--weight-column: 'a' must hold numbers of at least 0"),
        (
            {"roles": Roles("kind", time="text")},
            "--time-column: 'x0' in 'text' is neither a date nor a number",
        ),
        ({"keep": ["nothing"]}, "--keep: there is no column 'nothing'"),
    ],
)
def test_bad_roles_are_told(arguments, message):
    frame = table(text=[f"x{i % 4}" for i in range(ROWS)])
    with pytest.raises(TableError, match=message):
        split_target(frame, **{"roles": Roles("kind"), **arguments})


def test_columns_with_roles_are_no_features_and_time_sorts():
    days = pd.Series(pd.date_range("2024-01-01", periods=ROWS)).sample(frac=1.0, random_state=0)
    frame = table(day=days.dt.strftime("%d.%m.%Y").tolist(), who=[i // 3 for i in range(ROWS)], w=1.5)
    split = split_target(frame, Roles("kind", group="who", time="day", weight="w"))
    assert list(split.features.columns) == ["a", "b"]
    assert split.weights.sum() == 1.5 * ROWS
    sorted_days = pd.to_datetime(frame.loc[split.features.index, "day"], format="%d.%m.%Y")
    assert sorted_days.is_monotonic_increasing
    assert split.groups.index.equals(split.target.index)
    half = split.rows(np.arange(30))
    assert len(half.features) == len(half.target) == len(half.groups) == len(half.weights) == 30


def test_rows_without_a_role_are_left_out_and_told():
    frame = table(who=[None if i < 5 else i % 3 for i in range(ROWS)])
    split = split_target(frame, Roles("kind", group="who"))
    assert len(split.target) == ROWS - 5
    assert "5 rows without a group were left out" in split.notes


@pytest.mark.parametrize(("no", "yes"), [("nein", "ja"), ("Nein", "Ja"), ("non", "oui"), ("no", "si")])
def test_yes_is_positive_in_other_languages(no, yes):
    assert split_target(table(kind=[yes, no] * 30), Roles("kind")).classes == (no, yes)


def test_free_text_is_no_target():
    texts = [f"the parcel {i} came on day {i % 7}" for i in range(ROWS)]
    with pytest.raises(
        TableError, match="the target 'kind' has 60 different texts in 60 rows, such as 'the par"
    ):
        split_target(table(kind=texts), Roles("kind"))


def test_columns_that_repeat_another_are_left_out_unless_kept():
    frame = table()
    frame = frame.assign(twin=frame["a"], word=["x", "y"] * 30, words=["x", "y"] * 30, b2=frame["b"] + 1e-12)
    split = split_target(frame, Roles("kind"))
    assert split.left_out == {"twin": "the same values as 'a'", "words": "the same values as 'word'"}
    assert "left out, with the same values as 'a': 'twin' (--keep to use)" in split.notes
    assert "twin" in split_target(frame, Roles("kind"), keep=["twin"]).features
    assert "twin" in split_target(frame, Roles("kind"), forbidden=["a"]).features


def test_doubtful_columns_are_left_out_unless_kept(tmp_path):
    frame = table(id=range(ROWS))
    split = split_target(frame, Roles("kind"))
    assert split.left_out == {"id": "what looks like identifiers"}
    assert "id" in split_target(frame, Roles("kind"), keep=["id"]).features
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert list(load_table(tmp_path / "table.csv", "kind", keep=["id"]).features.columns) == ["a", "b", "id"]
