import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dagsearch
from dagsearch import cli
from dagsearch.cli import demo
from dagsearch.tables import load_table
from support.processes import environment
from support.runs import events


def test_version(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.strip() == f"dagsearch {dagsearch.__version__}"


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["demo", "--budget", "0"], ["demo", "--budget", "x"]])
def test_bad_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [["show"], ["resume", "--problem", "a:b"], ["report", "--out", "page.html"], ["export"], ["watch"]],
)
def test_a_table_is_no_run(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("a,b\n1,2\n")
    assert cli.main([*command, "table.csv"]) == 1
    assert "table.csv: file is not a database" in capsys.readouterr().err
    assert Path("table.csv").read_text() == "a,b\n1,2\n"
    assert cli.main([*command, "missing.db"]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_a_page_replaces_only_pages(tmp_path, capsys):
    before = run_in(tmp_path).read_bytes()
    with pytest.raises(SystemExit):
        cli.main(["report", str(tmp_path / "run.db"), "--out", str(tmp_path / "run.db")])
    assert "must be a name that ends in .html" in capsys.readouterr().err
    assert (tmp_path / "run.db").read_bytes() == before


def test_demo(capsys):
    assert cli.main(["demo", "--budget", "40"]) == 0
    shown = capsys.readouterr().out
    rows = {line[:14].strip(): line.split() for line in shown.splitlines()}
    ours, random, everything = (
        float(rows[name][-1]) for name in ("dagsearch", "random search", "all pixels")
    )
    assert random < ours < everything
    assert sum(line.count("# ") + line.endswith("#") for line in shown.splitlines()) == 10


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_outside_the_search_leaves_no_traceback(monkeypatch, capsys):
    monkeypatch.setattr(demo, "run", lambda _: signal.raise_signal(signal.SIGINT))
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(("name", "target"), [("cancer", "diagnosis"), ("shop", "left")])
def test_example_tables(name, target, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["example", name]) == 0
    assert f"wrote {name}.csv" in capsys.readouterr().out
    table = load_table(f"{name}.csv", target)
    assert len(table.classes) == 2
    assert cli.main(["example", name]) == 1
    assert f"{name}.csv exists: use it" in capsys.readouterr().err
    assert cli.main(["example", name, "nowhere/table.csv"]) == 1
    assert "nowhere" in capsys.readouterr().err


def run_in(folder):
    """A run that commands can read."""
    path = folder / "run.db"
    dagsearch.search(dagsearch.problems.Subsets(8, 3, reward=sum), 6, seed=0, storage=path)
    return path


COMMANDS = ["show run.db", "report run.db --out page.html", "export run.db"]


def run_in_shell(command, folder):
    """Exit code of a command, and what it says on standard error."""
    whole = f"exec {sys.executable} -m dagsearch {command}"
    done = subprocess.run(["sh", "-c", whole], cwd=folder, env=environment(), capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", COMMANDS)
def test_output_to_a_full_disk_is_an_error_in_one_line(command, tmp_path):
    run_in(tmp_path)
    code, said = run_in_shell(f"{command} >/dev/full", tmp_path)
    assert code == 1
    assert re.fullmatch(r"dagsearch \w+: error: .*No space left.*\n", said)
    assert run_in_shell(f"{command} >/dev/full 2>/dev/full", tmp_path)[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_closed_output_is_no_error(command, tmp_path):
    run_in(tmp_path)
    assert run_in_shell(f"{command} >&-", tmp_path) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-"])
def test_workers_start_though_standard_streams_are_closed(streams, tmp_path):
    code = (
        "import dagsearch as ds; from support.problems import Sum; "
        "open('count', 'w').write(str(len(ds.search(Sum(), 6, seed=0, n_jobs=2).history)))"
    )
    whole = f'exec {sys.executable} -c "{code}" {streams}'
    subprocess.run(["sh", "-c", whole], cwd=tmp_path, env=environment(), check=True)
    assert (tmp_path / "count").read_text() == "6"


def test_a_run_is_exported_and_imported(tmp_path, capsys):
    path, lines, copy = run_in(tmp_path), tmp_path / "run.jsonl", tmp_path / "copy.db"
    assert cli.main(["export", str(path)]) == 0
    lines.write_text(capsys.readouterr().out)
    assert cli.main(["import", str(lines), str(copy)]) == 0
    assert cli.main(["import", str(lines), str(copy)]) == 1
    assert "has a run named 'run' already" in capsys.readouterr().err
    assert cli.main(["import", str(lines), str(copy), "--name", "second"]) == 0
    assert events(copy, name="run") == events(copy, name="second") == events(path)
    for name, code in (("second", 0), ("third", 1)):
        assert cli.main(["show", str(copy), "--name", name]) == code
    assert cli.main(["show", str(copy)]) == 1
    *_, missing, several = capsys.readouterr().err.splitlines()
    assert missing.endswith("copy.db has no run named 'third'")
    assert several.endswith("copy.db has several runs: give the name of one of them ('run', 'second')")


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "[1]\n", '{"run": {"name": "a"}}\n', "\xff"])
def test_what_was_not_exported_is_not_imported(text, tmp_path, capsys):
    (tmp_path / "lines").write_bytes(text.encode("latin-1"))
    assert cli.main(["import", str(tmp_path / "lines"), str(tmp_path / "new.db")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert cli.main(["show", str(tmp_path / "new.db")]) == 1
