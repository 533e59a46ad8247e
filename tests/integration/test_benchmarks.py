"""Every experiment of ``python -m experiments``, small; the pages with the committed results."""

import json
import re
from pathlib import Path

import pytest

from experiments import pages
from experiments.__main__ import COMMANDS, main
from experiments.benchmarks import beyond
from experiments.harness import markdown

ROOT = Path(__file__).parents[2]
SMALL = [
    ("reproduce", "steps"),
    ("reproduce", "correlated"),
    ("reproduce", "moves"),
    ("benchmark", "tictactoe"),
    ("benchmark", "batches"),
    ("benchmark", "selection"),
    ("benchmark", "speed"),
    ("benchmark", "long"),
    ("benchmark", "noise"),
    ("benchmark", "costly"),
    ("truth", "search"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), SMALL)
def test_an_experiment_runs_and_names_its_commit(command, name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(beyond, "GAME_STEPS", (25, 50))
    assert main([command, name, "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    (about,) = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert re.fullmatch(r"[0-9a-f]{7,}(, dirty)?|unknown", about["commit"])
    assert {"seed", "versions", "machine"} <= about.keys()
    assert next(tmp_path.glob("*.csv.gz")).stat().st_size > 50
    assert "wrote" in capsys.readouterr().out


def test_every_option_of_an_experiment_is_one_of_its_function(capsys):
    for command, (_, _, experiments) in COMMANDS.items():
        for name, experiment in experiments.items():
            with pytest.raises(SystemExit) as ended:
                main([command, name, "--help"])
            assert ended.value.code == 0
            shown = capsys.readouterr().out
            assert all(f"--{option.replace('_', '-')}" in shown for option in experiment.takes)
    with pytest.raises(SystemExit):
        main(["benchmark", "chess"])
    with pytest.raises(SystemExit):
        main(["benchmark", "batches", "--device", "cpu"])


# What is committed --------------------------------------------------------------------------------------


def test_every_result_names_its_commit():
    """Or says that it was made before commits were recorded."""
    files = [*ROOT.glob("results/**/*.json")]
    assert len(files) > 20
    recorded = re.compile(r"[0-9a-f]{7,}|not recorded; the data were last changed in [0-9a-f]{7}")
    for path in files:
        about = json.loads(path.read_text())
        commit = about.get("commit") or next(iter(about.values()))["commit"]
        assert recorded.fullmatch(commit), path
    described = {path.with_suffix("").with_suffix("") for path in files}
    rows = [*ROOT.glob("results/**/*.csv.gz")]
    alone = {path.name for path in rows if path.with_suffix("").with_suffix("") not in described}
    assert alone <= {"inclusion.csv.gz", "halving.csv.gz"}  # selection.json and scores.json describe them


def test_pages_show_the_results():
    parts, shown = pages.parts(), []
    for page in pages.PAGES:
        text = page.read_text()
        assert markdown.filled(text, parts) == text, f"run python -m experiments.pages: {page}"
        shown += re.findall(r"<!-- (\w+) -->\n", text)
    assert set(shown) == parts.keys() | {"end"}


def test_a_place_is_filled_and_one_without_a_table_is_an_error():
    page = "<!-- a -->\nold\n<!-- end -->\n"
    assert markdown.filled(page, {"a": "new", "b": "not here"}) == "<!-- a -->\n\nnew\n\n<!-- end -->\n"
    with pytest.raises(KeyError):
        markdown.filled(page, {})
