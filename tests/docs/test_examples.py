"""Every script in examples/ is short, and prints what its head says; the notebook runs from top to bottom."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
PLAY = EXAMPLES / "play_a_game.py"  # waits for a person


def run(script, *arguments, typed="", cwd=None):
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, cwd=cwd, input=typed, capture_output=True, text=True)


def words(text):
    """What is printed, without numbers, whose last digits may depend on versions, and without spaces."""
    return re.sub(r"[\d.]+", "#", text).split()


@pytest.mark.slow
@pytest.mark.parametrize("script", [one for one in SCRIPTS if one != PLAY], ids=lambda script: script.name)
def test_an_example_prints_what_its_head_says(script, tmp_path):
    head = ast.get_docstring(ast.parse(script.read_text()))
    done = run(script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words(done.stdout) == words(head.partition("rints:\n\n")[2])


def test_examples_are_short():
    assert len(SCRIPTS) == 10
    assert all(len(script.read_text().splitlines()) <= 60 for script in SCRIPTS)


@pytest.mark.slow
def test_a_person_can_play_and_win():
    """Nim with two piles of one, who takes the last one loses: the first to move cannot but win."""
    done = run(PLAY, "nim(pile_sizes=1;1)", typed="9\npile:1, take:1;\n")
    assert "'9' is not possible here" in done.stdout
    assert "the search plays pile:2, take:1;" in done.stdout
    assert done.stdout.endswith("you win\n")


@pytest.mark.slow
def test_the_notebook_runs(tmp_path):
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    NotebookClient(
        notebook, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()  # raises the first error
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert sum("text/html" in data for data in shown) >= 2  # result, frame
    assert any("image/png" in data for data in shown)
    assert (tmp_path / "page.html").exists()
