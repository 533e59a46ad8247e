"""Scores on a tree: a Brownian walk along every path (Hennig, Stern, Graepel 2010).

A child's score is its parent's plus an independent step of variance ``step``, so the covariance of two nodes
is that of the part of their paths that they share (:class:`dagsearch.covariances.SharedPath`). On a tree the
posterior follows by message passing (:mod:`dagsearch.posterior.messages`). The nodes are those of all paths
to tracked states, including the unexplored ones between a boundary node and an evaluated leaf.
"""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray
from dagsearch.baselines.tree import TreeState
from dagsearch.covariances import SharedPath
from dagsearch.posterior.base import Scores, checked_noise
from dagsearch.posterior.messages import pass_messages
from dagsearch.problem import Children


class TreeScores(Scores):
    """Exact Gaussian regression on a tree by message passing: O(nodes) per reward.

    Same belief as ``FunctionScores`` with the same covariance.

    Parameters
    ----------
    covariance : SharedPath
        Variance of the root's score and of the step to a child.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float
        Prior mean of g.
    """

    covariance: SharedPath

    def __init__(self, covariance: SharedPath, noise: float, mean: float = 0.0) -> None:
        self.covariance = covariance
        self.noise = checked_noise(noise)
        self._prior_mean = float(mean)
        self._below: list[dict[object, int]] = [{}]  # children by action, of every node of the tree
        self._parent = np.zeros(1, dtype=np.int64)
        self._precision, self._info = np.zeros(1), np.zeros(1)
        self._tracked = np.zeros(0, dtype=np.int64)
        self._nodes = 0
        self._mean, self._variance = np.zeros(1), np.zeros(1)
        self._pass_messages()

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""
        return self._mean[self._tracked[: self._nodes]]

    @property
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""
        return self._variance[self._tracked[: self._nodes]]

    def track(self, states: Sequence[TreeState]) -> None:
        """Number new states and bring their beliefs up to date."""
        self._tracked = grown(self._tracked, self._nodes + len(states))
        for i, state in enumerate(states):
            self._tracked[self._nodes + i] = self._grow(state)
        self._nodes += len(states)

    def _grow(self, state: TreeState) -> int:
        """The state's place in the tree, which grows by the nodes of its path that are new."""
        place, known = self._walk(state)
        for action in state.path[known:]:
            child = len(self._below)
            self._below.append({})
            self._below[place][action] = child
            self._parent = grown(self._parent, child + 1)
            self._precision, self._info = grown(self._precision, child + 1), grown(self._info, child + 1)
            self._mean, self._variance = grown(self._mean, child + 1), grown(self._variance, child + 1)
            self._parent[child] = place
            self._mean[child] = self._mean[place]
            self._variance[child] = self._variance[place] + self.covariance.step
            place = child
        return place

    def _walk(self, state: TreeState) -> tuple[int, int]:
        """The deepest known node on the state's path, and the number of steps to it."""
        place = 0
        for steps, action in enumerate(state.path):
            child = self._below[place].get(action)
            if child is None:
                return place, steps
            place = child
        return place, len(state.path)

    def predict(self, states: Sequence[TreeState]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked."""
        mean, variance = np.empty(len(states)), np.empty(len(states))
        for i, state in enumerate(states):
            place, steps = self._walk(state)
            mean[i] = self._mean[place]
            variance[i] = self._variance[place] + (len(state.path) - steps) * self.covariance.step
        return mean, variance

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of all children of a state; faster if the state's ``node`` is given."""
        if node is None:
            return self.predict(children.states)
        place = int(self._tracked[node])
        mean = np.full(len(children.actions), self._mean[place])
        variance = np.full(len(children.actions), self._variance[place] + self.covariance.step)
        below = self._below[place]
        if below:
            for i, action in enumerate(children.actions):
                child = below.get(action)
                if child is not None:
                    mean[i], variance[i] = self._mean[child], self._variance[child]
        return mean, variance

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""
        variance = self.noise if noise is None else checked_noise(noise)
        place = int(self._tracked[node])
        self._precision[place] += 1.0 / variance
        self._info[place] += reward / variance
        self._pass_messages()

    def _pass_messages(self) -> None:
        nodes = len(self._below)
        pass_messages(
            self._parent[:nodes],
            self._precision,
            self._info,
            self._prior_mean,
            self.covariance.root,
            self.covariance.step,
            self._mean,
            self._variance,
        )
