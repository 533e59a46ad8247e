"""Every code block of README and docs runs, and the README's commands are what CI runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dagsearch as ds
from dagsearch.cli import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)  # right after a block of Python


def blocks(page, language):
    return [code for found, code in BLOCK.findall(page.read_text()) if found == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run_and_print_what_the_page_shows(page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text(), dict[str, object]()
    for number, block in enumerate(BLOCK.finditer(text), start=1):
        if block[1] != "python":
            continue
        exec(compile(block[2], f"{page.name}, block {number}", "exec"), namespace)
        shown, printed = SHOWN.match(text, block.end()), capsys.readouterr().out
        assert shown is None or shown[1] == printed


def test_every_block_is_of_a_kind_that_is_known():
    kinds = {kind for page in PAGES for kind, _ in BLOCK.findall(page.read_text())}
    assert kinds <= {"python", "sh", "text"}


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
        few = ["--budget", "20"] if command[0] == "select" else []  # the last one counts
        assert main([*command, *few]) == 0
    assert "cross-validated" in capsys.readouterr().out
    assert (tmp_path / "report" / "report.html").exists()


def test_commands_of_the_readme_are_run():
    shown = commands_of(ROOT / "docs" / "feature-selection.md")
    assert all(command in shown for command in commands_of(ROOT / "README.md"))


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
