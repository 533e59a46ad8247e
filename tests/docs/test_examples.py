"""Every script in examples/ runs by itself and has something to say."""

import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_runs(script, tmp_path):
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


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
