"""TEMPORARY until the compiled walkers land here."""

import numpy as np

from dagsearch._internal.ties import TieBreaker
from dagsearch.errors import DagSearchError, SearchExhausted
from dagsearch.expansions import AllChildren, OneChild
from dagsearch.policies import UNKNOWN


def descend(explored, policy, expansion, rng):  # type: ignore
    graph = explored.graph
    path = [explored.root]
    actions = []
    can_follow = "follow" in vars(type(policy)) and type(expansion) in (AllChildren, OneChild)
    draw = TieBreaker(rng)
    while True:
        if can_follow and _follow(explored, policy, expansion, path, actions, draw):
            return path, actions
        if graph.closed[path[-1]]:
            path.pop()
            if not path:
                raise SearchExhausted("every leaf has been evaluated or asked for")
            actions.pop()
        options = expansion.options(explored, path[-1])
        if options is None:
            return path, actions
        eligible = np.flatnonzero(options.open)
        if eligible.size == 0:
            explored.close(path[-1])
            continue
        ratings = policy.rate(options)[eligible]
        best = eligible[ratings == ratings.max()]
        if best.size == 0:
            state = explored.graph.states[options.node]
            raise DagSearchError(f"{policy!r} rates an option at {state!r} as not a number")
        option = int(best[draw.pick(best.size)])
        child, new = options.enter(option)
        path.append(child)
        actions.append(options.action(option))
        if new:
            return path, actions


def _follow(explored, policy, expansion, path, actions, draw):  # type: ignore
    problem = explored.problem
    one_by_one = type(expansion) is OneChild
    nodes, numbers, next_number = policy.follow(explored, path[-1], draw, one_by_one)
    for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
        actions.append(problem.actions(explored.graph.states[path[-1]])[number])
        path.append(node)
    if next_number == UNKNOWN:
        return False
    children = explored.children(path[-1])
    before = len(explored.graph)
    number = int(next_number)
    path.append(explored.enter(path[-1], children, number))
    actions.append(children.actions[number])
    return path[-1] == before
