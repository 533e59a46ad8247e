"""Our page and Optuna's dashboard for docs/watching.md: ``python -m experiments.dashboard_pictures``.

It needs Chromium and Playwright, as the tests of the page do, and ``pip install optuna-dashboard``. The
pictures are what is seen first, of a search that has ended: of the README's first problem in a window of
1,400 × 900 pixels, and of 10 of 300 sensors on a telephone.
"""

import importlib
import importlib.util
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dagsearch as ds
from dagsearch.report import Report
from experiments.screenshots import opened

PICTURES = Path(__file__).resolve().parent.parent / "results" / "watching"
SENSORS = [f"sensor_{i:03d}_{'temperature' if i % 3 else 'pressure_at_the_inlet'}" for i in range(300)]
WINDOWS = {"pipeline": ("wide", 1400), "sensors": ("phone", 390)}
"""Name of the window in which each search is shown, and its width in pixels."""
_PATIENCE = 300_000  # milliseconds that the dashboard may take to draw its figures


def pipeline(choose: Any) -> float:
    """The README's first problem."""
    scaler = choose("scaler", ["none", "standard", "robust"])
    model = choose("model", ["neighbours", "tree"])
    if model == "neighbours":
        return float(0.9 - 0.02 * abs(choose("k", range(1, 16)) - 7) - 0.1 * (scaler == "none"))
    return float(0.7 + 0.02 * choose("depth", [2, 4, 8]))


def measured(chosen: Any) -> float:
    """What some of the sensors are worth together: few of them matter."""
    rng = np.random.default_rng(0)
    worth = rng.normal(size=len(SENSORS)) * (rng.random(len(SENSORS)) < 0.1)
    return float(1.0 / (1.0 + np.exp(1.0 - sum(worth[SENSORS.index(name)] for name in chosen))))


def ours(folder: Path) -> None:
    """The page of both searches."""
    ds.maximize(pipeline, budget=40, seed=0, storage=folder / "pipeline.db")
    sensors = ds.problems.Subsets(SENSORS, 10, reward=measured)
    ds.search(sensors, budget=60, seed=0, storage=folder / "sensors.db")
    for study, (name, width) in WINDOWS.items():
        written = Report.of_runs(folder / f"{study}.db").write(folder / f"{study}.html")
        with opened(written.as_uri(), width) as page:
            page.screenshot(path=PICTURES / f"ours-{name}.png")


def optunas(folder: Path) -> None:
    """The dashboard of the same two searches, the second one by random choices: 300 are slow to model."""
    optuna: Any = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{folder / 'optuna.db'}"

    def choosing(trial: Any) -> float:
        return pipeline(lambda name, options: trial.suggest_categorical(name, list(options)))

    def sensing(trial: Any) -> float:
        return measured([name for name in SENSORS if trial.suggest_categorical(name, [False, True])])

    samplers = optuna.samplers
    kinds = (choosing, samplers.TPESampler(seed=0), 40), (sensing, samplers.RandomSampler(seed=0), 30)
    for study, (reward, sampler, trials) in zip(WINDOWS, kinds, strict=True):
        made = optuna.create_study(storage=storage, study_name=study, direction="maximize", sampler=sampler)
        made.optimize(reward, trials)
    with _dashboard(storage) as address:
        for number, (name, width) in enumerate(WINDOWS.values(), start=1):
            with opened(f"{address}/dashboard/studies/{number}", width) as page:
                page.wait_for_selector("text=Params =", timeout=_PATIENCE)
                # Of the timeline, and of the importances, which come last.
                page.locator("g.bars").nth(1).wait_for(state="attached", timeout=_PATIENCE)
                page.screenshot(path=PICTURES / f"optuna-{name}.png")


@contextmanager
def _dashboard(storage: str) -> Iterator[str]:
    """The address of Optuna's dashboard, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = f"import optuna_dashboard; optuna_dashboard.run_server({storage!r}, port={port})"
    with subprocess.Popen([sys.executable, "-c", serve], stderr=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{address}/api/studies")
                    break
                except OSError:
                    time.sleep(0.2)
            yield address
        finally:
            server.terminate()


if __name__ == "__main__":
    if importlib.util.find_spec("optuna_dashboard") is None:
        sys.exit("the pictures of Optuna's dashboard need it: pip install optuna-dashboard")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        ours(Path(name))
        optunas(Path(name))
