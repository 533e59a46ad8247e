"""What watching costs: how fast a journal is followed, and how much slower a watched run is.

``python benchmarks/watching.py`` prints both. Blocks of evaluations of one run take turns: in one the journal
is watched by another process, in the next that process is stopped. So the load of the machine matters little.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import dagsearch as ds
from dagsearch.durable.journal import Journal
from dagsearch.durable.lines import content_of
from dagsearch.pages.watched import Watched

EVALUATIONS = 20_000
BLOCK, BLOCKS = 60, 60


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
    large.write_bytes(content_of(large, rows).encode())
    return large


def following(journal: Path) -> None:
    """Prints how long the page takes to read a large journal, and then to show one more evaluation."""
    watched = Watched([journal])
    began = time.perf_counter()
    text = watched.content("")
    first = time.perf_counter() - began
    size = journal.stat().st_size
    began = time.perf_counter()
    watched.content("")
    again = time.perf_counter() - began
    count = json.loads(text)["runs"][0]["evaluations"]
    print(f"{count} evaluations, {size / 1e6:.0f} MB: read and shown in {first:.2f} s")
    print(f"  that is {count / first:.0f} evaluations a second; an update takes {again:.3f} s")
    print(f"  the page's data are {len(text) / 1e3:.0f} kB")


def slowdown(folder: Path) -> None:
    """Prints the time of an evaluation while watched, as a share of the time while not."""
    path = folder / "run.db"
    search = ds.Search.default(ds.problems.Subsets(60, 6, reward=sum), seed=0, journal=path)
    search.run(50)
    command = [sys.executable, "-m", "dagsearch", "watch", str(path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    poller = subprocess.Popen(
        [sys.executable, "-c", _POLL, address + "data"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    ratios = []
    try:
        with urllib.request.urlopen(address) as page:
            page.read()
        for block in range(BLOCKS):
            times = {}
            for watched in (True, False) if block % 2 else (False, True):
                for process in (server, poller):
                    process.send_signal(signal.SIGCONT if watched else signal.SIGSTOP)
                began = time.process_time(), time.perf_counter()
                search.run(BLOCK // 2)
                times[watched] = time.process_time() - began[0], time.perf_counter() - began[1]
            ratios.append([times[True][kind] / times[False][kind] for kind in (0, 1)])
    finally:
        for process in (poller, server):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        search.close()
    for name, kind in (("processor", 0), ("wall clock", 1)):
        found = [ratio[kind] for ratio in ratios]
        error = statistics.stdev(found) / len(found) ** 0.5
        print(
            f"watched / not watched, {name}: median {statistics.median(found):.3f}, "
            f"mean {statistics.fmean(found):.3f} ± {error:.3f} ({len(found)} pairs of blocks)"
        )


_POLL = """
import sys, time, urllib.request
while True:
    with urllib.request.urlopen(sys.argv[1]) as answer:
        answer.read()
    time.sleep(1.0)
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        following(large_journal(Path(name)))
        slowdown(Path(name))
