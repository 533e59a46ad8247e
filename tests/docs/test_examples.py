"""Every script in examples/ runs by itself and has something to say."""

import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def run(script, *arguments, typed="", cwd=None):
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, cwd=cwd, input=typed, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_runs(script, tmp_path):
    done = run(script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.slow
def test_a_person_can_play_and_win():
    """Nim with two piles of one, who takes the last one loses: the first to move cannot but win."""
    (script,) = (path for path in SCRIPTS if path.name == "play.py")
    done = run(script, "nim(pile_sizes=1;1)", typed="9\npile:1, take:1;\n")
    assert "'9' is not possible here" in done.stdout
    assert "the search plays pile:2, take:1;" in done.stdout
    assert done.stdout.endswith("you win\n")


@pytest.mark.slow
def test_the_example_with_a_language_model_finds_its_most_probable_text():
    (script,) = (path for path in SCRIPTS if path.name == "language_model.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    verses = script.read_text().split('VERSES = """')[1].split('"""')[0].split()
    follows = {
        word: Counter(b for a, b in pairwise(verses) if a == word) or Counter(verses) for word in verses
    }
    best = dict.fromkeys(verses, 0.0)
    for _ in range(8):
        best = {
            word: max(math.log(count / after.total()) + best[other] for other, count in after.items())
            for word, after in follows.items()
        }
    assert f"log-likelihood {best['sun']:.3f}" in done.stdout


def test_there_are_examples():
    assert SCRIPTS
