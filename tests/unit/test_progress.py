"""Progress: a bar, and no output at all where it cannot be written."""

import io
import os
import subprocess
import sys

import pytest

from dagsearch.report.progress import Progress
from support.processes import environment


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, total, shown=True, done=0):
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(total, "subset", shown, done) as bar:
        for step in range(done, total):
            bar.update(None if step < 3 else 0.5)
    return stream.getvalue()


def test_a_log_gets_few_updates(monkeypatch):
    text = shown(monkeypatch, io.StringIO(), 1000)
    assert "1000/1000" in text
    assert text.count("\r") < 5


def test_a_resumed_run_counts_what_was_done(monkeypatch):
    assert "60/100" in shown(monkeypatch, io.StringIO(), 100, done=60)


def test_a_terminal_gets_a_bar_and_nothing_unless_wanted(monkeypatch):
    text = shown(monkeypatch, Terminal(), 20)
    assert "20/20" in text
    assert "best=0.5" in text
    assert shown(monkeypatch, Terminal(), 20, shown=False) == ""


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_stream_that_cannot_be_written_to_is_no_error(monkeypatch, stream, error):
    failing = stream()

    def fail(*_):
        raise error

    monkeypatch.setattr(failing, "write", fail, raising=False)
    monkeypatch.setattr(failing, "flush", fail, raising=False)
    shown(monkeypatch, failing, 20)


RUN = """
import dagsearch as ds
result = ds.search(ds.problems.Subsets(12, 3, reward=sum), 30, seed=0, progress=True)
print(len(result.history))
"""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_a_search_whose_standard_error_is_closed_or_full_succeeds(stderr):
    command = f"exec {sys.executable} -c '{RUN}' {stderr}"
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, env=environment(), text=True)
    assert (done.returncode, done.stdout) == (0, "30\n")
