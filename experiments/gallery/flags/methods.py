"""What is compared: our search, hill climbing and random search, from random points on."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import dagsearch as ds
from experiments.gallery.flags import opentuner
from experiments.gallery.flags.space import PLACES
from experiments.gallery.frame import Method
from experiments.harness import peers
from experiments.harness.evaluations import Evaluations

Point = tuple[str, ...]
"""The options of all places, in their order."""


def ours(evaluate: Evaluations, seed: int) -> None:
    """``ds.search`` without any setting."""
    problem = ds.problems.Choices(PLACES, reward=lambda chosen: evaluate(tuple(chosen.values())))
    ds.search(problem, evaluate.budget, seed=seed, on_error="skip")


def hill_climbing(evaluate: Evaluations, seed: int) -> None:
    """Take the first change of one place that helps; begin again at random where none does."""
    rng = np.random.default_rng(seed)

    def neighbours(point: Point) -> Iterator[Point]:
        changed = [
            (*point[:place], option, *point[place + 1 :])
            for place, options in enumerate(PLACES.values())
            for option in options
            if option != point[place]
        ]
        return (changed[number] for number in rng.permutation(len(changed)))

    peers.hill_climbing(evaluate, lambda: _random(rng), neighbours)


def random_search(evaluate: Evaluations, seed: int) -> None:
    """Random points."""
    rng = np.random.default_rng(seed)
    peers.random_search(evaluate, lambda: _random(rng))


def _random(rng: np.random.Generator) -> Point:
    return tuple(options[int(rng.integers(len(options)))] for options in PLACES.values())


METHODS: dict[str, Method] = {"dagsearch": ours, "hill climbing": hill_climbing, "random": random_search}
"""The methods by name, ours first."""
if opentuner.is_installed():
    METHODS["OpenTuner"] = partial(opentuner.tune, places=PLACES)
