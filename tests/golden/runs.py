"""Stored runs: every later 1.x version must resume them, and those of one version go on as they did.

``PYTHONPATH=.. python runs.py --write FOLDER NAME...`` writes runs, and ``runs.json`` next to them. Those of
the default search are written anew whenever the default changes.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import dagsearch as ds
from compositions import asynchronously, digest, run, weighted
from dagsearch.posterior import scores_for
from dagsearch.proposers.expansions import AllChildren
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.values.backups import MomentMatching
from support.small import Nim

HERE = Path(__file__).parent


def nim_parts():
    return {
        "scores": scores_for(ds.covariances.Overlap(), 1.0),
        "proposers": ds.proposers.Descent(UpperConfidence(1.0), ds.rollouts.Uniform(), AllChildren()),
        "backup": MomentMatching(prior=(0.0, 1.0)),
    }


def begin_default(storage):
    search = asynchronously(ds.Search.default(weighted(20, 4), initial=6, seed=0, storage=storage))
    search.note({"mine": [1, 2.5, "text"]})
    mine = frozenset({1, 5, 11, 19})
    search.propose(mine, search.problem.path_to(mine))
    search.run(10)
    search.ask(2)
    return search


def begin_nim(storage):
    return run(ds.Search(Nim(), **nim_parts(), seed=0, storage=storage), 20)


def begin_noisy(storage):
    search = ds.Search.default(weighted(20, 4), noisy=True, initial=6, seed=0, storage=storage)
    return run(asynchronously(search, rounds=10), 5)


BEGIN: dict[str, Callable[[Path], ds.Search]] = {
    "default": begin_default,
    "noisy": begin_noisy,
    "paper": lambda storage: asynchronously(
        ds.Search.paper(weighted(20, 4), seed=0, standardize=5, storage=storage)
    ),
    "game": begin_nim,
}

RESUME: dict[str, Callable[[Path], ds.Search]] = {
    "default": lambda storage: ds.Search.resume(storage, weighted(20, 4)),
    "noisy": lambda storage: ds.Search.resume(storage, weighted(20, 4)),
    "paper": lambda storage: ds.Search.resume(storage, weighted(20, 4)),
    "game": lambda storage: ds.Search.resume(storage, Nim(), **nim_parts()),
}


def go_on(search: ds.Search) -> ds.Search:
    """Some evaluations more."""
    search.run(12)
    search.close()
    return search


def replayed(name: str, folder: Path, kept: Path = HERE) -> dict[str, object]:
    """What a copy of a stored run is resumed to, and where it goes on to."""
    storage = Path(shutil.copy(kept / f"{name}.db", folder))
    search = RESUME[name](storage)
    return {"resumed": digest(search), "continued": digest(go_on(search))}


def write(folder: Path, names: Sequence[str]) -> None:
    """Write runs anew, and what they are resumed to; the others in the folder stay as they are."""
    for name in names:
        (folder / f"{name}.db").unlink(missing_ok=True)
        BEGIN[name](folder / f"{name}.db").close()
    table = folder / "runs.json"
    found = json.loads(table.read_text()) if table.exists() else {}
    with tempfile.TemporaryDirectory() as copies:
        found |= {name: replayed(name, Path(copies), folder) for name in names}
    table.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__" and sys.argv[1:2] == ["--write"]:
    write(Path(sys.argv[2]), sys.argv[3:] or list(BEGIN))
