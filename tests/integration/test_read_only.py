"""Where nothing can be written: no home, a read-only installation."""

import subprocess
import sys

import pytest

from support.processes import PATIENCE, environment

# Numba asks every folder that it could use in this way whether it can be written to.
READ_ONLY = """
import numba.core.caching
def refuse(self):
    raise OSError(30, "Read-only file system")
numba.core.caching._CacheLocator.ensure_cache_path = refuse
"""
BASELINE = "import dagsearch as ds; ds.baselines.uct(ds.problems.Subsets(5, 2, sum), seed=0).run(5)"
VERSION = "from dagsearch.cli import main; main(['--version'])"


@pytest.mark.slow
@pytest.mark.parametrize("what", [BASELINE, VERSION])
def test_nothing_needs_to_be_written(what):
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY + what],
        env=environment(HOME="/nonexistent", PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
