"""The problems of ``python -m experiments benchmark general``: our own, and the field's standard ones."""

from experiments.general.problems import categories, orders, pipelines, strings, subsets
from experiments.general.problems.base import Instance, Scores, Task, relabelled

__all__ = ["KINDS", "TASKS", "Instance", "Scores", "Task"]

KINDS = (
    "subsets",
    "orders",
    "strings",
    "binary and categorical",
    "conditional pipelines",
    "architecture cell",
)
"""Kinds of choices, in the order of the tables."""

_SUBSETS, _ORDERS, _STRINGS, _CATEGORIES, _PIPELINES, _CELL = KINDS

_OWN = (
    Task("cover", _SUBSETS, "8 of 40 sites for sensors", 150, subsets.cover),
    Task("regression", _SUBSETS, "6 of 30 features", 150, subsets.regression),
    Task("portfolio", _SUBSETS, "10 of 40 assets", 150, subsets.portfolio),
    Task("knapsack", _SUBSETS, "any of 20 items, overweight is penalised", 200, subsets.knapsack),
    Task("tardiness", _ORDERS, "15 jobs, weighted tardiness", 200, orders.tardiness),
    Task("tour", _ORDERS, "14 towns, travelling salesman", 200, orders.tour),
    Task("assignment", _ORDERS, "12 facilities, quadratic assignment", 200, orders.assignment),
    Task("flow-shop", _ORDERS, "12 jobs, five machines", 200, orders.flow_shop),
    Task("landscape", _STRINGS, "12 places, 4 letters, NK landscape with K = 2", 200, strings.landscape),
    Task("motifs", _STRINGS, "20 places, 4 letters, three motifs", 200, strings.motifs, optimum=1.0),
    Task("folding", _STRINGS, "14 turns, HP model on the square lattice", 200, strings.folding),
    Task("pipeline", _PIPELINES, "5 to 9 choices, machine learning", 100, pipelines.pipeline),
    Task("network", _PIPELINES, "4 to 12 choices, layers of a network", 60, pipelines.network),
    Task("cell", _CELL, "6 edges, 5 operations", 100, pipelines.cell),
)
_STANDARD = (
    Task(
        "labs",
        _STRINGS,
        "50 signs, low autocorrelation",
        300,
        strings.autocorrelation,
        instances=1,
        optimum=strings.LABS_OPTIMUM,
    ),
    Task("contamination", _CATEGORIES, "25 stages, yes or no", 150, categories.contamination),
    Task("ising", _CATEGORIES, "24 couplings, keep or drop", 150, categories.ising, slow=True),
    Task("maxsat", _CATEGORIES, "60 truth values, weighted clauses", 200, categories.satisfiability),
    Task("pest", _CATEGORIES, "25 stages, 5 options", 200, categories.pest, instances=1),
    Task("ackley", _CATEGORIES, "20 variables, 11 levels", 200, categories.ackley, instances=1, optimum=0.0),
)

TASKS: dict[str, Task] = {
    task.name: task
    for task in sorted((*_OWN, *_STANDARD, *map(relabelled, _STANDARD)), key=lambda t: KINDS.index(t.kind))
}
"""Every problem by its name, kind by kind."""
