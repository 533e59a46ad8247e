"""The compared methods: all apply one pass at a time to a module and see its new size."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

import dagsearch as ds
from experiments.gallery.passes.compiler import Module
from experiments.gallery.passes.problem import PassOrder
from experiments.harness.contest import Method
from experiments.harness.evaluations import EvaluationFailed, Evaluations

OURS, ON_A_TREE = "dagsearch", "dagsearch on a tree"
LENGTH = 24
"""Number of passes in a whole order; the fewest instructions on the way count."""
_POPULATION, _MUTATED, _TOURNAMENT = 20, 0.1, 3
_ROLLOUT = 8  # random passes after a new node of UCT
_EXPLORE = 0.1  # constant of UCT: values are between -1 and 0.1


class Steps:
    """The problem of one run: applications of passes are counted; repeated ones are free."""

    def __init__(self, problem: PassOrder, evaluate: Evaluations) -> None:
        self.problem, self._evaluate = problem, evaluate
        self.root, self.actions = problem.root, problem.actions
        problem.begin()

    def __call__(self, module: Module, name: str) -> Module | None:
        """The module after a pass, or ``None`` if LLVM fails."""
        if self._evaluate.or_worst((module, name)) == -math.inf:
            return None
        return self.problem.after(module, name)

    def expand(self, module: Module, name: str) -> ds.Step:
        """Apply a pass."""
        found = self(module, name)
        if found is None:
            raise EvaluationFailed(f"{name} fails here")
        return ds.Step(found, value=self.problem.value(found))

    def order(self, names: Sequence[str]) -> float:
        """Value of the best module on the way through a whole order."""
        module: Module | None = self.problem.start
        best = self.problem.value(self.problem.start)
        for name in names:
            assert module is not None
            module = self(module, name)
            if module is None:
                break
            best = max(best, self.problem.value(module))
        return best


class Tree:
    """A problem with costly steps in which no two paths meet: a state is the path to it, and its end."""

    def __init__(self, problem: Steps) -> None:
        self._problem = problem

    def root(self) -> ds.Step:
        """The empty path."""
        step = self._problem.root()
        return ds.Step(((), step.state), value=step.value)

    def actions(self, state: tuple[tuple[str, ...], Module]) -> Sequence[str]:
        """The actions at the end of a path."""
        return self._problem.actions(state[1])

    def expand(self, state: tuple[tuple[str, ...], Module], name: str) -> ds.Step:
        """One step further; a step without effect leads back to its own state."""
        path, module = state
        step = self._problem.expand(module, name)
        path = path if step.state == module else (*path, name)
        return ds.Step((path, step.state), value=step.value)


def ours(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """``ds.search`` without any setting."""
    ds.search(Steps(problem, evaluate), evaluate.budget, seed=seed, on_error="skip")


def on_a_tree(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """The same with equal modules as different states."""
    ds.search(Tree(Steps(problem, evaluate)), 10 * evaluate.budget, seed=seed, on_error="skip")


def whole_orders(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """``ds.search`` of ``ds.problems.Sequences``, which sees only values of whole orders."""
    steps = Steps(problem, evaluate)
    orders = ds.problems.Sequences(problem.llvm.passes, LENGTH, reward=steps.order)
    ds.search(orders, evaluate.budget, seed=seed)


def random_orders(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """Random orders."""
    steps, rng = Steps(problem, evaluate), np.random.default_rng(seed)
    while True:
        steps.order(_random(problem, rng, LENGTH))


def greedy(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """Try all passes and apply the best one; if none helps, a random one that has an effect."""
    steps, rng = Steps(problem, evaluate), np.random.default_rng(seed)
    module = problem.start
    while True:
        tried = [steps(module, name) for name in rng.permutation(problem.llvm.passes)]
        changed = [one for one in tried if one is not None and one != module]
        best = min(changed, key=lambda one: one.size, default=None)
        if best is None:
            module = problem.start
        elif best.size < module.size:
            module = best
        else:
            module = changed[rng.integers(len(changed))]


def genetic(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """Orders, crossed at one point and mutated; the best one survives."""
    steps, rng = Steps(problem, evaluate), np.random.default_rng(seed)
    population = [_random(problem, rng, LENGTH) for _ in range(_POPULATION)]
    fitness = [steps.order(names) for names in population]

    def parent() -> list[str]:
        return population[
            max(rng.integers(_POPULATION, size=_TOURNAMENT), key=lambda number: fitness[number])
        ]

    while True:
        elite = int(np.argmax(fitness))
        children = [population[elite]]
        while len(children) < _POPULATION:
            cut = int(rng.integers(1, LENGTH))
            child = parent()[:cut] + parent()[cut:]
            fresh = _random(problem, rng, LENGTH)
            children.append(
                [new if rng.random() < _MUTATED else old for old, new in zip(child, fresh, strict=True)]
            )
        population, fitness = children, [steps.order(names) for names in children]


def uct(evaluate: Evaluations, seed: int, problem: PassOrder) -> None:
    """Monte Carlo tree search: descend by upper confidence bounds, add a node, finish by random passes."""
    steps, rng = Steps(problem, evaluate), np.random.default_rng(seed)
    passes = problem.llvm.passes
    visits: dict[tuple[str, ...], int] = {}
    totals: dict[tuple[str, ...], float] = {}
    while True:
        path: tuple[str, ...] = ()
        while path in visits and len(path) < LENGTH:
            bound = math.log(visits[path] + 1.0)
            scores = [
                totals[child] / visits[child] + _EXPLORE * math.sqrt(bound / visits[child])
                if (child := (*path, name)) in visits
                else math.inf
                for name in passes
            ]
            best = np.flatnonzero(np.array(scores) == max(scores))
            path = (*path, passes[rng.choice(best)])
        found = steps.order([*path, *_random(problem, rng, _ROLLOUT)])
        for length in range(len(path) + 1):
            visits[path[:length]] = visits.get(path[:length], 0) + 1
            totals[path[:length]] = totals.get(path[:length], 0.0) + found


def _random(problem: PassOrder, rng: np.random.Generator, length: int) -> list[str]:
    passes = problem.llvm.passes
    return [passes[number] for number in rng.integers(len(passes), size=length)]


_ALL: dict[str, Callable[..., None]] = {
    OURS: ours,
    ON_A_TREE: on_a_tree,
    "whole orders": whole_orders,
    "greedy": greedy,
    "genetic": genetic,
    "UCT": uct,
    "random": random_orders,
}


def methods(problem: PassOrder) -> dict[str, Method]:
    """The methods by name for one program, ours first."""
    return {name: partial(method, problem=problem) for name, method in _ALL.items()}
