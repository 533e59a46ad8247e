"""Scores for methods without a belief over g."""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray
from dagsearch.posterior.base import Scores
from dagsearch.problem import Children, State


class NoScores(Scores):
    """Numbers nodes and believes nothing about them: mean and variance are 0 everywhere."""

    def __init__(self) -> None:
        self._nodes = 0
        self._zeros = np.zeros(64)

    @property
    def mean(self) -> FloatArray:
        """Zeros, shape ``(nodes,)``."""
        return self._zeros[: self._nodes]

    @property
    def variance(self) -> FloatArray:
        """Zeros, shape ``(nodes,)``."""
        return self._zeros[: self._nodes]

    def track(self, states: Sequence[State]) -> None:
        """Number new states."""
        self._nodes += len(states)
        if self._nodes > self._zeros.size:
            self._zeros = grown(self._zeros, self._nodes)

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Zeros."""
        return np.zeros(len(states)), np.zeros(len(states))

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Zeros."""
        return np.zeros(len(children.actions)), np.zeros(len(children.actions))

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Do nothing."""
