"""Memory of the explored DAG and the beliefs about it, each size in its own process."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from dagsearch.proposers.expansions import AllChildren
from dagsearch.search import Search
from experiments.speed.results import SEED, Figure, Measurement

# Bytes of an integer in CPython, the state of the problem below.
_STATE = 32
_MILLION = 1_000_000


class Numbers:
    """Three choices out of ``branching`` each; a state is one small integer."""

    def __init__(self, branching: int = 1_000) -> None:
        self.branching_factor = branching

    def root(self) -> int:
        """Nothing chosen."""
        return 1

    def actions(self, state: int) -> range:
        """The next choice."""
        return range(self.branching_factor if state < self.branching_factor**3 else 0)

    def step(self, state: int, action: int) -> int:
        """One more digit."""
        return state * self.branching_factor + action

    def items(self, state: int) -> list[tuple[int, int]]:
        """One feature for every place and choice."""
        found: list[tuple[int, int]] = []
        while state > 1:
            state, choice = divmod(state, self.branching_factor)
            found.append((len(found), choice % 50))
        return found

    def reward(self, leaf: int) -> float:
        """Cheap."""
        return float(leaf % 97) / 97.0


def memory(quick: bool) -> Measurement:
    """Bytes per node as the DAG grows, and the whole process with a million nodes."""
    sizes = [10_000, 30_000] if quick else [10_000, 100_000, _MILLION]
    found = [_in_its_own_process(nodes) for nodes in sizes]
    last = found[-1]
    each = Figure("memory per node", last["bytes_per_node"], "bytes, the user's state aside", 400.0)
    all_of_it = Figure(
        "memory of a process with 1,000,000 nodes, at its peak", last["peak_bytes"] / 1e9, "GB", 1.0
    )
    return Measurement("memory", [each, all_of_it], {"sizes": found, "state_bytes": _STATE}, quick)


def _in_its_own_process(nodes: int) -> dict[str, Any]:
    code = f"from experiments.speed.memory import report; report({nodes})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def report(nodes: int) -> None:
    """Print the memory of a search with ``nodes`` nodes as JSON; for a process that does nothing else."""
    sys.stdout.write(json.dumps(measured(nodes)))


def measured(nodes: int) -> dict[str, Any]:
    """Memory of a search with ``nodes`` nodes."""
    search = Search.paper(Numbers(), expansion=AllChildren(), seed=SEED)
    search.run(3)  # compile
    assert search.explored is not None
    before, already = _resident(), len(search.explored.graph)
    fill(search, nodes)
    search.run(1)  # includes what a step allocates
    count = len(search.explored.graph)
    own = (_resident() - before) / (count - already) - _STATE
    return {"nodes": count, "bytes_per_node": own, "resident_bytes": _resident(), "peak_bytes": _peak()}


def fill(search: Search, nodes: int) -> None:
    """Expand nodes at the boundary until the DAG has ``nodes`` nodes."""
    explored, descent = search.explored, search.portfolio.descent
    assert explored is not None
    assert descent is not None
    descent.expansion.expand(explored, explored.root)
    waiting = explored.graph.children(explored.root).tolist()
    while len(explored.graph) < nodes:
        descent.expansion.expand(explored, waiting.pop(0))


def _resident() -> int:
    """Resident bytes of the process, or its peak where the system does not state them."""
    return _status("VmRSS") or _largest()


def _peak() -> int:
    """Peak of the process's resident bytes."""
    return _status("VmHWM") or _largest()


def _status(name: str) -> int | None:
    # Preferred to getrusage, where a process starts with the peak of its parent.
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _largest() -> int:
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest
