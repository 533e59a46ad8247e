"""Time to resume a long run from its storage."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dagsearch.problems import Subsets
from dagsearch.search import Search
from experiments.speed.results import SEED, Figure, Measurement

_MAKERS: dict[str, Callable[..., Search]] = {"default": Search.default, "paper": Search.paper}


def replay(quick: bool) -> Measurement:
    """Seconds of ``Search.resume`` after many evaluations of 10 of 64, by both methods."""
    evaluations = 100 if quick else 10_000
    found = {name: _seconds(name, evaluations) for name in _MAKERS}
    figures = [
        Figure(f"replay of {evaluations:,} evaluations, {name} method", took["replay_s"], "s", 20.0)
        for name, took in found.items()
    ]
    return Measurement("replay", figures, found, quick)


def _seconds(name: str, evaluations: int) -> dict[str, float]:
    weights = np.random.default_rng(SEED).normal(size=64)

    def reward(chosen: frozenset[int]) -> float:
        return float(weights[sorted(chosen)].sum())

    problem = Subsets(64, 10, reward, positions=np.indices((8, 8)).reshape(2, -1).T)
    with tempfile.TemporaryDirectory() as folder:
        storage = Path(folder) / "run.db"
        search = _MAKERS[name](problem, seed=SEED, storage=storage)
        began = time.process_time()
        search.run(evaluations)
        ran = time.process_time() - began
        search.close()
        began = time.process_time()
        Search.resume(storage, problem).close()
        return {"run_s": ran, "replay_s": time.process_time() - began}
