"""The part of the explored DAG around the best subset, for the report."""

from collections.abc import Callable, Sequence
from typing import Any

from dagsearch.problem import State
from dagsearch.problems.ground import Partial, SubsetProblem
from dagsearch.problems.subsets import Size
from dagsearch.search import Search

# Nodes kept at a level: at most this number of ancestors of the best subset, and the same number of others.
_BREADTH = 5


def best_part(
    search: Search,
    problem: SubsetProblem,
    names: Sequence[str],
    best: frozenset[int],
    bounds: tuple[float, float],
) -> dict[str, Any]:
    """Nodes and edges of the best part: at every level, ancestors of the best subset and the best others.

    Means are within the ``bounds`` of the score.
    """
    graph = search.values.explored.graph
    leads_to_best = _leads_to(problem, best)
    depth, parent = _kept_nodes(search, leads_to_best)
    number = {node: position for position, node in enumerate(depth)}

    def described(node: int) -> dict[str, Any]:
        state = graph.states[node]
        before = graph.states[parent[node]] if node in parent else None
        belief = search.belief(state)
        return {
            "id": number[node],
            "adds": None if before is None else _added(problem, names, before, state),
            "features": [names[column] for column in sorted(problem.items(state))],
            "depth": depth[node],
            "g": [min(max(belief.g.mean, bounds[0]), bounds[1]), belief.g.variance**0.5],
            "v": [min(max(belief.v.mean, bounds[0]), bounds[1]), belief.v.variance**0.5],
            "visits": belief.visits,
            "best": leads_to_best(state),
        }

    return {
        "nodes": [described(node) for node in number],
        "edges": [
            [number[node], number[child]]
            for node in number
            for child in graph.children(node).tolist()
            if child in number
        ],
    }


def _kept_nodes(
    search: Search, leads_to_best: Callable[[State], bool]
) -> tuple[dict[int, int], dict[int, int]]:
    """Depth of every kept node, from the root on, and a parent of every kept node but the root."""
    explored = search.values.explored
    graph = explored.graph
    depth: dict[int, int] = {explored.root: 0}
    parent: dict[int, int] = {}
    level = [explored.root]
    while level:
        below: dict[int, int] = {}
        for node in level:
            for child in graph.children(node).tolist():
                if child >= 0 and child not in depth:
                    below.setdefault(child, node)
        ancestors = [node for node in below if leads_to_best(graph.states[node])]
        ranked = sorted(below, key=lambda node: -float(graph.v_mean[node]))
        level = list(dict.fromkeys([*ancestors[:_BREADTH], *ranked[:_BREADTH]]))
        for node in level:
            parent[node], depth[node] = below[node], depth[below[node]] + 1
    return depth, parent


def _leads_to(problem: SubsetProblem, best: frozenset[int]) -> Callable[[State], bool]:
    """Whether a state can become the best subset: its features and, once chosen, its size must match."""
    size = [action.choices for action in problem.path_to(best) if isinstance(action, Size)]

    def leads(state: State) -> bool:
        if isinstance(state, Partial):
            return state.chosen <= best and state.choices in (None, *size)
        return bool(state == best if size else state <= best)

    return leads


def _added(problem: SubsetProblem, names: Sequence[str], before: State, after: State) -> str:
    new = sorted(set(problem.items(after)) - set(problem.items(before)))
    if not new:  # a size was chosen; if the fixed features have this size, the subset is complete
        return f"{after.choices} features" if isinstance(after, Partial) else "nothing else"
    return ", ".join(names[column] for column in new)
