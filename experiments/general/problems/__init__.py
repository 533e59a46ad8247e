"""Problems of the benchmarks ``general``, ``noise`` and ``long``: our own, and the field's standard ones."""

from experiments.general.problems import (
    categories,
    large,
    networks,
    orders,
    pipelines,
    plateaus,
    strings,
    subsets,
)
from experiments.general.problems.base import Instance, Scores, Task, as_class, noisy, relabelled

__all__ = ["KINDS", "LARGE", "NOISY", "TASKS", "Instance", "Scores", "Task"]

KINDS = (
    "subsets",
    "orders",
    "strings",
    "binary and categorical",
    "conditional pipelines",
    "architecture cell",
    "real pipelines",
    "own classes",
    "plateaus",
    "noise",
    "hundreds of places",
)
"""Kinds of choices, in the order of the tables."""

_SUBSETS, _ORDERS, _STRINGS, _CATEGORIES, _PIPELINES, _CELL, *_OTHERS = KINDS
_REAL, _CLASSES, _PLATEAUS, _NOISE, _HUNDREDS = _OTHERS

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
    Task("motifs", _STRINGS, "20 places, 4 letters, three motifs", 200, strings.motifs),
    Task("folding", _STRINGS, "14 turns, HP model on the square lattice", 200, strings.folding),
    Task("job-shop", _ORDERS, "6 jobs, 6 times each, six machines", 200, orders.job_shop),
    Task("pipeline", _PIPELINES, "5 to 9 choices, machine learning", 100, pipelines.pipeline),
    Task("network", _PIPELINES, "4 to 12 choices, layers of a network", 60, pipelines.network),
    Task("layers", _PIPELINES, "8 to 18 choices, network of 3 to 7 layers", 100, networks.layers),
    Task("cell", _CELL, "6 edges, 5 operations", 100, pipelines.cell),
    Task("tumours", _REAL, "3 to 5 choices, classifiers of 569 tumours", 60, networks.tumours, 1),
    Task("numerals", _REAL, "4 to 6 choices, classifiers of 500 digits", 100, networks.numerals, 1),
    Task("diabetes", _REAL, "4 to 6 choices, regressions of 442 patients", 80, networks.diabetes, 1),
    Task("blocks", _PLATEAUS, "32 places, yes or no, deceptive blocks of 4", 200, plateaus.blocks),
    Task("needles", _PLATEAUS, "20 places, 4 letters, four scattered motifs", 200, plateaus.needles),
    Task("switches", _HUNDREDS, "200 places, yes or no", 300, plateaus.switches),
    Task("checks", _HUNDREDS, "order of 100 checks", 300, plateaus.checks),
)
_ORDERED = (
    Task("labs", _STRINGS, "50 signs, low autocorrelation", 300, strings.autocorrelation, instances=1),
    Task("contamination", _CATEGORIES, "25 stages, yes or no", 150, categories.contamination),
    Task("ising", _CATEGORIES, "24 couplings, keep or drop", 150, categories.ising, slow=True),
    Task("maxsat", _CATEGORIES, "60 truth values, weighted clauses", 200, categories.satisfiability),
    Task("pest", _CATEGORIES, "25 stages, 5 options", 200, categories.pest, instances=1),
    Task("ackley", _CATEGORIES, "20 variables, 11 levels", 200, categories.ackley, instances=1),
    Task("stages", _CATEGORIES, "21 stages, 5 options of their own each", 150, categories.stages),
    Task("leading", _PLATEAUS, "32 signs, leading ones with epistasis", 200, plateaus.leading, instances=1),
)

_NAMED = {task.name: task for task in (*_OWN, *_ORDERED)}
_VARIANTS = (
    as_class(_NAMED["layers"], networks.network, kind=_CLASSES),
    as_class(_NAMED["tumours"], networks.tumour_pipeline, kind=_CLASSES),
    *(noisy(_NAMED[name], kind=_NOISE) for name in ("cover", "tardiness", "landscape")),
    *map(relabelled, _ORDERED),
)
TASKS: dict[str, Task] = {
    task.name: task for task in sorted((*_OWN, *_ORDERED, *_VARIANTS), key=lambda t: KINDS.index(t.kind))
}
"""Every problem of ``benchmark general`` by its name, kind by kind."""

_TO_BE_NOISY = """
cover regression portfolio knapsack contamination maxsat pest ackley
tardiness tour assignment flow-shop landscape motifs folding labs
"""
NOISY: dict[str, Task] = {
    task.name: task for task in (noisy(_NAMED[name], budget=80) for name in _TO_BE_NOISY.split())
}
"""The problems of ``benchmark noise``, four of each of four kinds."""

LARGE: dict[str, Task] = {
    name: Task(name, "large", what, 3000, make, instances=100, scaled=False)
    for name, what, make in (
        ("landscape", "80 bits, NK landscape with K = 4", large.landscape),
        ("autocorrelation", "60 signs, low autocorrelation", large.autocorrelation),
        ("pairs", "40 places, 5 options, pairs", large.pairs),
        ("assignment", "25 facilities, quadratic assignment", large.assignment),
        ("tour", "40 towns, travelling salesman", large.tour),
        ("sites", "15 of 200 sites for sensors", large.sites),
    )
}
"""The problems of ``benchmark long``; every run has an instance of its own."""
