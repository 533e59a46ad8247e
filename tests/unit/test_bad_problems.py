"""What problems that are badly made, or extreme, get."""

import pytest

import dagsearch as ds


class Digits:
    """A number digit by digit."""

    digits, base = 3, 4

    def root(self):
        return ()

    def actions(self, state):
        return range(self.base) if len(state) < self.digits else ()

    def step(self, state, action):
        return (*state, action)

    def reward(self, leaf):
        return float(sum(leaf))


class ManyActions(Digits):
    digits, base = 2, 100_000


class Deep(Digits):
    digits, base = 1_000, 2


class Unhashable(Digits):
    def root(self):
        return []

    def step(self, state, action):
        return [*state, action]


class Board:
    """Compares by identity."""

    def __init__(self, cells=()):
        self.cells = list(cells)


class Changed(Digits):
    """``step`` changes the state that it is given."""

    def root(self):
        return Board()

    def actions(self, state):
        return super().actions(state.cells)

    def step(self, state, action):
        state.cells.append(action)
        return state


class Identity(Changed):
    """Equal states are different objects that do not compare as equal."""

    def step(self, state, action):
        return Board([*state.cells, action])


class Generator(Digits):
    def actions(self, state):
        return (action for action in Digits.actions(self, state))


class Set(Digits):
    def actions(self, state):
        return set(super().actions(state))


class Nothing(Digits):
    def actions(self, state):
        return super().actions(state) or None


class Cycle(Digits):
    def root(self):
        return 0

    def actions(self, state):
        return (1, 2)

    def step(self, state, action):
        return (state + action) % 7


class Scaled(Digits):
    def __init__(self, scale, shift=0.0):
        self.scale, self.shift = scale, shift

    def reward(self, leaf):
        return self.shift + self.scale * sum(leaf)


class Indefinite(Digits):
    covariance = ds.covariances.Pairwise(lambda a, b: 1.0 if a == b else -0.9)


class Asymmetric(Digits):
    covariance = ds.covariances.Pairwise(lambda a, b: 1.0 if a == b else float(len(a) > len(b)))


def summed_up(problem, budget=30):
    """What a search of a problem gets: the class and the beginning of the error, or how it ended."""
    try:
        result = ds.search(problem, budget, seed=0)
    except ds.DagSearchError as error:
        return type(error).__name__, str(error)
    return "searched", f"{len(result.history)} evaluations, best {result.best_reward:g}"


CASES = [
    ("100,000 actions at a state", ManyActions(), "ProblemError", "divide the decision"),
    ("states that cannot be hashed", Unhashable(), "ProblemError", "is not hashable"),
    ("`step` changes the state it is given", Changed(), "ProblemError", "keep the old one"),
    ("states that compare by identity", Identity(), "ProblemError", "that are not equal"),
    ("`actions` is a generator", Generator(), "ProblemError", "must be a list, tuple or range"),
    ("`actions` is a set", Set(), "ProblemError", "must be a list, tuple or range"),
    ("`actions` is `None` at a leaf", Nothing(), "ProblemError", "must be a list, tuple or range"),
    ("a cycle, or paths without an end", Cycle(), "ProblemError", "every path must end"),
    ("all rewards are equal", Scaled(0.0, 1.0), "searched", "30 evaluations, best 1"),
    ("rewards around 1e-300", Scaled(1e-300), "searched", "30 evaluations, best 9e-300"),
    ("rewards around 1e300", Scaled(1e300), "EvaluationError", "below 1e+100"),
    ("a covariance that is not positive semi-definite", Indefinite(), "CovarianceError", "eigenvalue"),
    ("a covariance that is not symmetric", Asymmetric(), "CovarianceError", "is not symmetric"),
]


@pytest.mark.parametrize(("what", "problem", "kind", "words"), CASES, ids=[case[0] for case in CASES])
def test_what_a_bad_problem_gets(what, problem, kind, words):
    got, message = summed_up(problem)
    assert got == kind
    assert words in message


@pytest.mark.slow
def test_a_thousand_decisions():
    assert summed_up(Deep(), budget=3)[0] == "searched"
