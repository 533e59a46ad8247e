"""Choices that depend on earlier choices, and the cell of an architecture; scores are random tables."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.settings import Setting, places
from experiments.general.spaces import Places

PIPELINE = {
    "imputer": Setting("abc"),
    "scaler": Setting("abcd"),
    "selector": Setting(("none", "best", "components")),
    "features": Setting(range(6), ("selector", ("best", "components"))),
    "whiten": Setting("ab", ("selector", ("components",))),
    "model": Setting(("linear", "tree", "vectors", "neighbours", "boosting")),
    "C": Setting(range(6), ("model", ("linear", "vectors"))),
    "penalty": Setting("ab", ("model", ("linear",))),
    "depth": Setting(range(6), ("model", ("tree", "boosting"))),
    "leaf": Setting(range(4), ("model", ("tree",))),
    "kernel": Setting(("linear", "radial", "polynomial"), ("model", ("vectors",))),
    "gamma": Setting(range(5), ("kernel", ("radial",))),
    "degree": Setting(range(3), ("kernel", ("polynomial",))),
    "k": Setting(range(8), ("model", ("neighbours",))),
    "weighting": Setting("ab", ("model", ("neighbours",))),
    "rate": Setting(range(5), ("model", ("boosting",))),
    "rounds": Setting(range(5), ("model", ("boosting",))),
}
"""The choices of a pipeline; numbers are on a scale where neighbouring options have similar scores."""
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
NETWORK = {
    "layers": Setting("1234"),
    "type 1": Setting("abc"),
    "width 1": Setting(range(4)),
    "type 2": Setting("abc", ("layers", tuple("234"))),
    "width 2": Setting(range(4), ("layers", tuple("234"))),
    "type 3": Setting("abc", ("layers", tuple("34"))),
    "width 3": Setting(range(4), ("layers", tuple("34"))),
    "skip": Setting("ab", ("layers", tuple("34"))),
    "type 4": Setting("abc", ("layers", ("4",))),
    "width 4": Setting(range(4), ("layers", ("4",))),
    "optimiser": Setting("abc"),
    "momentum": Setting(range(3), ("optimiser", ("a",))),
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
    settings: Mapping[str, Setting], pairs: Sequence[tuple[str, str]], rng: np.random.Generator
) -> Instance:
    """A sum over choices and over pairs of choices that both exist."""
    space = places(settings)
    single = [_effects(setting.values, rng) for setting in settings.values()]
    joint = []
    for one, other in ((space.names.index(one), space.names.index(other)) for one, other in pairs):
        shape = tuple(space.options[[one, other]])
        joint.append((one, other, np.pad(0.8 * rng.normal(size=shape), (0, 1))))

    def scores(points: IntArray) -> FloatArray:
        total = np.zeros(len(points))
        for effects, column in zip(single, points.T, strict=True):
            total += effects[column]
        for one, other, table in joint:
            total += table[points[:, one], points[:, other]]
        return total

    return Instance(Places(space.options.tolist(), space.conditions, space.names), scores)


def _effects(options: Sequence[Hashable], rng: np.random.Generator) -> FloatArray:
    """Effect of each option, similar for neighbouring numbers; the last is that of a missing choice."""
    if not isinstance(options, range):
        return np.append(rng.normal(size=len(options)), 0.0)
    scale = np.linspace(0.0, 1.0, len(options))
    return np.append(0.5 - 3.0 * (scale - rng.random()) ** 2, 0.0)


def cell(number: int) -> Instance:
    """The cell of an architecture: one of five operations on each of the six edges between four nodes.

    As in NAS-Bench-201, the first operation cuts the edge. A node saturates: it is tanh of its inputs.
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
