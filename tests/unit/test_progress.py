"""Progress: a bar in a terminal, a few lines elsewhere."""

import io
import os
import subprocess
import sys

import pytest

from dagsearch.report.progress import Progress
from support.processes import PATIENCE, environment

needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, total, shown=True, done=0):
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(total, "subset", shown, done) as bar:
        for step in range(done, total):
            bar.update(None if step < 3 else 0.5)
    return stream.getvalue()


@pytest.mark.parametrize(("total", "lines"), [(1000, 11), (100, 11), (10, 10), (4, 4), (1, 1)])
def test_a_log_gets_at_most_eleven_lines(monkeypatch, total, lines):
    text = shown(monkeypatch, io.StringIO(), total)
    assert len(text.splitlines()) == lines
    assert text.splitlines()[-1].startswith(f"{total} of {total} subsets")
    assert "\r" not in text
    assert ("best 0.5" in text) == (total > 3)


def test_a_resumed_run_counts_what_was_done(monkeypatch):
    lines = shown(monkeypatch, io.StringIO(), 100, done=60).splitlines()
    assert [line.split()[0] for line in lines] == ["61", "70", "80", "90", "100"]


def test_a_terminal_gets_a_bar(monkeypatch):
    text = shown(monkeypatch, Terminal(), 20)
    assert "20/20" in text
    assert "best=0.5" in text


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_nothing_is_shown_unless_wanted(monkeypatch, stream):
    assert shown(monkeypatch, stream(), 20, shown=False) == ""


class Failing(io.StringIO):
    """Writes nothing, for one reason or another."""

    def __init__(self, error, terminal):
        super().__init__()
        self.error, self.terminal = error, terminal

    def isatty(self):
        return self.terminal

    def write(self, text):
        raise self.error

    def flush(self):
        raise self.error


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError(28, "No space left on device"), ValueError("I/O on closed file")]
)
def test_a_stream_that_cannot_be_written_to_is_no_error(monkeypatch, error, terminal):
    shown(monkeypatch, Failing(error, terminal), 20)


RUN = """
import dagsearch as ds
result = ds.search(ds.problems.Subsets(12, 3, reward=sum), 30, seed=0, progress=True)
print(len(result.history))
"""


def run_with(stderr):
    """Exit code and output of a search that shows its progress where ``stderr`` says."""
    command = f"exec {sys.executable} -c '{RUN}' {stderr}"
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, env=environment(), text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("stderr", ["2>&-", pytest.param("2>/dev/full", marks=needs_full)])
def test_a_search_whose_standard_error_is_closed_or_full_succeeds(stderr):
    assert run_with(stderr) == (0, "30\n")


def test_a_search_whose_terminal_goes_away_succeeds():
    master, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN], stdout=subprocess.PIPE, stderr=terminal, env=environment(), text=True
    )
    os.close(terminal)
    os.close(master)
    try:
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out) == (0, "30\n")
