"""What makes searches fast and must not be lost: compiled code that is kept, and one BLAS thread."""

import os
import subprocess
import sys

import pytest

_COMPILED_BY = """
import sys
import dagsearch as ds

ds.search(ds.problems.Subsets(20, 4, reward=lambda chosen: float(sum(chosen))), 30, seed=0)
ds.Search.paper(ds.problems.TicTacToe(), seed=0).run(30)
ds.Search.paper(ds.problems.TicTacToe(), backup=ds.backups.Softmax(), seed=0).run(30)
ds.baselines.uct(ds.problems.TicTacToe(), seed=0).run(30)
modules = [module for name, module in list(sys.modules.items()) if name.startswith("dagsearch")]
found = {id(one): one for module in modules for one in vars(module).values()}
called = [one for one in found.values() if type(one).__name__ == "CPUDispatcher"]
print(sorted(one.__name__ for one in called if one.stats.cache_misses))
"""


@pytest.mark.slow
def test_nothing_is_compiled_twice(tmp_path):
    """A function that closes over another compiled one would be, by every process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _COMPILED_BY], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    )
    assert "_value_pass" in first
    assert second == "[]"


def test_a_run_can_be_stored_without_compilation(tmp_path):
    """As a debugger or a coverage tool wants it."""
    code = f"""
import dagsearch as ds

problem = ds.problems.Subsets(8, 3, reward=lambda chosen: float(sum(chosen)))
path = {str(tmp_path / "run")!r}
search = ds.Search.paper(problem, expansion=ds.expansions.OneChild(), storage=path, seed=0)
print(len(search.run(6).history))
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "6"), done.stderr


@pytest.mark.slow
def test_every_blas_has_one_thread_while_a_search_thinks():
    """SciPy brings one of its own, and is imported late."""
    code = """
import dagsearch as ds
from threadpoolctl import threadpool_info

seen = []

class Noting(ds.problems.Subsets):
    def step(self, state, action):
        if search is not None and len(seen) < 20:  # a look takes milliseconds
            seen.append({one["filepath"]: one["num_threads"] for one in threadpool_info()
                         if one["user_api"] == "blas"})
        return super().step(state, action)

search = None
problem = Noting(200, 3, reward=lambda chosen: float(sum(chosen)))
search = ds.Search.paper(problem, seed=0)
search.run(3)
import scipy.linalg

now = {one["filepath"] for one in threadpool_info() if one["user_api"] == "blas"}
print(seen != [] and all(set(libraries) == now and set(libraries.values()) == {1} for libraries in seen))
"""
    environment = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    environment["OPENBLAS_NUM_THREADS"] = "2"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
