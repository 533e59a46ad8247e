"""Options, oracles and surroundings that several tests share."""

import os

# Two test processes leave no core for a second thread, and threads that wait for one use CPU time, too.
# This must be set before NumPy is imported, here and in all processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import hashlib
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dagsearch.problem import Problem
from dagsearch.space import Space
from support.browser import running_browser
from support.clock import Clock
from support.postgres import fresh, postgres, storage  # noqa: F401 fixtures

ROOT = Path(__file__).parents[1]


def compiled_sources(folder: Path) -> str:
    """A digest of every module with compiled functions.

    Numba compiles a function again if its own file changes, but not if one that it calls does: with a folder
    of machine code for each version of the sources, no test runs what an edit has replaced.
    """
    sources = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    compiled = [source for source in sources if b"_internal.compiled" in source]
    return hashlib.sha256(b"\0".join(compiled)).hexdigest()[:16]


# Before Numba is imported, here and in all processes that tests start.
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / "build" / "compiled" / compiled_sources(ROOT / "src"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run tests marked long at their full length")


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether a test marked long is to run at its full length; otherwise it runs shortened."""
    return bool(request.config.getoption("--long"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for all tests of a file."""
    with running_browser() as running:
        yield running


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page; what the browser says, or loads besides the page, ends in ``page.noticed``."""
    contexts = []

    def opened(text: str, width: int = 1400) -> Any:
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}))
        page = contexts[-1].new_page()
        page.noticed = []
        page.on("console", lambda message: page.noticed.append(message.text))
        page.on("pageerror", lambda error: page.noticed.append(str(error)))
        page.on("dialog", lambda dialog: (page.noticed.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url == file.as_uri() or page.noticed.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("#evaluations")
        return page

    yield opened
    for context in contexts:
        context.close()


def minimax_of(problem: Problem) -> Callable[[Any], float]:
    """Value of every state under best play, by brute force."""

    @cache
    def value(state: Any) -> float:
        children = [value(problem.step(state, action)) for action in problem.actions(state)]
        if not children:
            return problem.reward(state)
        return max(children) if Space(problem).player(state) > 0 else min(children)

    return value


@pytest.fixture(scope="session")
def minimax() -> Callable[[Problem], Callable[[Any], float]]:
    return minimax_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In place of ``time.perf_counter``: it stands still unless the test moves it."""
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", made)
    return made


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches this process and those it starts, also if pytest itself was told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[Any]:
    """An executor on a Dask cluster of two processes."""
    from support.executors import cluster

    with cluster(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def process_executor() -> Iterator[Any]:
    """An executor of two processes."""
    from support.executors import processes

    with processes(2) as executor:
        yield executor
