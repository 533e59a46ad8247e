"""Progress: a bar in a terminal, a few lines elsewhere."""

import io
import sys

import pytest

from dagsearch._internal.progress import Progress


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
