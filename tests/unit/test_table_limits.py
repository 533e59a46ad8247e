"""Tables made to fill the memory, or to be read without end: refused in one line, with little memory."""

import gzip
import subprocess
import sys
import zipfile

import pytest

from dagsearch.cli.entry import main
from dagsearch.tables import Limits, TableError, load_table, read_table
from support.processes import environment

pandas = pytest.importorskip("pandas")

# In a process of its own, which gets so many further bytes: reading must not need more.
READ = """
import resource, sys
from pathlib import Path
import openpyxl, pandas, pyarrow.parquet
from dagsearch.cli.entry import main
main(["select", "missing.csv", "--target", "y"])
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, 2 * (used + int(sys.argv[1]),))
sys.exit(main(["select", *sys.argv[2:], "--target", "y", "--quiet"]))
"""
MEMORY = 700_000_000


def refused(*arguments):
    """What ``dagsearch select`` says in a process that cannot get much memory; it must be one line."""
    command = [sys.executable, "-c", READ, str(MEMORY), *map(str, arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done.stderr
    first, line = done.stderr.splitlines()
    assert first.startswith("dagsearch select: error: missing.csv")
    assert line.startswith("dagsearch select: error: ")
    return line.removeprefix("dagsearch select: error: ")


@pytest.mark.slow
def test_a_small_archive_of_gigabytes_is_refused(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x,y\n")
        for _ in range(2_100):
            file.write(b"1,2\n" * 250_000)
    assert path.stat().st_size < 20_000_000
    assert refused(path) == (
        f"{path}, decompressed, has more than 1,000,000,000 bytes; --max-bytes raises this limit"
    )


@pytest.mark.slow
@pytest.mark.parametrize("header", [True, False])
def test_a_line_without_end_is_refused(header, tmp_path):
    path, long = tmp_path / "bomb.csv", "a," * 40_000_000
    path.write_text(f"{long}y\n1,2\n" if header else f"x,y\n1,2\n{long}\n")
    assert refused(path).startswith(f"{path} has a line of more than 10,000,000 bytes")


def workbook(path, sheet):
    """A workbook with this XML in place of its sheet."""
    pandas.DataFrame({"x": [1], "y": [2]}).to_excel(path.with_name("small.xlsx"), index=False)
    with zipfile.ZipFile(path.with_name("small.xlsx")) as small, zipfile.ZipFile(path, "w") as made:
        for name in small.namelist():
            content = small.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = sheet(content.decode()).encode()
            made.writestr(name, content)
    return path


@pytest.mark.slow
def test_one_cell_in_the_last_corner_of_a_sheet_is_refused(tmp_path):
    last = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    path = workbook(tmp_path / "bomb.xlsx", lambda xml: xml.replace("</sheetData>", last))
    assert refused(path) == f"{path} has more than 100,000,000 cells; --max-cells raises this limit"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_in_a_workbook_are_refused(encoding, tmp_path, capsys):
    secret = tmp_path / "secret"
    secret.write_text("42")
    kind = f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{secret}">]>'
    path = workbook(tmp_path / "bomb.xlsx", lambda xml: f"{kind}{xml.replace('<v>2</v>', '<v>&s;</v>')}")
    if encoding != "utf-8":
        other = tmp_path / "other.xlsx"
        with zipfile.ZipFile(path) as one, zipfile.ZipFile(other, "w") as made:
            for name in one.namelist():
                content = one.read(name)
                made.writestr(name, content.decode().encode(encoding) if "sheet1" in name else content)
        path = other
    assert main(["select", str(path), "--target", "y"]) == 1
    assert "defines entities" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_numbers_that_no_computer_holds_are_named(kind, tmp_path, capsys):
    path, large = tmp_path / f"bomb.{kind}", int("9" * 400)
    if kind == "xlsx":
        workbook(path, lambda xml: xml.replace("<v>1</v>", f"<v>{large}</v>"))
    else:
        numbers = {"x": [str(large), *range(19)], "z": range(20), "w": range(20), "y": [0, 1] * 10}
        frame = pandas.DataFrame(numbers).astype({"x": str})
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    assert main(["select", str(path), "--target", "y", "--quiet"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "too large" in error
    assert kind == "xlsx" or "'x'" in error


def test_limits_can_be_raised_and_lowered(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1,2\n" * 10)
    for what, limit, enough in (("bytes", 20, 44), ("cells", 10, 22), ("columns", 1, 2)):
        assert main(["select", str(path), "--target", "y", f"--max-{what}", str(limit)]) == 1
        error = capsys.readouterr().err
        assert f"has more than {limit} {what}; --max-{what} raises this limit" in error
        assert len(read_table(path, None, Limits()._replace(**{what: enough})).frame) == 10
    with pytest.raises(TableError, match="--max-cells"):
        load_table(path, "y", max_cells=3)
    for kind in ("xlsx", "parquet"):
        other = tmp_path / f"table.{kind}"
        frame = pandas.read_csv(path)
        frame.to_excel(other, index=False) if kind == "xlsx" else frame.to_parquet(other)
        for what in ("cells", "columns"):
            with pytest.raises(TableError, match=f"--max-{what}"):
                read_table(other, None, Limits()._replace(**{what: 1}))
