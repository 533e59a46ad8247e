"""The belief over costly steps that were not taken yet. (research version)"""

import math
import os

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.messages import pass_messages
from dagsearch.posterior.to_go import ToGo
from dagsearch.values.steps import BACK, FAILED, KNOWN, NEW, PENDING, SAME, UNTAKEN, Steps

# Number of steps after which hyperparameters are learnt first, and by what factor more they are learnt again.
_FIRST, _MORE = 4, 1.1

OPT = dict(common=0.05, shared_step=0.2, step=0.1, noise=0.5, root_min=0.1, s0=0.005, s1=0.03, prior=2.0, pace=1.0, patience=5.0, future=0.0, pfloor=0.02, still=0.05, local=1.25, floor=0.002, rep=1, dist=0, pooled=1, lin=0, pbase=12, pfirst=25, pfrac=0.2, pmax=100, own=0.8, power=1.0, jitter=0.0, still0=0.1, behind=1e9)
OPT.update({k: float(v) for k, v in (kv.split('=') for kv in os.environ.get('OPT', '').split(',') if kv)})


class Field:
    """A function of state and action: a walk along the tree of first paths that all actions share, and one
    for each action."""

    def __init__(self) -> None:
        self.root_mean, self.common, self.root, self.step, self.noise = 0.0, 0.5, 0.5, 0.05, 0.5
        self._shared = np.zeros((2, 64))
        self._own = np.zeros((2, 8, 64))
        self._seen: list[tuple[list[int], list[float]]] = []  # nodes and values of every kind
        self.group = np.zeros(2)

    def grow(self, kinds: int, nodes: int) -> None:
        self._shared = grown(self._shared, 2, nodes)
        self._own = grown(self._own, 2, kinds, nodes)
        while len(self._seen) < kinds:
            self._seen.append(([], []))

    def clear(self) -> None:
        self._seen = [([], []) for _ in self._seen]

    def add(self, action: int, node: int, value: float) -> None:
        nodes, values = self._seen[action]
        nodes.append(node)
        values.append(value)

    def refit(self, parent: IntArray, distance: FloatArray) -> None:
        """Learn the variances, and compute everything anew."""
        values = [np.array(own) for _, own in self._seen if own]
        if not values:
            return self.update_all(parent, distance)
        every = np.concatenate(values)
        self.root_mean = float(every.mean())
        total = float(every.var()) + 1e-12
        spread = [len(own) * (float(own.mean()) - self.root_mean) ** 2 for own in values]
        between = min(max(sum(spread) / len(every), OPT['root_min'] * total), 0.9 * total)
        for rep in (0, 1):
            own = [np.array(v) for _, v in self._seen[rep::2] if v]
            self.group[rep] = (sum(float(o.mean()) - self.root_mean for o in own)) / (len(own) + 1.0)
        self.root, self.common = between, OPT['common'] * total
        rest = total - 0.9 * between
        self.step, self.noise = OPT['step'] * rest, OPT['noise'] * rest + 1e-6 * total
        self.update_all(parent, distance)

    def extend(self, node: int, parent: int, distance: float) -> None:
        """A new node: what is believed of its parent, a step away."""
        self._shared[0, node] = self._shared[0, parent]
        self._shared[1, node] = self._shared[1, parent] + OPT['shared_step'] * self.step * distance
        self._own[0, :, node], self._own[1, :, node] = self._own[0, :, parent], self._own[1, :, parent] + self.step * distance

    def update_all(self, parent: IntArray, distance: FloatArray) -> None:
        self.update_shared(parent, distance)
        for action in range(len(self._seen)):
            self.update(action, parent, distance)

    def update_shared(self, parent: IntArray, distance: FloatArray) -> None:
        """The walk that all actions share, from what they have in common."""
        precision, info = np.zeros(parent.size), np.zeros(parent.size)
        noise = self.noise + self.root
        for nodes, values in self._seen:
            np.add.at(precision, nodes, 1.0 / noise)
            np.add.at(info, nodes, np.array(values) / noise)
        pass_messages(
            parent, precision, info, self.root_mean, self.common, OPT['shared_step'] * self.step * distance, self._shared[0], self._shared[1]
        )

    def update(self, action: int, parent: IntArray, distance: FloatArray) -> None:
        """The walk of one action, from how its values differ from what all actions share."""
        nodes, values = self._seen[action]
        precision, info = np.zeros(parent.size), np.zeros(parent.size)
        if nodes:
            precision[nodes] = 1.0 / self.noise
            info[nodes] = (np.array(values) - self._shared[0][nodes]) / self.noise
        own = self._own[:, action]
        pass_messages(parent, precision, info, self.group[action % 2], self.root, self.step * distance, own[0], own[1])


class StepBelief:
    """Beliefs over all slots, learnt from the steps that were taken."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.to_go = ToGo(steps)
        self.change, self.gain, self.effect, self.size = Field(), Field(), Field(), Field()
        self.distance = np.ones(64)
        self._slots: list[int] = []  # taken ones, in order
        self.slot_kind = np.zeros(64, dtype=np.int64)
        self._kinds_known = 0
        self._used: list[frozenset[int]] = [frozenset()]
        self._due = _FIRST
        self._weights = np.array([0.0, 1.0])
        self.tries = np.zeros(64)
        self.unit = 1.0
        self.island = np.zeros(64, dtype=np.int64)
        self.active = 0
        self.i_tries, self.i_last, self.i_best, self.i_node = [0], [0], [-math.inf], [0]
        self.i_noise = [np.zeros(0)]
        self._deviations: set[int] = set()
        self._missed: dict[int, float] = {}
        self._best, self._best_at = -math.inf, 0
        self._grow()

    def _grow(self) -> None:
        steps = self._steps
        nodes = len(steps.graph)
        self.tries, self.distance = grown(self.tries, nodes), grown(self.distance, nodes)
        self.island = grown(self.island, nodes)
        for field in (self.change, self.gain, self.effect, self.size):
            field.grow(2 * steps.kinds, nodes)
        self.slot_kind = grown(self.slot_kind, steps.slots)
        for slot in range(self._kinds_known, steps.slots):
            action = int(steps.slot_action[slot])
            self.slot_kind[slot] = 2 * action + int(OPT['rep'] and action in self._used[int(steps.slot_node[slot])])
        self._kinds_known = steps.slots

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
        if self._weights.size == 2:
            return self._weights[0] + self._weights[1] * self._steps.slot_prior[slots]
        return self._regressors(slots) @ self._weights

    def _observe(self, slot: int) -> None:
        """Add a taken slot to the fields."""
        steps, graph = self._steps, self._steps.graph
        node, action, became = int(steps.slot_node[slot]), int(self.slot_kind[slot]), int(steps.slot_became[slot])
        child = int(steps.slot_child[slot])
        self.change.add(action, node, float(became == NEW))
        if became == FAILED:
            if math.isfinite(graph.stop[node]):
                self.effect.add(action, node, 0.0)
                self.size.add(action, node, 0.0)
            return
        one, other = float(graph.stop[node]), float(graph.stop[child])
        gain = float(steps.slot_gain[slot])
        if math.isinf(one) and math.isinf(other):
            self.gain.add(action, node, gain - float(self._expected(np.array([slot]))[0]))
        elif math.isfinite(one) and math.isfinite(other):
            d = gain + other - one if became in (NEW, KNOWN) else 0.0
            if became in (KNOWN, BACK):
                d = min(d, 0.0)
            size = math.log1p(abs(d) / self.unit)
            self.effect.add(action, node, math.copysign(size, d))
            if slot not in self._missed:
                m = float(self.effect._shared[0, node] + self.effect._own[0, action, node])
                self._missed[slot] = abs(math.copysign(size, d) - m)
            self.size.add(action, node, self._missed[slot])
            if became == NEW:
                self.distance[child] = size + OPT['still'] if OPT['dist'] else 1.0
        if became == NEW and not (math.isfinite(one) and math.isfinite(other)):
            self.distance[child] = 1.0

    def learn(self, slot: int) -> None:
        """Learn from a step that was taken or has failed."""
        steps = self._steps
        node = int(steps.slot_node[slot])
        became = int(steps.slot_became[slot])
        if became == NEW:
            self._used.append(self._used[node] | {int(steps.slot_action[slot])})
        self._grow()
        action = int(self.slot_kind[slot])
        self._slots.append(slot)
        i = int(self.island[node])
        self.i_tries[i] += 1
        if slot in self._deviations:
            self._deviations.discard(slot)
            if became == NEW:
                i = len(self.i_tries)
                self.i_tries.append(0), self.i_last.append(0), self.i_best.append(-math.inf), self.i_node.append(0)
                self.i_noise.append(np.zeros(0))
                self.active = i
        if became == NEW:
            child = int(steps.slot_child[slot])
            self.island[child] = i
            total = float(steps.reach[child] + steps.graph.stop[child])
            if total > self.i_best[i] + 1e-12 * abs(total):
                self.i_best[i], self.i_last[i], self.i_node[i] = total, self.i_tries[i], child
        above = node
        while above >= 0:
            self.tries[above] += 1
            above = int(steps.parent[above])
        if len(self._slots) >= self._due:
            self._observe(slot)
            self._due = max(self._due + 1, int(_MORE * self._due))
            self._refit()
        else:
            self._observe(slot)
            for field in (self.change, self.gain, self.effect, self.size):
                if became == NEW:
                    child = int(steps.slot_child[slot])
                    field.extend(child, node, self.distance[child])
                field.update_shared(self.parent, self.distance[: len(steps.graph)])
                field.update(action, self.parent, self.distance[: len(steps.graph)])

    def _refit(self) -> None:
        """Learn the prior mean and the variances."""
        steps, graph = self._steps, self._steps.graph
        slots = np.array(self._slots, dtype=np.int64)
        became = steps.slot_became[slots]
        moved = slots[(became == NEW) | (became == KNOWN)]
        a, b = graph.stop[steps.slot_node[moved]], graph.stop[steps.slot_child[moved]]
        plain = moved[np.isinf(a) & np.isinf(b)]
        if len(plain) > 0 and (np.ptp(steps.slot_prior[plain]) > 0 or steps.slot_features):
            design, target = self._regressors(plain), steps.slot_gain[plain]
            ridge = 1e-6 * len(plain) * np.maximum(design.var(axis=0), 1e-6)
            ridge[0] = 0.0
            self._weights = np.linalg.lstsq(
                np.vstack([design, np.diag(np.sqrt(ridge))]), np.append(target, np.zeros(len(ridge))), rcond=None
            )[0]
        both = np.isfinite(a) & np.isfinite(b)
        d = np.abs(steps.slot_gain[moved] + b - a)[both] if both.any() else np.zeros(0)
        d = d[d > 1e-12]
        if d.size:
            self.unit = float(np.quantile(d, 0.2))
        for field in (self.change, self.gain, self.effect, self.size):
            field.clear()
        for slot in self._slots:
            self._observe(slot)
        for field in (self.change, self.gain, self.effect, self.size):
            field.refit(self.parent, self.distance[: len(graph)])

    # Scores -------------------------------------------------------------------------------------------------

    def scores(self) -> FloatArray:
        """Expected improvement per cost of every slot; −∞ of those that cannot be taken."""
        steps, graph, nodes = self._steps, self._steps.graph, len(self._steps.graph)
        best = steps.best
        stop, reach = graph.stop[:nodes], steps.reach[:nodes]
        valued = np.isfinite(stop)
        q = reach + np.where(valued, stop, 0.0)
        level = graph.level[:nodes].astype(np.float64)
        final, final_var, spread, pace = self._finals(q, valued)
        rest = self._to_go(level, valued)
        slots = np.arange(steps.slots)
        return _scores(
            steps.slot_node[: steps.slots],
            self.slot_kind[: steps.slots],
            steps.slot_became[: steps.slots],
            steps.slot_cost[: steps.slots],
            self._expected(slots),
            (self.change._shared, self.change._own, self.gain._shared, self.gain._own, self.effect._shared, self.effect._own, self.size._shared, self.size._own),
            (self.gain.noise, self.effect.noise, self.unit, OPT['future'], OPT['pfloor'], OPT['local'], OPT['floor'], OPT['pooled'] > 0, OPT['lin'] > 0),
            (q, valued, level, self.island, self.active),
            self.i_best[self.active] if valued[0] else best,
            (final, final_var, spread, pace),
            rest,
        )

    def propose(self, rng) -> int:
        """The slot to take next; −1 if none is left."""
        steps = self._steps
        if not steps.open.any():
            return -1
        if math.isfinite(steps.graph.stop[0]):
            self.i_best[0] = max(self.i_best[0], float(steps.graph.stop[0]))
            i = self.active
            since = self.i_tries[i] - self.i_last[i]
            dry = since > min(OPT['pbase' if i else 'pfirst'] + OPT['pfrac'] * self.i_last[i], OPT['pmax'])
            if dry:
                slot = self._deviation(rng)
                if slot >= 0:
                    self._deviations.add(slot)
                    return slot
            scores = self.scores()
        else:
            scores = self.to_go.scores(*self._gains())
        best = np.flatnonzero(scores == scores.max())
        return int(best[0] if best.size == 1 else best[rng.integers(best.size)])

    def _gains(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and variance of the gain of every slot, and the tries below each node."""
        steps, field = self._steps, self.gain
        node, kind = steps.slot_node[: steps.slots], self.slot_kind[: steps.slots]
        mean = self._expected(np.arange(steps.slots)) + field._shared[0, node] + field._own[0, kind, node]
        return mean, field._shared[1, node] + field._own[1, kind, node] + field.noise, self.tries

    def _deviation(self, rng) -> int:
        steps = self._steps
        order = np.argsort([-b for b in self.i_best], kind="stable")
        i = int(order[min(int(rng.geometric(OPT['own'])) - 1, len(order) - 1)])
        node, path = self.i_node[i], []
        while node >= 0:
            path.append(node)
            node = int(steps.slot_node[steps.by[node]]) if steps.by[node] >= 0 else -1
        open_slots = np.flatnonzero(steps.open)
        on_path = np.zeros(len(steps.graph), dtype=bool)
        on_path[path] = True
        slots = open_slots[on_path[steps.slot_node[open_slots]]]
        if slots.size == 0:
            return -1
        node, kind = steps.slot_node[slots], self.slot_kind[slots]
        p = np.clip(self.change._shared[0, node] + self.change._own[0, kind, node], 0.02, 1.0)
        m = np.abs(self.effect._shared[0, node] + self.effect._own[0, kind, node])
        weight = (p * (m + OPT['still0'])) ** OPT['power']
        share = np.bincount(node, weight, len(steps.graph))
        weight = weight / share[node]
        return int(rng.choice(slots, p=weight / weight.sum()))

    def _finals(self, q, valued):
        steps, graph, best = self._steps, self._steps.graph, self._steps.best
        nodes = len(graph)
        slots = np.array(self._slots, dtype=np.int64)
        new = slots[steps.slot_became[slots] == NEW] if len(slots) else slots
        change = q[steps.slot_child[new]] - q[steps.slot_node[new]]
        if best > self._best:
            self._best, self._best_at = best, len(slots)
        gained = max(best - float(q[0]), self.unit) if math.isfinite(best) else 1.0
        pace = OPT['pace'] * max(self._best_at, 1) / gained
        if not math.isfinite(best):
            return np.zeros(nodes), np.zeros(nodes), np.zeros(2), pace
        total = reach = steps.reach[:nodes] + graph.v_mean[:nodes]
        parent = np.maximum(self.parent, 0)
        d = np.where(np.arange(nodes) > 0, np.abs(q - q[parent]), 0.0)
        h = np.maximum(best - q, 0.0)
        patience = OPT['patience'] + pace * h
        n = self.tries[:nodes]
        off = valued & valued[parent] & (total < total[parent] - 1e-12 * abs(best)) | (valued & (d == 0.0) & (n > 0))
        off[0] = False
        span = max(best - float(q[0]), self.unit)
        prior = OPT['prior']
        e2 = ((total[parent] - total) ** 2)[off]
        w = (n / (n + patience))[off]
        w = w * w
        x = np.stack([np.full(w.size, span * span), span * d[off]], axis=1)
        px = np.array([[span * span, 0.0], [span * span, span * 0.1 * span]])
        py = np.array([(OPT['s0'] * span) ** 2, (OPT['s1'] * span) ** 2])
        big = np.vstack([x * np.sqrt(w)[:, None], px * prior]) / span**2
        y = np.append(e2 * np.sqrt(w), py * prior) / span**2
        scale = 1.0 / np.maximum(y + 1e-4, 1e-4)
        from scipy.optimize import nnls
        a, _ = nnls(big * scale[:, None], y * scale)
        spread = np.array([a[0] * span * span, a[1] * span]) + 1e-30
        final, final_var = _final(self.parent, q, total, n, patience, d, spread)
        return final, final_var, spread, pace

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
def _final(parent, q, total, n, patience, d, spread):  # type: ignore[no-untyped-def]
    mean, var = total.copy(), np.zeros(total.size)
    for node in range(1, parent.size):
        s = parent[node]
        w = patience[node] / (patience[node] + n[node])
        mean[node] = total[node] + max(mean[s] - total[node], 0.0) * w
        var[node] = (var[s] + spread[0] + spread[1] * d[node]) * w * w
    return mean, var


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
def _log_improvement(mean: float, var: float, unit: float, h: float, lin: bool) -> float:
    """E max(0, d − h) with d = unit (exp(Y) − 1), Y ~ N(mean, var)."""
    if not lin:
        sd = math.sqrt(var)
        strike = unit + h
        z = (mean - math.log(strike / unit)) / sd
        if z < -8.0:
            return 0.0
        up = unit * math.exp(min(mean + 0.5 * var, 50.0)) * 0.5 * math.erfc(-(z + sd) / math.sqrt(2.0))
        return max(up - strike * 0.5 * math.erfc(-z / math.sqrt(2.0)), 0.0)
    # Linear around d = h: the tail of exp(Y) would promise too much.
    return (unit + h) * _improvement(mean - math.log1p(h / unit), math.sqrt(var))


@compiled
def _scores(node, action, became, cost, expected, fields, numbers, states, best, finals, rest):  # type: ignore[no-untyped-def]
    change_shared, change_own, gain_shared, gain_own, effect_shared, effect_own, size_shared, size_own = fields
    private, effect_noise, unit, future, pfloor, local, floor, pooled, lin = numbers
    q, valued, level, island, active = states
    final, final_var, spread, pace = finals
    base, slope, to_go_var, end = rest
    scores = np.full(node.size, -np.inf)
    for slot in range(node.size):
        if became[slot] != 0:
            continue
        if valued[node[slot]] and island[node[slot]] != active:
            scores[slot] = -1e300
            continue
        s, a = node[slot], action[slot]
        p = min(max(change_shared[0, s] + change_own[0, a, s], pfloor), 1.0)
        if np.isinf(best):
            d = expected[slot] + gain_shared[0, s] + gain_own[0, a, s]
            scores[slot] = p * 1e-6 + level[s] * 1e3 + d
            continue
        if valued[s]:
            m = effect_shared[0, s] + effect_own[0, a, s]
            z = local * max(size_shared[0, s] + size_own[0, a, s], floor)
            v = effect_shared[1, s] + effect_own[1, a, s] + (effect_noise if pooled else z * z)
            found = _log_improvement(m, v, unit, max(best - q[s], 0.0), lin)
            d = unit * math.expm1(min(abs(m), 30.0)) * (1.0 if m > 0.0 else -1.0)
            size = unit * math.expm1(min(abs(m) + 0.5 * math.sqrt(v), 30.0))
            h = max(best - q[s] - d, 0.0)
            sd = math.sqrt(final_var[s] + spread[0] + spread[1] * size)
            found += future * p * _improvement(final[s] - best, sd) / (1.0 + pace * h)
            p = 1.0
        else:
            d = expected[slot] + gain_shared[0, s] + gain_own[0, a, s]
            var = gain_shared[1, s] + gain_own[1, a, s] + private
            left = max(end - level[s] - 1.0, 0.0)
            found = _improvement(q[s] + d + base + slope * left - best, math.sqrt(var + to_go_var * left))
            found /= 1.0 + left
        scores[slot] = math.log(max(p * found, 1e-300)) - math.log(cost[slot])
    return scores
