"""The belief over costly steps that were not taken yet.

==========  ===============================================================================================
symbol      meaning
==========  ===============================================================================================
B           what the best known path earns
q(s)        gains on the best known path to s, plus value(s) where one can stop at s
x(s, a)     probability that a step leads to a new state
d(s, a)     what it adds if one can stop on both sides: q(t) − q(s)
y(s, a)     sign(d) log(1 + |d| / u), with u a small change; 0 of a step that changes nothing
g(s, a)     the gain, if one can stop on neither side
==========  ===============================================================================================

x, y and g are Gaussian processes over state and action,

    k((s, a), (s', a')) = c (1 + k_S(s, s')) + δ(a, a') (1 + k_S(s, s')) + private,

where k_S counts the steps that the first known paths to s and s' share: what an action does here it probably
does there, the more so the less has happened in between. An action that was taken before on the path to s
counts as another one: many actions change nothing when they are repeated. The walk k_S and the private part
are smaller for actions that have done little so far. The prior mean of y and g is linear in the logarithm of
``prior`` and in ``features``. On the tree of first paths the posterior follows by message passing.

Where one can stop, d is compared with what is missing to the best of the same part of the search, because d
follows a log-normal law beyond its median: E max(0, d − h) has the form of Black and Scholes. An action that
was never taken counts three times: what it does here tells what it does elsewhere.

Where one cannot stop, the rest of the path is added: Δ is linear in the number of steps that are left, with a
variance proportional to it. Both are learnt from the completed paths. Steps are rated by the probability of
more than B: with the expected improvement, per step left or not, the same text takes more calls of a model.

A step towards a state that is known already adds nothing that is not known: its y is at most 0.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from dagsearch._internal import special
from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.messages import pass_messages
from dagsearch.values.steps import BACK, FAILED, KNOWN, NEW, PENDING, SAME, UNTAKEN, Steps

# Number of steps after which hyperparameters are learnt first, and by what factor more they are learnt again.
_FIRST, _MORE = 4, 1.1
# Shares of the variance: of what all actions have in common, and, of what an action's own mean leaves open,
# of the walk per step and of the private part. The walk in common is slower.
_COMMON, _WALK, _PRIVATE, _SLOWER = 0.05, 0.1, 0.5, 0.2
# Number of steps of the usual size that count as an action's own before it has shown any.
_TYPICAL = 3.0
# Smallest and largest share that differences between actions may have.
_LEAST, _MOST = 0.1, 0.9
# Quantile of all changes that is a small one.
_SMALL = 0.2
# Weight of the first step with an action.
_UNKNOWN = 3.0
RARE: Final = 0.02
"""Smallest probability that a step leads to a new state."""
# Deviations by which a certainty takes the best next steps of paths not known to be better than others.
_HOPE = 0.7
# Rounding errors of a regression, by which an expected gain may be above 0.
_NOTHING = 1e-6
# Number of steps below a state after which half of its V is taken for final.
_HALF = 5.0


class Field:
    """A function of state and action: a walk that all kinds of steps share, and one for each kind.

    Walks follow the tree of first paths. Kinds with even numbers are actions that are taken first on a path,
    those with odd numbers repeated ones.
    """

    def __init__(self) -> None:
        self.mean, self.common, self.root, self.walk, self.private = 0.0, 0.5, 0.5, 0.05, 0.5
        self._group = [0.0, 0.0]  # how first and repeated actions differ from the mean
        self._square = 1.0  # mean square of all values
        self.shared, self.own = np.zeros((2, 64)), np.zeros((2, 64, 8))
        """Mean and variance by node, and by node and kind."""
        self.noise = np.full(8, self.private)
        """Variance of the private part of every kind."""
        self._seen: list[tuple[list[int], list[float]]] = []  # nodes and values of every kind
        self._count, self._sum = np.zeros(64), np.zeros(64)  # of values by node

    def grow(self, kinds: int, nodes: int) -> None:
        """Make room."""
        self.shared, self.own = grown(self.shared, 2, nodes), grown(self.own, 2, nodes, kinds)
        self._count, self._sum = grown(self._count, nodes), grown(self._sum, nodes)
        known, self.noise = self.noise.size, grown(self.noise, kinds)
        self.noise[known:] = self.private
        while len(self._seen) < kinds:
            self._seen.append(([], []))

    def clear(self) -> None:
        """Forget all values."""
        self._seen = [([], []) for _ in self._seen]
        self._count[:], self._sum[:] = 0.0, 0.0

    def add(self, kind: int, node: int, value: float) -> None:
        """Take a value; beliefs are out of date until one of the next methods is called."""
        nodes, values = self._seen[kind]
        nodes.append(node)
        values.append(value)
        self._count[node] += 1.0
        self._sum[node] += value

    def extend(self, node: int, parent: int) -> None:
        """A new node: what is believed of its parent, a step away."""
        for moments, walk in ((self.shared, _SLOWER * self.walk), (self.own, self.walk)):
            moments[0, node] = moments[0, parent]
            moments[1, node] = moments[1, parent] + walk

    def update(self, kind: int, parent: IntArray) -> None:
        """The beliefs after a value of one kind; how others differ is left as it was until the next fit."""
        self._share(parent)
        self._pass(kind, parent)

    def fit(self, parent: IntArray) -> None:
        """Learn the variances from all values, and compute the beliefs."""
        means = [(len(own), float(np.mean(own)), kind) for kind, (_, own) in enumerate(self._seen) if own]
        if means:
            every = np.concatenate([own for _, own in self._seen if own])
            self.mean, total = float(every.mean()), float(every.var()) + 1e-12
            for repeated in (0, 1):
                own = [mean - self.mean for _, mean, kind in means if kind % 2 == repeated]
                self._group[repeated] = sum(own) / (len(own) + 1.0)
            between = sum(count * (mean - self.mean) ** 2 for count, mean, _ in means) / len(every)
            self.root = min(max(between, _LEAST * total), _MOST * total)
            rest = total - _MOST * self.root
            self.common, self.walk = _COMMON * total, _WALK * rest
            self.private = _PRIVATE * rest + 1e-6 * total
            self._square = float(np.mean(every**2)) + 1e-12
        self._share(parent)
        for kind in range(len(self._seen)):
            self._pass(kind, parent)

    def _share(self, parent: IntArray) -> None:
        """What all kinds have in common."""
        noise = self.private + self.root
        precision, info = self._count[: parent.size] / noise, self._sum[: parent.size] / noise
        walk = _SLOWER * self.walk
        pass_messages(parent, precision, info, self.mean, self.common, walk, self.shared[0], self.shared[1])

    def _pass(self, kind: int, parent: IntArray) -> None:
        """How one kind differs from that."""
        nodes, values = self._seen[kind]
        precision, info = np.zeros(parent.size), np.zeros(parent.size)
        activity = self._activity(kind)
        self.noise[kind] = noise = activity * self.private
        np.add.at(precision, nodes, 1.0 / noise)  # "another child" has several values at a node
        np.add.at(info, nodes, (np.array(values) - self.shared[0, nodes]) / noise)
        mean, variance = moments = np.empty((2, parent.size))
        walk = activity * self.walk
        pass_messages(parent, precision, info, self._group[kind % 2], self.root, walk, mean, variance)
        self.own[:, : parent.size, kind] = moments

    def _activity(self, kind: int) -> float:
        """Mean square of what an action has shown over that of all, at most 1: many change nothing, ever."""
        first = kind - kind % 2
        values = np.array([*self._seen[first][1], *self._seen[first + 1][1]])
        return min((_TYPICAL + float(values @ values) / self._square) / (_TYPICAL + values.size), 1.0)

    def at(self, kind: "int | IntArray", node: "int | IntArray") -> tuple[FloatArray, FloatArray]:
        """Mean and variance, without the private part."""
        moments = self.shared[:, node] + self.own[:, node, kind]
        return moments[0], moments[1]


class Rest(NamedTuple):
    """Δ where one cannot stop: what the rest of a path brings."""

    end: float
    """Level at which paths end."""
    slope: float
    """Mean of what each step brings."""
    variance: float
    """Its variance."""


class StepBelief:
    """Beliefs over all slots, learnt from the steps that were taken.

    Parameters
    ----------
    steps : Steps
        The explored part.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.change, self.effect, self.gain = Field(), Field(), Field()
        """x, y and g."""
        self.unit = 1.0
        """u."""
        self.slot_kind = np.zeros(64, dtype=np.int64)
        """Twice the number of each slot's action, plus one if it was taken before on the path."""
        self.slot_expected = np.zeros(64)
        """Prior mean of each slot's gain or effect."""
        self._tries = np.zeros(64)  # number of steps taken below each node
        self._taken: list[int] = []  # slots, in order
        self._used: list[frozenset[int]] = [frozenset()]  # actions on the first path to each node
        self._weights = np.array([0.0, 1.0])  # of the prior mean: constant, log prior, features
        self._met = np.zeros(64, dtype=np.bool_)  # actions that were taken
        self._described = 0  # number of slots whose kind is known
        self._due = _FIRST
        known = [len(own) for own in steps.slot_features if own is not None]
        self._features = known[0] if known else 0  # their number
        self._grow()

    @property
    def _parent(self) -> IntArray:
        return self._steps.parent[: len(self._steps.graph)]

    def _grow(self) -> None:
        steps, nodes = self._steps, len(self._steps.graph)
        self._tries, self._met = grown(self._tries, nodes), grown(self._met, steps.kinds)
        for field in (self.change, self.effect, self.gain):
            field.grow(2 * steps.kinds, nodes)
        self.slot_kind = grown(self.slot_kind, steps.slots)
        self.slot_expected = grown(self.slot_expected, steps.slots)
        for slot in range(self._described, steps.slots):
            action = int(steps.slot_action[slot])
            self.slot_kind[slot] = 2 * action + (action in self._used[int(steps.slot_node[slot])])
        self._expect(self._described)
        self._described = steps.slots

    # Learning ----------------------------------------------------------------------------------------------

    def learn(self, slot: int) -> None:
        """Learn from a step that was taken or has failed."""
        steps = self._steps
        node, is_new = int(steps.slot_node[slot]), steps.slot_became[slot] == NEW
        if is_new:
            self._used.append(self._used[node] | {int(steps.slot_action[slot])})
        self._grow()
        self._taken.append(slot)
        self._met[steps.slot_action[slot]] = True
        above = node
        while above >= 0:
            self._tries[above] += 1.0
            above = int(steps.parent[above])
        if len(self._taken) >= self._due:
            self._due = max(self._due + 1, int(_MORE * self._due))
            self._fit()
            return
        self._observe(slot)
        for field in (self.change, self.effect, self.gain):
            if is_new:
                field.extend(int(steps.slot_child[slot]), node)
            field.update(int(self.slot_kind[slot]), self._parent)

    def _observe(self, slot: int) -> None:
        """Add what a taken slot has shown to the fields."""
        steps, stop = self._steps, self._steps.graph.stop
        node, kind, became = (
            int(steps.slot_node[slot]),
            int(self.slot_kind[slot]),
            int(steps.slot_became[slot]),
        )
        self.change.add(kind, node, float(became == NEW))
        can_stop = math.isfinite(stop[node])
        if became in (FAILED, SAME, BACK):
            if can_stop:
                self.effect.add(kind, node, 0.0)
            return
        child, gain = int(steps.slot_child[slot]), float(steps.slot_gain[slot])
        if can_stop and math.isfinite(stop[child]):
            added = gain + float(stop[child] - stop[node])
            if became == KNOWN:
                added = min(added, 0.0)  # what is good about it is known already
            self.effect.add(kind, node, self._scaled(added) - float(self.slot_expected[slot]))
        elif not can_stop and math.isinf(stop[child]):
            self.gain.add(kind, node, gain - float(self.slot_expected[slot]))

    def _scaled(self, added: float) -> float:
        return math.copysign(math.log1p(abs(added) / self.unit), added)

    def _fit(self) -> None:
        """Learn the unit, the prior mean and the variances."""
        steps, stop = self._steps, self._steps.graph.stop
        slots = np.array(self._taken, dtype=np.int64)
        moved = slots[np.isin(steps.slot_became[slots], (NEW, KNOWN))]
        one, other = stop[steps.slot_node[moved]], stop[steps.slot_child[moved]]
        both, neither = np.isfinite(one) & np.isfinite(other), np.isinf(one) & np.isinf(other)
        added = steps.slot_gain[moved[both]] + other[both] - one[both]
        if np.any(added != 0.0):
            self.unit = float(np.quantile(np.abs(added[added != 0.0]), _SMALL))
        if both.any() and (self._features or steps.has_prior):
            scaled = np.copysign(np.log1p(np.abs(added) / self.unit), added)
            self._weights = self._regression(moved[both], scaled)
        elif neither.any():
            self._weights = self._regression(moved[neither], steps.slot_gain[moved[neither]])
        self._expect(0)
        for field in (self.change, self.effect, self.gain):
            field.clear()
        for slot in self._taken:
            self._observe(slot)
        for field in (self.change, self.effect, self.gain):
            field.fit(self._parent)

    def _regressors(self, slots: IntArray) -> FloatArray:
        steps = self._steps
        found = np.zeros((len(slots), 2 + self._features))
        found[:, 0], found[:, 1] = 1.0, steps.slot_prior[slots]
        if self._features:
            for row, slot in enumerate(slots.tolist()):
                own = steps.slot_features[slot]
                found[row, 2:] = 0.0 if own is None else own
        return found

    def _regression(self, slots: IntArray, target: FloatArray) -> FloatArray:
        """Weights of a linear prior mean, with a little ridge towards 0, of the log prior towards 1."""
        design = self._regressors(slots)
        towards = np.zeros(design.shape[1])
        towards[1] = float(np.any(design[:, 1] != 0.0))
        ridge = np.sqrt(1e-3 * np.maximum(design.var(axis=0), 1e-6))
        ridge[0] = 0.0
        rows, goal = np.vstack([design, np.diag(ridge)]), np.append(target, ridge * towards)
        weights: FloatArray = np.linalg.lstsq(rows, goal, rcond=None)[0]
        return weights

    def _expect(self, first: int) -> None:
        """Prior mean of all slots from ``first`` on."""
        steps, slots = self._steps, np.arange(first, self._steps.slots)
        if len(self._weights) == 2:
            self.slot_expected[slots] = self._weights[0] + self._weights[1] * steps.slot_prior[slots]
        else:
            self.slot_expected[slots] = self._regressors(slots) @ self._weights

    # What is believed --------------------------------------------------------------------------------------

    def predict(self, slot: int) -> tuple[float, float]:
        """Mean and variance of a slot's gain or, where one can stop, of its effect y."""
        kind, node = int(self.slot_kind[slot]), int(self._steps.slot_node[slot])
        field = self.effect if math.isfinite(self._steps.graph.stop[node]) else self.gain
        mean, variance = field.at(kind, node)
        return float(self.slot_expected[slot] + mean), float(variance + field.noise[kind])

    def rest(self) -> Rest:
        """Δ where one cannot stop.

        Until a path is complete, each step is taken to bring what the best next steps brought on average.
        """
        steps, graph = self._steps, self._steps.graph
        nodes, best = len(graph), steps.best_node()
        level, stop = graph.level[:nodes], graph.stop[:nodes]
        if best < 0:
            top = self._best_next()
            slope = float(top.mean()) if top.size else 0.0
            end, variance = float(level.max()) + 1.0, float(top.var()) if top.size else 1.0
        else:
            end = float(level[best]) + 1.0  # what stopping is worth counts as a step
            v, tries = graph.v_mean[:nodes], self._tries[:nodes]
            known = np.isinf(stop) & np.isfinite(v)
            weight = tries[known] / (tries[known] + _HALF)
            left = end - level[known]
            slope = float((weight * left * v[known]).sum() / max((weight * left * left).sum(), 1e-12))
            errors = weight * (v[known] - slope * left) ** 2 / np.maximum(left, 1.0)
            prior = 0.25 * (self.gain.private + self.gain.root)
            variance = (float(errors.sum()) + prior) / (1.0 + float(weight.sum()))
        return Rest(end, slope, variance)

    def _best_next(self) -> FloatArray:
        """What is expected of the best next step of every node that has any."""
        steps = self._steps
        top = np.full(len(steps.graph), -np.inf)
        np.maximum.at(top, steps.slot_node[: steps.slots], self.slot_expected[: steps.slots])
        return np.asarray(top[np.isfinite(top)])

    def improvements(self, goal: FloatArray) -> FloatArray:
        """Logarithm of the expected improvement per cost of every slot; −∞ of those that cannot be taken.

        Of those that are surely not the largest, it is a number below all others.

        Parameters
        ----------
        goal : array of shape ``(nodes,)``
            What is to be improved on by a step from each node; ∞ if none is to be taken there.
        """
        steps, graph, nodes = self._steps, self._steps.graph, len(self._steps.graph)
        found: FloatArray = _improvements(  # type: ignore[no-untyped-call]
            (
                steps.slot_node[: steps.slots],
                self.slot_kind[: steps.slots],
                steps.slot_became[: steps.slots],
                steps.slot_cost[: steps.slots],
                self.slot_expected[: steps.slots],
                ~self._met[steps.slot_action[: steps.slots]],
            ),
            (self.change.shared, self.change.own),
            (self.effect.shared, self.effect.own, self.effect.noise, self.unit),
            (self.gain.shared, self.gain.own, self.gain.noise),
            (steps.reach[:nodes], graph.stop[:nodes], graph.level[:nodes], goal),
            self.rest(),
        )
        return found

    def certainty(self) -> float | None:
        """Probability that no path is better than the best known one; ``None`` if it is not known.

        It is known where paths are only complete at their end, and worth the sum of their gains, or there is
        a prior: steps from there on are then independent, given what the rest of a path brings.
        """
        steps, graph = self._steps, self._steps.graph
        slots = np.flatnonzero(steps.slot_became[: steps.slots] <= PENDING)
        if not math.isfinite(steps.best):
            return None
        if slots.size == 0:
            return 1.0
        node, kind, rest = steps.slot_node[slots], self.slot_kind[slots], self.rest()
        if np.isfinite(graph.stop[node]).any() or (steps.ends_tell and not steps.has_prior):
            return None
        mean, variance = self.gain.at(kind, node)
        left = np.maximum(rest.end - graph.level[node] - 1.0, 0.0)
        above = steps.reach[node] + self.slot_expected[slots] + mean - steps.best
        variance = variance + self.gain.noise[kind] + rest.variance * left
        top = self._best_next()
        likely = max(rest.slope, float(top.mean())) + _HOPE * float(top.std())
        z = (above + likely * left) / np.sqrt(variance)
        if self._only_loses():
            z = z[above > 0.0]  # the rest of any other path would have to gain
        return float(np.exp(special.log_ndtr(-z).sum()))

    def _only_loses(self) -> bool:
        """Whether no gain was ever positive, nor is expected to be, such as logarithms of probabilities."""
        steps = self._steps
        taken = np.array(self._taken, dtype=np.int64)
        stop = steps.graph.stop[: len(steps.graph)]
        return bool(
            np.all(steps.slot_gain[taken] <= 0.0)
            and np.all(stop[np.isfinite(stop)] <= 0.0)
            and np.all(self.slot_expected[: steps.slots] <= _NOTHING)
        )


@compiled
def _log_probability(z: float) -> float:
    """Logarithm of the standard normal distribution function, also far in its tail."""
    if z < -30.0:
        return -0.5 * z * z - math.log(-z * math.sqrt(2.0 * math.pi))
    return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))


@compiled
def _scaled_improvement(mean: float, variance: float, unit: float, missing: float) -> float:
    """E max(0, d − missing) with d = unit (exp(Y) − 1) and Y ~ N(mean, variance)."""
    deviation, strike = math.sqrt(variance), unit + missing
    z = (mean - math.log(strike / unit)) / deviation
    if z < -8.0:
        return 0.0
    above = (
        unit * math.exp(min(mean + 0.5 * variance, 50.0)) * 0.5 * math.erfc(-(z + deviation) / math.sqrt(2.0))
    )
    return max(above - strike * 0.5 * math.erfc(-z / math.sqrt(2.0)), 0.0)


@compiled
def _improvements(slots, change, effect, gain, nodes, rest):  # type: ignore[no-untyped-def]
    node, kind, became, cost, expected, unknown = slots
    change_shared, change_own = change
    effect_shared, effect_own, effect_noise, unit = effect
    gain_shared, gain_own, gain_noise = gain
    reach, stop, level, goal = nodes
    end, slope, variance = rest
    found = np.full(node.size, -np.inf)
    top, top_mean, top_deviation, top_cost = -np.inf, -np.inf, 0.0, np.inf
    for slot in range(node.size):
        s, k = node[slot], kind[slot]
        if became[slot] != UNTAKEN or goal[s] == np.inf:
            continue
        if np.isfinite(stop[s]):
            mean = expected[slot] + effect_shared[0, s] + effect_own[0, s, k]
            var = effect_shared[1, s] + effect_own[1, s, k] + effect_noise[k]
            improvement = _scaled_improvement(mean, var, unit, max(goal[s] - reach[s] - stop[s], 0.0))
            if unknown[slot]:
                improvement *= _UNKNOWN
        else:
            mean = expected[slot] + gain_shared[0, s] + gain_own[0, s, k]
            if goal[s] == -np.inf:  # nothing to compare with yet
                found[slot] = reach[s] + mean - slope * level[s]
                continue
            var = gain_shared[1, s] + gain_own[1, s, k] + gain_noise[k]
            left = max(end - level[s] - 1.0, 0.0)
            mean += reach[s] + slope * left - goal[s]
            deviation = math.sqrt(var + variance * left)
            if mean < min(top_mean, 0.0) and deviation <= top_deviation and cost[slot] >= top_cost:
                found[slot] = -1e300  # less than one before
                continue
            p = min(max(change_shared[0, s] + change_own[0, s, k], RARE), 1.0)
            found[slot] = math.log(p / cost[slot]) + _log_probability(mean / deviation)
            if p == 1.0 and found[slot] > top:
                top = found[slot]
                top_mean, top_deviation, top_cost = mean, deviation, cost[slot]
            continue
        found[slot] = math.log(max(improvement / cost[slot], 1e-300))
    return found
