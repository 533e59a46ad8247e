"""What a selection found, for people: the dictionary behind ``result.json``, the page and the figures."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import norm

from dagsearch._internal.typing import FloatArray
from dagsearch.errors import ProblemError
from dagsearch.gaussians import Gaussian
from dagsearch.problem import State
from dagsearch.problems.ground import SubsetProblem
from dagsearch.problems.ranges import Partial, Size
from dagsearch.selection.page import fragment, html_page
from dagsearch.selection.run import Entry, SelectionRun

SCHEMA = 1
# What central intervals hold.
CENTRAL = 0.9
# Of a level of the DAG so many nodes are shown beside those on the way to the best subset.
_BREADTH = 5
_CANDIDATES = 12
_REACH = float(norm.ppf(0.5 + CENTRAL / 2.0))


@dataclass(frozen=True)
class Comparison:
    """Another way to choose features."""

    name: str
    """What it is."""
    features: int
    """How many it chose."""
    subsets: int
    """How many subsets it scored."""
    score: float | None
    """Cross-validated, on the same folds; ``None`` if it failed."""
    interval: tuple[float, float] | None = None
    """Central 90%, if it is known."""
    holdout_score: float | None = None
    """On rows that nothing was chosen by."""


class Holdout(NamedTuple):
    """Rows that were kept aside."""

    rows: int
    """How many."""
    score: float | None
    """Of the chosen subset, fitted on the others; ``None`` if it failed."""


class SelectionReport:
    """What a selection found. The dictionary's fields are documented in ``docs/report.md``."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    @classmethod
    def of(
        cls,
        run: SelectionRun,
        names: Sequence[Any],
        inclusion: FloatArray,
        inclusion_interval: FloatArray,
        score_interval: tuple[float, float],
        runners_up: Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any],
        comparisons: Sequence[Comparison],
        holdout: Holdout | None,
        notes: Sequence[str],
    ) -> Self:
        """Gather everything from a run that has ended."""
        from dagsearch import __version__

        names = [str(name) for name in names]
        result = run.search.result()
        best = sorted(result.best_state)
        failures = run.failures_in_words(names)
        content = {
            "schema": SCHEMA,
            "dagsearch": __version__,
            "settings": dict(settings),
            "data": {
                "rows": run.rows,
                "columns": len(names),
                "holdout_rows": None if holdout is None else holdout.rows,
            },
            "result": {
                "features": [names[column] for column in best],
                "score": result.best_reward,
                "score_interval": list(score_interval),
                "probability_best": result.probability_best,
                "stopped": run.stopped,
                "evaluations": len(run.entries),
                "failed": len(run.failures()),
                "seconds": run.entries[-1].seconds if run.entries else 0.0,
                "holdout_score": None if holdout is None else holdout.score,
            },
            "features": _features(run, names, best, inclusion, inclusion_interval),
            "comparisons": [asdict(comparison) for comparison in comparisons],
            "history": [_history(step, entry, names) for step, entry in enumerate(run.entries, start=1)],
            "belief": [{"step": step, "mean": v.mean, **_bounds(v)} for step, v in run.beliefs],
            "substitutes": _substitutes(run, names, best, inclusion),
            "dag": _dag(run, names, frozenset(best)),
            "runners_up": [
                {
                    "features": [str(name) for name in other["features"]],
                    "score": other["score"],
                    "interval": list(other["interval"]),
                }
                for other in runners_up
            ],
            "warnings": [*notes, *([] if failures is None else [failures])],
        }
        # Through JSON and back: what is written and what is shown are the same plain types.
        return cls(json.loads(json.dumps(content, allow_nan=False)))

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as in ``result.json``."""
        return self._content

    def to_html(self) -> str:
        """One page that needs nothing else."""
        return html_page(self._content)

    def write(self, folder: Path) -> list[Path]:
        """Write ``result.json``, ``history.csv`` and ``report.html``; returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / name for name in ("result.json", "history.csv", "report.html")]
        written[0].write_text(json.dumps(self._content, indent=2) + "\n", encoding="utf-8")
        with written[1].open("w", encoding="utf-8", newline="") as file:
            _write_history(file, self._content["history"])
        written[2].write_text(self.to_html(), encoding="utf-8")
        return written

    def _repr_html_(self) -> str:
        return fragment(self._content)

    def __repr__(self) -> str:
        found = self._content["result"]
        return f"SelectionReport({found['features']!r}, score={found['score']:.4g})"


def _write_history(file: Any, history: Sequence[Mapping[str, Any]]) -> None:
    columns = ["step", "score", "best", "deviation", "seconds", "failure", "features"]
    writer = csv.DictWriter(file, columns)
    writer.writeheader()
    for entry in history:
        writer.writerow({**entry, "features": json.dumps(entry["features"], ensure_ascii=False)})


def central_interval(belief: Gaussian) -> tuple[float, float]:
    """What holds the central 90%."""
    reach = _REACH * belief.variance**0.5
    return belief.mean - reach, belief.mean + reach


def _bounds(belief: Gaussian) -> dict[str, float]:
    return dict(zip(("low", "high"), central_interval(belief), strict=True))


def _features(
    run: SelectionRun,
    names: Sequence[str],
    best: Sequence[int],
    inclusion: FloatArray,
    interval: FloatArray,
) -> list[dict[str, Any]]:
    tried = np.zeros(len(names), dtype=np.int64)
    for entry in run.entries:
        tried[list(entry.scored.columns)] += 1
    chosen = np.isin(np.arange(len(names)), best)
    order = np.lexsort((np.arange(len(names)), ~chosen, -inclusion))
    return [
        {
            "name": names[column],
            "selected": bool(chosen[column]),
            "inclusion": float(inclusion[column]),
            "interval": interval[column].tolist(),
            "evaluated_in": int(tried[column]),
        }
        for column in order
    ]


def _history(step: int, entry: Entry, names: Sequence[str]) -> dict[str, Any]:
    scored = entry.scored
    failed = scored.failure is not None
    return {
        "step": step,
        "score": None if failed else scored.mean,
        "best": entry.best,
        "deviation": None if failed else float(scored.scores.std()),
        "features": [names[column] for column in scored.columns],
        "seconds": entry.seconds,
        "failure": scored.failure,
    }


def _substitutes(
    run: SelectionRun, names: Sequence[str], best: Sequence[int], inclusion: FloatArray
) -> dict[str, Any]:
    """Expected change of the score if one chosen feature is replaced by one that was not."""
    fixed = run.problem.items(run.problem.root())
    rows = [column for column in best if column not in fixed]
    others = [column for column in np.argsort(-inclusion, kind="stable").tolist() if column not in best]
    columns = others[:_CANDIDATES]
    now = run.search.belief(frozenset(best)).g.mean

    def change(old: int, new: int) -> float | None:
        leaf = frozenset(best) - {old} | {new}
        try:
            run.problem.path_to(leaf)
        except ProblemError:  # forbidden, or part of a group
            return None
        return run.search.belief(leaf).g.mean - now

    return {
        "selected": [names[column] for column in rows],
        "candidates": [names[column] for column in columns],
        "change": [[change(old, new) for new in columns] for old in rows],
    }


def _dag(run: SelectionRun, names: Sequence[str], best: frozenset[int]) -> dict[str, Any]:
    """The explored part around the best subset: at every level its ancestors and the best others."""
    explored, problem = run.search.explored, run.problem
    graph = explored.graph
    leads_to_best = _leads_to(problem, best)
    depth = {explored.root: 0}
    parent: dict[int, int] = {}
    level = [explored.root]
    while level:
        below: dict[int, int] = {}
        for node in level:
            for child in graph.children(node).tolist():
                if child >= 0 and child not in depth:
                    below.setdefault(child, node)
        on_the_way = [node for node in below if leads_to_best(graph.states[node])]
        ranked = sorted(below, key=lambda node: -float(graph.v_mean[node]))
        level = list(dict.fromkeys([*on_the_way[:_BREADTH], *ranked[:_BREADTH]]))
        for node in level:
            parent[node], depth[node] = below[node], depth[below[node]] + 1
    kept = {node: number for number, node in enumerate(depth)}
    return {
        "nodes": [
            {
                **_node(run, names, node, kept[node], depth[node], parent.get(node)),
                "best": leads_to_best(graph.states[node]),
            }
            for node in kept
        ],
        "edges": [
            [kept[node], kept[child]]
            for node in kept
            for child in graph.children(node).tolist()
            if child in kept
        ],
    }


def _node(
    run: SelectionRun,
    names: Sequence[str],
    node: int,
    number: int,
    depth: int,
    parent: int | None,
) -> dict[str, Any]:
    states = run.search.explored.graph.states
    chosen = run.problem.items(states[node])
    belief = run.search.belief(states[node])
    return {
        "id": number,
        "adds": None if parent is None else _added(run, names, states[parent], states[node]),
        "features": [names[column] for column in sorted(chosen)],
        "depth": depth,
        "g": [belief.g.mean, belief.g.variance**0.5],
        "v": [belief.v.mean, belief.v.variance**0.5],
        "visits": belief.visits,
    }


def _leads_to(problem: SubsetProblem, best: frozenset[int]) -> Callable[[State], bool]:
    """Whether a state can become the best subset: a part of it and, once that is decided, of its size."""
    size = [action.choices for action in problem.path_to(best) if isinstance(action, Size)]

    def leads(state: State) -> bool:
        if isinstance(state, Partial):
            return state.chosen <= best and state.choices in (None, *size)
        return bool(state == best if size else state <= best)

    return leads


def _added(run: SelectionRun, names: Sequence[str], before: State, after: State) -> str:
    new = sorted(set(run.problem.items(after)) - set(run.problem.items(before)))
    if not new:  # a size was decided; with what is fixed, that may be all
        return f"{after.choices} features" if isinstance(after, Partial) else "nothing else"
    return ", ".join(names[column] for column in new)
