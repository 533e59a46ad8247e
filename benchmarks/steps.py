"""Time per step of the paper's method, the evaluation itself left out.

Run ``python benchmarks/steps.py``; prints a table and writes ``benchmarks/steps.json``. Times depend on the
machine: the floor measured in the same run, one rank-1 update and one product with a matrix of the problem's
feature dimension, says how much of them is ours.
"""

import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

import dagsearch as ds

STEPS = 1_200
SEED = 0
OUT = Path(__file__).with_suffix(".json")


def subsets() -> ds.Search:
    """784 choose 10 with the settings of section 4.3."""
    weights = np.random.default_rng(SEED).normal(size=784)
    problem = ds.problems.Subsets(784, 10, lambda chosen: float(weights[list(chosen)].sum()))
    return ds.Search.paper(problem, beta=0.5, noise=1e-4, standardize=20, seed=SEED)


def tic_tac_toe() -> ds.Search:
    """Tic-Tac-Toe with the settings of section 4.2."""
    return ds.Search.paper(ds.problems.TicTacToe(), c=0.5, noise=0.1, beta=1.0, seed=SEED)


def seconds_per_step(make: Callable[[], ds.Search]) -> tuple[float, int]:
    """Mean seconds of an ask and a tell over all steps, and the nodes in the end."""
    make().run(30)  # compile
    search = make()
    spent = 0.0
    for _ in range(STEPS):
        start = time.perf_counter()
        proposal = search.ask()
        spent += time.perf_counter() - start
        reward = search.problem.reward(proposal.leaf)
        start = time.perf_counter()
        search.tell(proposal, reward)
        spent += time.perf_counter() - start
    return spent / STEPS, len(search.explored.graph)


def floor(dimension: int) -> float:
    """Seconds of one symmetric rank-1 update and one symmetric product."""
    matrix, vector = np.asfortranarray(np.eye(dimension)), np.ones(dimension)
    repeats = 200
    start = time.perf_counter()
    for _ in range(repeats):
        dsyr(-1e-9, dsymv(1.0, matrix, vector), a=matrix, overwrite_a=True)
    return (time.perf_counter() - start) / repeats


def main() -> None:
    """Measure, print, write."""
    rows = {}
    for name, make, dimension in (("784 choose 10", subsets, 785), ("Tic-Tac-Toe", tic_tac_toe, 19)):
        step, nodes = seconds_per_step(make)
        least = floor(dimension)
        rows[name] = {
            "ms_per_step": round(1e3 * step, 3),
            "floor_ms": round(1e3 * least, 4),
            "ratio": round(step / least, 2),
            "nodes": nodes,
        }
        print(f"{name:14} {1e3 * step:7.3f} ms a step, {step / least:6.1f} × the floor, {nodes} nodes")
    settings = {"steps": STEPS, "seed": SEED, "cpu": platform.machine(), "python": platform.python_version()}
    settings |= {name: version(name) for name in ("dagsearch", "numpy", "scipy", "numba")}
    OUT.write_text(json.dumps({"settings": settings, "results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
