"""Choices that depend on earlier choices, and the cell of an architecture; scores are random tables."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.spaces import Condition, Places


class Choice(NamedTuple):
    """A choice of a pipeline."""

    options: int
    """Number of options."""
    smooth: bool = False
    """Whether neighbouring options score alike, as settings on a scale do."""
    when: tuple[str, tuple[int, ...]] | None = None
    """The choice on which it depends, and with which of its options it exists."""


PIPELINE: dict[str, Choice] = {
    "imputer": Choice(3),
    "scaler": Choice(4),
    "selector": Choice(3),  # none, k best, principal components
    "features": Choice(6, True, ("selector", (1, 2))),
    "whiten": Choice(2, when=("selector", (2,))),
    "model": Choice(5),  # linear, tree, support vectors, neighbours, boosting
    "C": Choice(6, True, ("model", (0, 2))),
    "penalty": Choice(2, when=("model", (0,))),
    "depth": Choice(6, True, ("model", (1, 4))),
    "leaf": Choice(4, True, ("model", (1,))),
    "kernel": Choice(3, when=("model", (2,))),  # linear, radial, polynomial
    "gamma": Choice(5, True, ("kernel", (1,))),
    "degree": Choice(3, True, ("kernel", (2,))),
    "k": Choice(8, True, ("model", (3,))),
    "weighting": Choice(2, when=("model", (3,))),
    "rate": Choice(5, True, ("model", (4,))),
    "rounds": Choice(5, True, ("model", (4,))),
}
PIPELINE_PAIRS = (
    ("scaler", "model"),
    ("selector", "model"),
    ("imputer", "scaler"),
    ("features", "C"),
    ("features", "depth"),
    ("kernel", "C"),
    ("gamma", "C"),
    ("rate", "rounds"),
    ("rate", "depth"),
    ("k", "weighting"),
)
NETWORK: dict[str, Choice] = {
    "layers": Choice(4),
    "type 1": Choice(3),
    "width 1": Choice(4, True),
    "type 2": Choice(3, when=("layers", (1, 2, 3))),
    "width 2": Choice(4, True, ("layers", (1, 2, 3))),
    "type 3": Choice(3, when=("layers", (2, 3))),
    "width 3": Choice(4, True, ("layers", (2, 3))),
    "skip": Choice(2, when=("layers", (2, 3))),
    "type 4": Choice(3, when=("layers", (3,))),
    "width 4": Choice(4, True, ("layers", (3,))),
    "optimiser": Choice(3),
    "momentum": Choice(3, True, ("optimiser", (0,))),
}
NETWORK_PAIRS = (
    ("type 1", "type 2"),
    ("type 2", "type 3"),
    ("type 3", "type 4"),
    ("width 1", "width 2"),
    ("width 2", "width 3"),
    ("layers", "skip"),
    ("layers", "optimiser"),
    ("type 1", "optimiser"),
)


def pipeline(number: int) -> Instance:
    """A machine-learning pipeline of 5 to 9 choices; 58,368 pipelines in all."""
    return _conditional(PIPELINE, PIPELINE_PAIRS, np.random.default_rng([number, 50]))


def network(number: int) -> Instance:
    """A network of one to four layers: type and width of each, skip connection, optimiser."""
    return _conditional(NETWORK, NETWORK_PAIRS, np.random.default_rng([number, 51]))


def _conditional(
    choices: Mapping[str, Choice], pairs: Sequence[tuple[str, str]], rng: np.random.Generator
) -> Instance:
    """A sum over choices and over pairs of choices that both exist."""
    names = list(choices)
    conditions = {
        names.index(name): Condition(names.index(choice.when[0]), choice.when[1])
        for name, choice in choices.items()
        if choice.when is not None
    }
    single = [_effects(choice, rng) for choice in choices.values()]
    joint = []
    for one, other in pairs:
        table = np.zeros((choices[one].options + 1, choices[other].options + 1))
        table[:-1, :-1] = 0.8 * rng.normal(size=(choices[one].options, choices[other].options))
        joint.append((names.index(one), names.index(other), table))

    def scores(points: IntArray) -> FloatArray:
        total = np.zeros(len(points))
        for effects, column in zip(single, points.T, strict=True):
            total += effects[column]
        for one, other, table in joint:
            total += table[points[:, one], points[:, other]]
        return total

    return Instance(Places([choice.options for choice in choices.values()], conditions, names), scores)


def _effects(choice: Choice, rng: np.random.Generator) -> FloatArray:
    """What each option of a choice adds; the last entry is for a choice that does not exist."""
    if not choice.smooth:
        return np.append(rng.normal(size=choice.options), 0.0)
    scale = np.linspace(0.0, 1.0, choice.options)
    return np.append(0.5 - 3.0 * (scale - rng.random()) ** 2, 0.0)


def cell(number: int) -> Instance:
    """The cell of an architecture: one of five operations on each of the six edges between four nodes.

    As in NAS-Bench-201 the first operation cuts the edge. A node saturates: it takes tanh of what comes in.
    """
    rng = np.random.default_rng([number, 52])
    edges = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
    gains = rng.normal(0.5, 0.5, size=(6, 5))
    gains[:, 0] = 0.0
    pairs = 0.05 * rng.normal(size=(6, 6, 5, 5))

    def scores(points: IntArray) -> FloatArray:
        signals = np.zeros((len(points), 4))
        signals[:, 0] = 1.0
        for node in range(1, 4):
            for edge, (source, target) in enumerate(edges):
                if target == node:
                    signals[:, node] += gains[edge, points[:, edge]] * signals[:, source]
            signals[:, node] = np.tanh(signals[:, node])
        total = signals[:, 3].copy()
        for one in range(6):
            for other in range(one):
                total += pairs[one, other, points[:, one], points[:, other]]
        return total

    return Instance(Places([5] * 6), scores)
