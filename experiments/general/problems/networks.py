"""A network of three to seven layers, and pipelines for real tables; as choices and as classes."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance, Sequential, State
from experiments.general.settings import TABLES, Setting, look_up, places

Score = Callable[[Mapping[str, Any]], float]

# Pipelines ---------------------------------------------------------------------------------------------


def tabulated(number: int, name: str) -> Instance:
    """The pipelines for a table; there is one instance."""
    return Instance(places(TABLES[name].settings), look_up(name))


tumours, numerals, diabetes = (partial(tabulated, name=name) for name in TABLES)
_TUMOURS: Mapping[Hashable, Sequence[str]] = {
    "linear": ("C",),
    "svm": ("C", "gamma"),
    "neighbours": ("k", "weights", "p"),
    "tree": ("depth", "leaf"),
    "boosting": ("depth", "rate", "rounds"),
}


def tumour_pipeline(score: Score) -> Sequential:
    """A pipeline for the table of tumours; a state is the tuple of scaler, model and its settings."""

    def names(state: State) -> Sequence[str]:
        return ("scaler", "model", *(_TUMOURS[state[1]] if len(state) > 1 else ()))

    def actions(state: State) -> Sequence[Hashable]:
        every = names(state)
        return TABLES["tumours"].settings[every[len(state)]].values if len(state) < len(every) else ()

    return Sequential(actions, lambda leaf: score(dict(zip(names(leaf), leaf, strict=True))))


# A network ---------------------------------------------------------------------------------------------

FEWEST, MOST = 3, 7
"""Numbers of layers."""
TYPES = ("conv", "dense", "pool", "norm")
WIDTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
WIDE = ("conv", "dense")
"""Types of layers that have a width."""
RATES = tuple(float(f"{rate:.3g}") for rate in np.logspace(-5, -1, 33))
MOMENTA = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)


def _layer_settings() -> dict[str, Setting]:
    settings = {"layers": Setting(tuple(range(FEWEST, MOST + 1)))}
    for layer in range(1, MOST + 1):
        deep: tuple[Hashable, ...] = tuple(range(max(layer, FEWEST), MOST + 1))
        settings[f"type {layer}"] = Setting(TYPES, ("layers", deep) if layer > FEWEST else None)
        settings[f"width {layer}"] = Setting(WIDTHS, (f"type {layer}", WIDE))
    settings["optimiser"] = Setting(("sgd", "adam"))
    settings["momentum"] = Setting(MOMENTA, ("optimiser", ("sgd",)))
    settings["rate"] = Setting(RATES)
    return settings


LAYERS = _layer_settings()


def layers(number: int) -> Instance:
    """A network of 3 to 7 layers: types and widths, optimiser with momentum, learning rate."""
    rng = np.random.default_rng([number, 53])
    # Effects of a network's choices, drawn from a seed: by type, in the first layer and in the last.
    start = np.array([0.5, -0.2, -0.3, 0.1]) + 0.3 * rng.normal(size=4)
    end = np.array([-0.4, 0.6, 0.1, -0.1]) + 0.3 * rng.normal(size=4)
    follows = 0.4 * rng.normal(size=(4, 4)) - 0.4 * np.eye(4)  # the type after a type
    best = rng.uniform(np.log2(24), np.log2(256), size=2)
    width = -0.08 * (np.log2(WIDTHS) - best[:, None]) ** 2  # by type and width
    jump = -0.06 * np.subtract.outer(np.log2(WIDTHS), np.log2(WIDTHS)) ** 2
    depth = rng.uniform(4.0, 6.5)
    of_depth = -0.12 * (np.arange(FEWEST, MOST + 1) - depth) ** 2
    of_optimiser = 0.3 * rng.normal(size=2)
    momentum = -3.0 * (np.array(MOMENTA) - rng.uniform(0.6, 0.95)) ** 2
    wanted = rng.uniform([-2.4, -3.8], [-1.6, -2.8])  # decimal logarithm of the rate, by optimiser
    depths = np.arange(MOST - FEWEST + 1)
    exponent = wanted[:, None, None] - 0.2 * depths[:, None]  # deeper ones need smaller rates
    of_rate = -0.5 * (np.log10(RATES) - exponent) ** 2  # by optimiser, depth and rate
    # Pooling and normalisation have no width, Adam has no momentum.
    width, jump, momentum = np.pad(width, (0, 1)), np.pad(jump, (0, 1)), np.append(momentum, 0.0)

    def scores(points: IntArray) -> FloatArray:
        depth, optimiser, rate = points[:, 0], points[:, -3], points[:, -1]
        total = of_depth[depth] + of_optimiser[optimiser] + momentum[points[:, -2]]
        total += of_rate[optimiser, depth, rate]
        kinds, widths = points[:, 1:-3:2], points[:, 2:-3:2]
        for layer in range(MOST):
            there = layer < depth + FEWEST
            kind, wide = np.where(there, kinds[:, layer], 0), widths[:, layer]
            added = width[np.minimum(kind, 2), wide]
            share = layer / (depth + FEWEST - 1)
            added += (1.0 - share) * start[kind] + share * end[kind]
            if layer > 0:
                added += follows[kinds[:, layer - 1] % len(TYPES), kind]
                added += jump[widths[:, layer - 1], wide]
            total += np.where(there, added, 0.0)
        return np.asarray(0.1 + 0.88 / (1.0 + np.exp(-0.5 * total - 1.0)))

    return Instance(places(LAYERS), scores)


def network(score: Score) -> Sequential:
    """Layer after layer until "stop", then optimiser, momentum and rate; a state is the tuple of answers."""

    def actions(state: State) -> Sequence[Hashable]:
        made, waiting = _read(state)
        if waiting:
            return WIDTHS
        if "layers" not in made:
            layers = sum(name.startswith("type") for name in made)
            return (*TYPES, "stop") if layers >= FEWEST else TYPES
        if "optimiser" not in made:
            return ("sgd", "adam")
        if made["optimiser"] == "sgd" and "momentum" not in made:
            return MOMENTA
        return RATES if "rate" not in made else ()

    return Sequential(actions, lambda leaf: score(_read(leaf)[0]))


def _read(state: State) -> tuple[dict[str, Any], bool]:
    """The settings in the answers, and whether a layer waits for its width."""
    made: dict[str, Any] = {}
    layer, waiting, answers = 0, False, iter(state)
    for answer in answers:
        if waiting:
            made[f"width {layer}"], waiting = answer, False
        elif answer == "stop":
            made["layers"] = layer
            break
        else:
            layer += 1
            made[f"type {layer}"], waiting = answer, answer in WIDE
        if layer == MOST and not waiting:
            made["layers"] = layer
            break
    head = list(answers)
    names = ("optimiser", "momentum", "rate") if head[:1] == ["sgd"] else ("optimiser", "rate")
    return made | dict(zip(names, head, strict=False)), waiting
