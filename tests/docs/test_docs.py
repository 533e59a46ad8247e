"""Every code block of README and docs runs, and the README's commands are what CI runs."""

import ast
import itertools
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.cli import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page, language):
    return [code for found, code in BLOCK.findall(page.read_text()) if found == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for number, code in enumerate(blocks(page, "python"), start=1):
        exec(compile(code, f"{page.name}, block {number}", "exec"), namespace)


def block_with(page, text):
    (found,) = [code for code in blocks(page, "python") if text in code]
    return found


def not_beaten(aims):
    return {own for own in aims if not any(other != own and np.all(np.array(other) >= own) for other in aims)}


def area_below(aims, lowest):
    """Of the points that some of these are better than in both aims."""
    area, height = 0.0, lowest[1]
    for first, second in sorted(aims, reverse=True):
        area += max(second - height, 0.0) * (first - lowest[0])
        height = max(height, second)
    return area


def test_two_aims_give_a_pareto_set():
    namespace = {"ds": ds}
    exec(block_with(ROOT / "docs" / "faq.md", "pareto ="), namespace)
    assert namespace["measured"].cache_info().misses == 100
    measured, options, aims = (namespace[name] for name in ("measured", "options", "aims"))
    every = {measured(*values) for values in itertools.product(*options.values())}
    assert len(aims) == 100
    best = not_beaten(every)
    assert (len(every), len(best)) == (1200, 74)
    assert set(namespace["pareto"].values()) == not_beaten(set(aims.values()))
    assert len(best & set(namespace["pareto"].values())) > 37
    lowest = np.min(list(every), axis=0)
    assert area_below(aims.values(), lowest) > 0.98 * area_below(every, lowest)
    some = random.Random(0).sample(sorted(every), 100)
    assert area_below(some, lowest) < 0.9 * area_below(every, lowest)


@pytest.mark.slow
def test_measurements_on_disk_are_shared_by_processes_and_survive(tmp_path):
    pytest.importorskip("joblib")
    changes = {
        "from functools import cache": "import dagsearch as ds, joblib, os, pathlib, tempfile",
        "@cache ": '@joblib.Memory("measured", verbose=0).cache ',
        "    stiffness, density =": "    os.close(tempfile.mkstemp(dir=calls)[0])\n    stiffness, density =",
        "known=known)": 'known=known, n_jobs=2, storage=f"{weight}.db")',
    }
    code = block_with(ROOT / "docs" / "faq.md", "pareto =")
    for before, after in changes.items():
        assert code.count(before) == 1
        code = code.replace(before, after)
    script = tmp_path / "beams.py"
    script.write_text(
        f"calls = {str(tmp_path / 'calls')!r}\n{code}\nprint(sorted(map(repr, pareto.items())))"
    )
    (tmp_path / "calls").mkdir()
    first, second = (
        subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout
    assert len(list((tmp_path / "calls").iterdir())) == 100


def test_every_block_is_of_a_kind_that_is_run():
    kinds = {(page.name, kind) for page in PAGES for kind, _ in BLOCK.findall(page.read_text())}
    # What runs on a cluster of several machines is tested with one of several processes.
    assert {kind for name, kind in kinds if name != "runs.md"} <= {"python", "sh"}


def test_ci_runs_the_two_commands_of_the_readme():
    everywhere = [code.strip() for page in PAGES for code in blocks(page, "sh")]
    assert all("\n" not in command for command in everywhere)
    commands = [command for command in everywhere if not command.startswith("dagsearch ")]
    assert len(commands) == 2
    assert commands == [line for line in (ROOT / "README.md").read_text().splitlines() if "-m venv" in line]
    assert "grep '^python3 -m venv' README.md" in (ROOT / ".ci" / "run").read_text()


def commands_of(page):
    return [shlex.split(code)[1:] for code in blocks(page, "sh") if code.startswith("dagsearch ")]


# The README's commands are among those of the page on feature selection.
WITH_COMMANDS = [page for page in PAGES if commands_of(page) and page.name != "README.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_of_a_page_run_one_after_the_other(page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    for command in commands_of(page):
        assert main([*command, *(["--quiet"] if command[0] == "select" else [])]) == 0
    assert "cross-validated" in capsys.readouterr().out
    assert (tmp_path / "report" / "report.html").exists()


def test_commands_of_the_readme_are_run():
    assert commands_of(ROOT / "README.md") == commands_of(ROOT / "docs" / "feature-selection.md")


def test_pictures_of_the_report_show_the_tutorials_last_command():
    script = ast.parse((ROOT / "experiments" / "report_pictures.py").read_text())
    texts = [node.value for node in ast.walk(script) if isinstance(node, ast.Constant)]
    (given,) = [text for text in texts if isinstance(text, str) and text.startswith("select ")]
    *_, last = commands_of(ROOT / "docs" / "tutorial.md")
    assert shlex.split(given) == last[: last.index("--out")]


def test_the_readme_problem_is_short():
    lines = blocks(ROOT / "README.md", "python")[0].splitlines()
    assert len([line for line in lines if line]) < 20


def test_every_kind_of_problem_is_stated_in_ten_lines():
    page = (ROOT / "docs" / "problems.md").read_text()
    section = page.split("## Fourteen problems in ten lines each")[1].split("\n## ")[0]
    stated = [code for _, code in BLOCK.findall(section)]
    assert len(stated) == 14
    assert all(len([line for line in code.splitlines() if line]) <= 10 for code in stated)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_importing_the_package_is_silent_and_leaves_the_slow_imports_out():
    code = (
        "import dagsearch, sys; slow = ('sklearn', 'matplotlib', 'pandas', 'scipy.special', 'scipy.linalg', "
        "'numba', 'tqdm'); print([name for name in slow if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_public_names_are_on_one_page():
    page = (ROOT / "docs" / "api" / "index.md").read_text().partition("## Versions")[0]
    assert set(re.findall(r"`(\w+)`", page)) >= set(ds.__all__)
    assert set(dir(ds)) == {*ds.__all__, "__version__"}


def test_the_version_is_one():
    assert f"version: {ds.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    first = re.search(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first.group(1) == ds.__version__


def test_every_test_that_the_promises_name_exists():
    promises = (ROOT / "docs" / "runs.md").read_text().partition("## What is promised")[2]
    named = set(re.findall(r"`(test_\w+)(?:\.py)?`", promises))
    files = list((ROOT / "tests").glob("**/*.py"))
    there = {
        name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 20
    assert named <= there | {file.stem for file in files}
    for promise in re.split(r"^\d+\. ", promises, flags=re.MULTILINE)[1:]:
        assert re.search(r"`test_\w+(\.py)?`", promise), promise


def test_the_site_has_every_page_in_its_navigation():
    shown = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    pages += [
        f"gallery/{readme.parent.name}/index.md" for readme in ROOT.glob("experiments/gallery/*/README.md")
    ]
    assert [page for page in pages if not re.search(rf"\b{re.escape(page)}\b", shown)] == []
