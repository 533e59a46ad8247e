"""What watching costs: how fast a journal is followed, and how much slower a watched run is.

``python -m experiments.speed.watching`` prints both and writes ``results/watching/watching.json``. Blocks of
evaluations of one run take turns: in one the journal is watched by another process, in the next that process
is stopped. So the load of the machine matters little.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dagsearch as ds
from dagsearch.journal.journal import Journal
from dagsearch.journal.lines import LENGTH, Head, encode_event
from dagsearch.report.report import Watched

EVALUATIONS, RATE = 20_000, 1000
BLOCK, PAIRS = 5, 900
RESULTS = Path(__file__).resolve().parents[2] / "results" / "watching" / "watching.json"


def large_journal(folder: Path) -> Path:
    """A journal of many evaluations, from the events of a small one."""
    small, large = folder / "small.db", folder / "large.db"
    search = ds.Search.default(ds.problems.Subsets(40, 6, reward=sum), seed=0, journal=small)
    search.run(200)
    search.close()
    journal, events = Journal.resume(small)
    journal.close()
    body = [event for event in events if event.kind in ("ask", "tell")]
    first, *_ = events
    rows = [("settings", first.at, json.dumps(first.content))]
    while len(rows) <= 2 * EVALUATIONS:
        rows += [(event.kind, event.at, json.dumps(event.content)) for event in body]
    lines, digest = list[bytes](), ""
    for number, row in enumerate(rows):
        line, digest = encode_event(digest, number, *row)
        lines.append(line)
    head = Head(len(lines), LENGTH + sum(map(len, lines)), digest)
    large.write_bytes(b"".join([2 * head.encode(), *lines]))
    return large


def following(journal: Path) -> dict[str, float]:
    """How much processor time the page takes to read a large journal, and then to be updated."""
    watched = Watched([journal])
    began = time.process_time()
    text = watched.content("")
    assert text is not None
    first = time.process_time() - began
    size = journal.stat().st_size
    began = time.process_time()
    watched.content("")
    again = time.process_time() - began
    count = json.loads(text)["runs"][0]["evaluations"]
    return {
        "evaluations": count,
        "megabytes": round(size / 1e6, 1),
        "processor seconds to read and show": round(first, 2),
        "evaluations a second": round(count / first),
        "processor seconds of an update": round(again, 3),
    }


def keeping_up(journal: Path, folder: Path) -> dict[str, float]:
    """How far the page is behind a journal that grows by 1,000 evaluations a second, in seconds."""
    path = folder / "growing.db"
    head, *lines = journal.read_bytes()[LENGTH:].splitlines(keepends=True)
    path.write_bytes(journal.read_bytes()[:LENGTH] + head)
    with served(path) as (_, address), path.open("ab", buffering=0) as file:
        behind, began, written, due = [], time.monotonic(), 0, 0.0
        while written < len(lines):
            time.sleep(0.01)
            now = time.monotonic() - began
            # A line when a leaf is asked for, and one of its reward.
            wanted = min(len(lines), int(2 * RATE * now))
            file.write(b"".join(lines[written:wanted]))
            written = wanted
            if now >= due:
                with urllib.request.urlopen(address + "data") as answer:
                    content = json.load(answer)
                due = time.monotonic() - began + content["live"]["every"]
                behind.append((time.monotonic() - began) - content["runs"][0]["evaluations"] / RATE)
    return {
        "evaluations a second": RATE,
        "looks": len(behind),
        "seconds behind, at most": round(max(behind), 2),
    }


@contextmanager
def served(path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A process that serves the page, and its address."""
    command = [sys.executable, "-m", "dagsearch", "watch", str(path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server, server.stdout.readline().strip()
    finally:
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()


@contextmanager
def polled(address: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that asks for the page's data once a second, as a browser does."""
    command = [sys.executable, "-c", _POLL, address + "data"]
    poller = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield poller
    finally:
        poller.send_signal(signal.SIGCONT)
        poller.kill()
        poller.wait()


def slowdown(folder: Path) -> dict[str, Any]:
    """The time of an evaluation while watched, as a share of the time while not."""
    path = folder / "run.db"
    search = ds.Search.default(ds.problems.Subsets(60, 6, reward=sum), seed=0, journal=path)
    search.run(50)
    pairs = []
    with served(path) as (server, address), polled(address) as poller:
        with urllib.request.urlopen(address) as page:
            page.read()
        for block in range(PAIRS):
            times = {}
            for watched in (True, False) if block % 2 else (False, True):
                for process in (server, poller):
                    process.send_signal(signal.SIGCONT if watched else signal.SIGSTOP)
                began = time.process_time(), time.perf_counter()
                search.run(BLOCK)
                times[watched] = time.process_time() - began[0], time.perf_counter() - began[1]
            pairs.append([times[watched] for watched in (True, False)])
    search.close()
    rng, taken = np.random.default_rng(0), np.array(pairs)  # pair, watched or not, kind of time
    draws = taken[rng.integers(len(taken), size=(2000, len(taken)))].sum(axis=1)
    shares = {}
    for kind, name in enumerate(("processor", "wall clock")):
        watched, alone = taken[:, :, kind].sum(axis=0)
        low, high = np.quantile(draws[:, 0, kind] / draws[:, 1, kind], (0.05, 0.95))
        shares[name] = {
            "ratio": round(float(watched / alone), 3),
            "90% interval": [round(float(end), 3) for end in (low, high)],
            "seconds while watched": round(float(watched), 1),
        }
    return {"pairs of blocks": PAIRS, "evaluations of a block": BLOCK, **shares}


_POLL = """
import sys, time, urllib.request
while True:
    with urllib.request.urlopen(sys.argv[1]) as answer:
        answer.read()
    time.sleep(1.0)
"""

if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        large = large_journal(Path(name))
        measurements: dict[str, Callable[[], dict[str, Any]]] = {
            "following": lambda: following(large),
            "keeping up": lambda: keeping_up(large, Path(name)),
            "watched / not watched": lambda: slowdown(Path(name)),
        }
        found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        found |= {one: measurements[one]() for one in sys.argv[1:] or measurements}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))
