"""Time of the import and of the first search of a process."""

import os
import statistics
import subprocess
import sys
import tempfile

from experiments.speed.results import Figure, Measurement

_IMPORT = """
import time
began = time.process_time()
import dagsearch
print(time.process_time() - began)
"""
_FIRST_SEARCH = """
import time
import dagsearch as ds

def search():
    began = time.process_time()
    ds.search(ds.problems.Subsets(20, 4, reward=lambda chosen: float(sum(chosen))), 30, seed=0)
    ds.Search.paper(ds.problems.TicTacToe(), seed=0).run(30)
    return time.process_time() - began

first = search()
print(first - search())
"""


def startup(quick: bool) -> Measurement:
    """Seconds of the import, and by how much a process's first search is slower than its second."""
    repeats = 2 if quick else 7
    _printed(_IMPORT)  # warm-up: the system then has the files in memory
    imports = [_printed(_IMPORT) for _ in range(repeats)]
    colds, warms = [], []
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory() as cache:
            colds.append(_printed(_FIRST_SEARCH, cache))
            warms.append(_printed(_FIRST_SEARCH, cache))
    figures = [
        Figure("import dagsearch", statistics.median(imports), "s", 0.4),
        Figure("pause of a first search, compiled before", statistics.median(warms), "s", 2.0),
        Figure("the same, once after installation", statistics.median(colds), "s", None),
    ]
    return Measurement("startup", figures, {"import_s": imports, "warm_s": warms, "cold_s": colds}, quick)


def _printed(code: str, cache: str | None = None) -> float:
    """The number that a fresh process prints."""
    environment = os.environ if cache is None else os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)
