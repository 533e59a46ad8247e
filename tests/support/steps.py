"""Problems with costly steps: random passes on bits, a random language, random graphs."""

import os

import numpy as np

import dagsearch as ds


class BitPasses:
    """A program as bits with weights. A pass applies rules: where some bits are as needed, others change.

    Stopping is allowed anywhere; what is left costs its weight.
    """

    def __init__(self, seed=0, bits=80, passes=20):
        rng = np.random.default_rng(seed)
        self.weight = rng.exponential(1.0, bits)
        self.weight[: bits // 4] = 0.0  # these only enable others
        self.start = rng.random(bits) < 0.6
        self.rules = []
        for _ in range(passes):
            rules = []
            for _ in range(rng.integers(1, 8)):
                need = rng.choice(bits, rng.integers(1, 4), replace=False)
                clear, put = (rng.choice(bits, rng.integers(0, 4), replace=False) for _ in range(2))
                rules.append((need, rng.random(len(need)) < 0.6, clear, put if rng.random() < 0.4 else []))
            self.rules.append(rules)
        self.taken = []

    def root(self):
        return ds.Step(self.start.tobytes(), value=self.value(self.start))

    def value(self, bits):
        return -float(self.weight[bits].sum())

    def actions(self, state):
        return range(len(self.rules))

    def expand(self, state, action):
        self.taken.append((state, action))
        bits = np.frombuffer(state, dtype=bool).copy()
        for need, wanted, clear, put in self.rules[action]:
            if np.array_equal(bits[need], wanted):
                bits[clear] = False
                bits[put] = True
        return ds.Step(bits.tobytes(), value=self.value(bits))

    def encode(self, state):
        return state.hex()

    def decode(self, encoded):
        return bytes.fromhex(encoded)


class Language:
    """Texts of a fixed length whose letters depend on the two before; the logarithm of their probability."""

    def __init__(self, seed=0, letters=12, length=10, sharp=1.5):
        rng = np.random.default_rng(seed)
        p = np.exp(sharp * rng.normal(size=(letters, letters, letters)))
        self.log_p, self.length = np.log(p / p.sum(axis=-1, keepdims=True)), length
        self.taken = []

    def next(self, text):
        before = (0, 0, *text)
        return self.log_p[before[-2], before[-1]]

    def root(self):
        return ()

    def actions(self, text):
        return range(self.log_p.shape[0]) if len(text) < self.length else ()

    def prior(self, text):
        return np.exp(self.next(text)) if len(text) < self.length else []

    def expand(self, text, letter):
        self.taken.append((text, letter))
        after = (*text, letter)
        value = 0.0 if len(after) == self.length else None
        return ds.Step(after, gain=float(self.next(text)[letter]), value=value)

    def optimum(self):
        v = np.zeros(self.log_p.shape[:2])
        for _ in range(self.length):
            v = (self.log_p + v[None, :, :]).max(axis=-1)
        return float(v[0, 0])


class Merit:
    """Sequences of signs that resemble none of their own shifts; only a complete one has a value."""

    def __init__(self, seed=0, length=14):
        self.length, self.taken = length, []

    def root(self):
        return ()

    def actions(self, signs):
        return (-1, 1) if len(signs) < self.length else ()

    def expand(self, signs, sign):
        self.taken.append((signs, sign))
        after = np.array((*signs, sign))
        complete = after.size == self.length
        shifts = [after[:-shift] @ after[shift:] for shift in range(1, after.size)]
        return ds.Step((*signs, sign), value=-float(np.square(shifts).sum()) if complete else None)


class Given:
    """A graph that is given: ``edges[state] = {action: (next state, gain)}`` and ``value[state]``."""

    def __init__(self, edges, value):
        self.edges, self.value, self.taken = edges, value, []

    @classmethod
    def random(cls, seed, nodes=9, cycles=False):
        rng = np.random.default_rng(seed)
        edges = {node: {} for node in range(nodes)}
        for node in range(nodes):
            for action in range(rng.integers(0 if node else 2, 4)):
                to = rng.integers(0 if cycles else node + 1, nodes) if cycles or node + 1 < nodes else None
                if to is not None:
                    edges[node][action] = (int(to), float(rng.normal() - cycles * 2.0))
        value = {node: float(rng.normal()) for node in range(nodes) if rng.random() < 0.6}
        value[nodes - 1] = 0.0
        return cls(edges, value)

    def root(self):
        return ds.Step(0, value=self.value.get(0))

    def actions(self, state):
        return tuple(self.edges[state])

    def expand(self, state, action):
        self.taken.append((state, action))
        to, gain = self.edges[state][action]
        return ds.Step(to, gain, self.value.get(to))

    def best(self, state=0, seen=()):
        """V by brute force over all paths without repeated states."""
        found = [self.value.get(state, -np.inf)]
        for to, gain in self.edges[state].values():
            if to not in (*seen, state):
                found.append(gain + self.best(to, (*seen, state)))
        return max(found)


class Crashing(BitPasses):
    """Some passes end the process."""

    def expand(self, state, action):
        if action % 5 == 0:
            os._exit(3)
        return super().expand(state, action)


class Walk:
    """Costly steps on a grid; one may stop anywhere, and a state is a pair of numbers."""

    def root(self):
        return ds.Step((0, 0), value=0.0)

    def actions(self, at):
        return ["right", "up", "stay"] if max(at) < 4 else []

    def expand(self, at, action):
        more = {"right": (1, 0), "up": (0, 1), "stay": (0, 0)}[action]
        to = (at[0] + more[0], at[1] + more[1])
        return ds.Step(to, gain=-0.1, value=float(to[0] - abs(to[1] - 2)))


class WalkToTheEnd(Walk):
    """The same, where one may stop only at the end."""

    def root(self):
        return (0, 0)

    def expand(self, at, action):
        found = super().expand(at, action)
        return found if max(found.state) == 4 else ds.Step(found.state, found.gain)


class Samples:
    """Children by an iterator that names letters; good texts have many different ones.

    A sampler names others in every process, at a price; otherwise a state's letters are always the same.
    """

    def __init__(self, count=4, sampler=None):
        self.count, self.sampler, self.taken, self.drawn = count, sampler, [], 0

    def root(self):
        return ds.Step("", value=0.0)

    def actions(self, text):
        rng = np.random.default_rng([*text.encode(), 7]) if self.sampler is None else self.sampler
        letters = rng.integers(97, 97 + 6, size=self.count + len(text) % 2)  # some come twice
        for letter in letters if len(text) < 4 else ():
            self.drawn += 1
            yield chr(letter) if self.sampler is None else f"{chr(letter)}{self.drawn}"

    def expand(self, text, letter):
        self.taken.append((text, letter))
        return ds.Step(text + letter[0], value=float(len(set(text + letter[0]))))
