"""What works without the extras: scikit-learn and joblib cannot be imported here."""

import os
import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sklearn", "joblib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import dagsearch as ds
from dagsearch.cli import main
"""

WORKS = """
def score(choose):
    return choose("x", range(20)) - choose("y", [0, 5])

if __name__ == "__main__":
    for settings in ({}, {"storage": "run.db"}, {"n_jobs": 2}, {"noisy": True}):
        result = ds.maximize(score, 12, seed=0, **settings)
        assert len(result.history) == 12
    problem = ds.problems.Subsets(12, 3, reward=sum)
    assert ds.search(problem, 20, seed=0).best_reward > 20
    assert ds.Search.paper(problem, seed=0).run(5).history
    result.report().write("page.html")
    assert main(["show", "run.db"]) == main(["report", "run.db", "--out", "out.html"]) == 0
"""


def run(code, folder):
    path = folder / "script.py"
    path.write_text(BLOCKED + code)
    return subprocess.run(
        [sys.executable, path], cwd=folder, env=os.environ, capture_output=True, text=True, timeout=120
    )


def test_searches_storage_processes_and_pages_need_no_scikit_learn(tmp_path):
    done = run(WORKS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "code",
    [
        "import dagsearch.sklearn",
        "ds.problems.DigitsPixels()",
        "main(['demo'])",
        "main(['select', 'a.csv', '--target', 'b'])",
    ],
)
def test_what_needs_it_says_what_to_install(code, tmp_path):
    done = run(code, tmp_path)
    assert "pip install 'dagsearch[sklearn]'" in done.stderr
    assert done.stderr.rstrip().count("\n") == 0 or "main" not in code
