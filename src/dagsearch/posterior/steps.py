"""The belief over costly steps that were not taken yet.

==========  ===========================================================================
symbol      meaning
==========  ===========================================================================
B           what the best known path earns
q(s)        gains on the best known path to s, plus value(s) where one can stop at s
x(s, a)     probability that a step leads to a new state
d(s, a)     what it adds if it does: q(t) − q(s)
Δ           what the rest of the path brings after t
==========  ===========================================================================

A step is worth q(s) + d + Δ. Both x and d are Gaussian processes over state and action,

    k((s, a), (s', a')) = (c + δ(a, a')) (1 + k_S(s, s')) + private,

where k_S counts the steps that the first known paths to s and s' share: what an action does here, it probably
does there, the more so the less has happened in between. The prior mean is linear in the logarithm of ``prior``
and in ``features``. On the tree of first paths the posterior follows by message passing.
"""

import math

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.messages import pass_messages
from dagsearch.values.steps import KNOWN, NEW, PENDING, UNTAKEN, FAILED, Steps

# Number of steps after which hyperparameters are learnt first, and by what factor more they are learnt again.
_FIRST, _MORE = 4, 1.1


class Field:
    """A function of state and action: a walk along the tree of first paths that all actions share, and one
    for each action."""

    def __init__(self) -> None:
        self.root_mean, self.common, self.root, self.step, self.noise = 0.0, 0.5, 0.5, 0.05, 0.5
        self._shared = np.zeros((2, 64))
        self._own = np.zeros((2, 8, 64))
        self._seen: list[tuple[list[int], list[float]]] = []  # nodes and values of every action

    def grow(self, kinds: int, nodes: int) -> None:
        self._shared = grown(self._shared, 2, nodes)
        self._own = grown(self._own, 2, kinds, nodes)
        while len(self._seen) < kinds:
            self._seen.append(([], []))

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray]:
        return self._shared, self._own

    def add(self, action: int, node: int, value: float) -> None:
        nodes, values = self._seen[action]
        nodes.append(node)
        values.append(value)

    def refit(self, parent: IntArray) -> None:
        """Learn the variances, and compute everything anew."""
        values = [np.array(own) for _, own in self._seen if own]
        if not values:
            return self.update_all(parent)
        every = np.concatenate(values)
        self.root_mean = (float(every.sum()) + 0.0) / len(every)
        total = float(every.var()) + 1e-12
        spread = [len(own) * (float(own.mean()) - self.root_mean) ** 2 for own in values]
        weight = sum(len(own) / (len(own) + 1.0) for own in values)
        between = min(max(sum(spread) / len(every) , 0.1 * total), 0.9 * total)
        self.root, self.common = between, 0.05 * total
        rest = total - 0.9 * between
        self.step, self.noise = 0.1 * rest, 0.5 * rest + 1e-6 * total
        self.update_all(parent)

    def update_all(self, parent: IntArray) -> None:
        self.update_shared(parent)
        for action in range(len(self._seen)):
            self.update(action, parent)

    def update_shared(self, parent: IntArray) -> None:
        """The walk that all actions share, from what they have in common."""
        precision, info = np.zeros(parent.size), np.zeros(parent.size)
        noise = self.noise + self.root
        for nodes, values in self._seen:
            np.add.at(precision, nodes, 1.0 / noise)
            np.add.at(info, nodes, np.array(values) / noise)
        pass_messages(
            parent, precision, info, self.root_mean, self.common, 0.2 * self.step, self._shared[0], self._shared[1]
        )

    def update(self, action: int, parent: IntArray) -> None:
        """The walk of one action, from how its values differ from what all actions share."""
        nodes, values = self._seen[action]
        precision, info = np.zeros(parent.size), np.zeros(parent.size)
        if nodes:
            precision[nodes] = 1.0 / self.noise
            info[nodes] = (np.array(values) - self._shared[0][nodes]) / self.noise
        own = self._own[:, action]
        pass_messages(parent, precision, info, 0.0, self.root, self.step, own[0], own[1])


class StepBelief:
    """Beliefs over all slots, learnt from the steps that were taken.

    Parameters
    ----------
    steps : Steps
        The explored part.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.change, self.gain = Field(), Field()
        self._slots: list[int] = []  # taken ones, in order
        self._due = _FIRST
        self._weights = np.zeros(1)
        self.tries = np.zeros(64)
        """Number of steps that were taken below each node or from it."""
        self.born = np.zeros(64)
        self._grow()

    def _grow(self) -> None:
        steps = self._steps
        nodes = len(steps.graph)
        self.tries, self.born = grown(self.tries, nodes), grown(self.born, nodes)
        for field in (self.change, self.gain):
            field.grow(steps.kinds, nodes)

    @property
    def parent(self) -> IntArray:
        return self._steps.parent[: len(self._steps.graph)]

    def _regressors(self, slots: IntArray) -> FloatArray:
        steps = self._steps
        columns = [np.ones(len(slots)), steps.slot_prior[slots]]
        found = np.stack(columns, axis=1)
        if steps.slot_features:
            found = np.hstack([found, np.array([steps.slot_features[slot] for slot in slots])])
        return found

    def _expected(self, slots: IntArray) -> FloatArray:
        """Prior mean of d."""
        if self._weights.size == 1:
            return np.zeros(len(slots))
        return self._regressors(slots) @ self._weights

    def added(self, slot: int) -> float | None:
        """What a taken step has added to q; ``None`` if that does not compare with other steps."""
        steps, graph = self._steps, self._steps.graph
        node, child = int(steps.slot_node[slot]), int(steps.slot_child[slot])
        one, other = float(graph.stop[node]), float(graph.stop[child])
        if math.isinf(one) and math.isinf(other):
            return float(steps.slot_gain[slot])
        return None if math.isinf(one) or math.isinf(other) else float(steps.slot_gain[slot]) + other - one

    def learn(self, slot: int) -> None:
        """Learn from a step that was taken or has failed."""
        steps = self._steps
        self._grow()
        node, action = int(steps.slot_node[slot]), int(steps.slot_action[slot])
        became = int(steps.slot_became[slot])
        self._slots.append(slot)
        if became == NEW:
            self.born[steps.slot_child[slot]] = len(self._slots)
        above = node
        while above >= 0:
            self.tries[above] += 1
            above = int(steps.parent[above])
        self.change.add(action, node, float(became == NEW))
        added = self.added(slot) if became in (NEW, KNOWN) else None
        if added is not None:
            expected = float(self._expected(np.array([slot]))[0])
            self.gain.add(action, node, added - expected)
        if len(self._slots) >= self._due:
            self._due = max(self._due + 1, int(_MORE * self._due))
            self._refit()
        else:
            self.change.update_shared(self.parent)
            self.change.update_all(self.parent) if became == NEW else self.change.update(action, self.parent)
            self.gain.update_all(self.parent) if became == NEW else self.gain.update(action, self.parent)

    def _refit(self) -> None:
        """Learn the prior mean and the variances."""
        steps = self._steps
        taken = [(slot, self.added(slot)) for slot in self._slots if steps.slot_became[slot] in (NEW, KNOWN)]
        known = [(slot, added) for slot, added in taken if added is not None]
        slots = np.array([slot for slot, _ in known], dtype=np.int64)
        if len(known) > 0:
            design, target = self._regressors(slots), np.array([added for _, added in known])
            ridge = 1e-6 * len(known) * np.maximum(design.var(axis=0), 1e-6)
            ridge[0] = 0.0
            self._weights = np.linalg.lstsq(
                np.vstack([design, np.diag(np.sqrt(ridge))]), np.append(target, np.zeros(len(ridge))), rcond=None
            )[0]
            self.gain._seen = [([], []) for _ in self.gain._seen]
            for (slot, added), expected in zip(known, design @ self._weights, strict=True):
                self.gain.add(int(steps.slot_action[slot]), int(steps.slot_node[slot]), added - expected)
        self.change.refit(self.parent)
        self.gain.refit(self.parent)

    # Scores -------------------------------------------------------------------------------------------------

    def scores(self) -> FloatArray:
        """Expected improvement per cost of every slot; −∞ of those that cannot be taken."""
        steps, graph, nodes = self._steps, self._steps.graph, len(self._steps.graph)
        best = steps.best
        stop, reach = graph.stop[:nodes], steps.reach[:nodes]
        valued = np.isfinite(stop)
        q = reach + np.where(valued, stop, 0.0)
        level = graph.level[:nodes].astype(np.float64)
        loss, sigma, pace = self._recovery(q, valued)
        rest = self._to_go(level, valued)
        slots = np.arange(steps.slots)
        return _scores(
            steps.slot_node[: steps.slots],
            steps.slot_action[: steps.slots],
            steps.slot_became[: steps.slots],
            steps.slot_cost[: steps.slots],
            self._expected(slots),
            (self.change._shared, self.change._own, self.gain._shared, self.gain._own),
            self.gain.noise,
            (q, valued, level),
            best,
            (loss, sigma, pace),
            rest,
        )

    def _recovery(self, q: FloatArray, valued: np.ndarray) -> tuple[float, float, float]:
        """What becomes of a shortfall h: share that stays, deviation of what is earned in the end, and number
        of steps per unit."""
        steps, graph, best = self._steps, self._steps.graph, self._steps.best
        nodes = len(graph)
        if not math.isfinite(best):
            return 0.5, 1.0, 0.0
        total = steps.reach[:nodes] + graph.v_mean[:nodes]
        span = max(best - float(q[0]), float(np.sqrt(self.gain.noise + self.gain.root)), 1e-12)
        pace = len(self._slots) / span
        parent = np.maximum(self.parent, 0)
        off = valued & (total < total[parent]) & (self.tries[:nodes] > 0)
        weight, weighted_h, hh, ll = 2.0, 0.0, 1e-12 + 2.0 * (0.1 * span) ** 2, 2.0 * (0.02 * span) ** 2
        share = 0.5 * hh
        if off.any():
            h, lost, n = (total[parent] - q)[off], (total[parent] - total)[off], self.tries[:nodes][off]
            w = n / (n + pace * h + 5.0)
            hh += float((w * h * h).sum())
            share += float((w * h * lost).sum())
            loss = share / hh
            ll += float((w * (lost - loss * h) ** 2).sum())
            weight += float(w.sum())
        loss = min(max(share / hh, 0.02), 1.0)
        return loss, math.sqrt(ll / weight), pace

    def _to_go(self, level: FloatArray, valued: np.ndarray) -> tuple[float, float, float, float]:
        """Where one cannot stop: V as a linear function of the level, its variance per step, and the level where
        paths end."""
        graph = self._steps.graph
        nodes = len(graph)
        v = graph.v_mean[:nodes]
        known = ~valued & np.isfinite(v)
        if not known.any():
            return 0.0, 0.0, 1.0, 0.0
        end = float(level[self._steps.best_node()])
        w = self.tries[:nodes][known]
        w = w / (w + 5.0)
        x = end - level[known]
        slope = float((w * x * v[known]).sum() / max((w * x * x).sum(), 1e-12))
        spread = float((w * (v[known] - slope * x) ** 2 / np.maximum(x, 1.0)).sum() / w.sum())
        spread += 0.25 * float(self.gain.noise + self.gain.root) / (1.0 + w.sum())
        return 0.0, slope, spread, end


@compiled
def _improvement(mean: float, sd: float) -> float:
    """E max(0, N(mean, sd²))."""
    if sd <= 1e-300:
        return max(mean, 0.0)
    z = mean / sd
    if z < -30.0:
        return 0.0
    return sd * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) + mean * 0.5 * math.erfc(-z / math.sqrt(2.0))


@compiled
def _scores(node, action, became, cost, expected, fields, private, states, best, recovery, rest):  # type: ignore[no-untyped-def]
    change_shared, change_own, gain_shared, gain_own = fields
    q, valued, level = states
    loss, sigma, pace = recovery
    base, slope, spread, end = rest
    scores = np.full(node.size, -np.inf)
    for slot in range(node.size):
        if became[slot] != 0:
            continue
        s, a = node[slot], action[slot]
        p = min(max(change_shared[0, s] + change_own[0, a, s], 0.002), 1.0)
        d = expected[slot] + gain_shared[0, s] + gain_own[0, a, s]
        var = gain_shared[1, s] + gain_own[1, a, s] + private
        if np.isinf(best):
            scores[slot] = p * 1e-6 + level[s]*1e3 + d
            continue
        if valued[s]:
            h = max(best - q[s] - d, 0.0)
            found = _improvement(q[s] + d - best, math.sqrt(var))
            found += _improvement(-loss * h, sigma) / (1.0 + pace * h)
        else:
            left = max(end - level[s] - 1.0, 0.0)
            found = _improvement(q[s] + d + base + slope * left - best, math.sqrt(var + spread * left))
            found /= 1.0 + left
        scores[slot] = math.log(max(p * found, 1e-300)) - math.log(cost[slot])
    return scores
