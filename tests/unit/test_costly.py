"""Costly steps: values on the DAG, which steps are taken and how often, what happens to bad input."""

import itertools
import tracemalloc
import zlib

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import dagsearch as ds
from dagsearch.costly.edges import BACK, Edges
from dagsearch.costly.model import expected_improvement
from dagsearch.costly.paths import Paths
from support.steps import BitPasses, Given, Language


def finished(problem, budget=1000, seed=0):
    search = ds.StepSearch(problem, seed=seed)
    search.run(budget)
    return search


def take(edges, problem, state, action):
    """Take a step of the user's choice."""
    node = edges.find(state)
    edge = next(e for e in range(edges.count) if edges.node[e] == node and edges.actions[e] == action)
    edges.ask(edge, action)
    edges.take(edge, edges.describe(problem.expand(state, action)))


def random_edges(problem, seed):
    """All edges of a given graph in an order in which each begins at a known state."""
    rng, known, order = np.random.default_rng(seed), {0}, []
    left = {(node, action) for node, actions in problem.edges.items() for action in actions}
    while ready := sorted(edge for edge in left if edge[0] in known):
        edge = ready[rng.integers(len(ready))]
        left.discard(edge)
        order.append(edge)
        known.add(problem.edges[edge[0]][edge[1]][0])
    return order


# Values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cycles", [False, True])
def test_values_are_those_of_brute_force(seed, cycles):
    problem = Given.random(seed, cycles=cycles)  # cycles lose: going round never pays
    search = finished(problem, seed=seed)
    result = search.result()
    if np.isfinite(problem.best()):
        assert result.best_reward == pytest.approx(problem.best())
    else:
        assert result.best_reward is None
    edges = search.edges
    for node, state in enumerate(edges.states) if not cycles else ():
        assert edges.best_below[node] == pytest.approx(problem.best(state))


@pytest.mark.parametrize("seed", range(20))
def test_values_hold_at_any_time_and_whatever_the_order(seed):
    problem = Given.random(seed)
    edges, known = Edges(problem), Given({state: {} for state in problem.edges}, problem.value)
    for state, action in random_edges(problem, seed):
        take(edges, problem, state, action)
        known.edges[state][action] = problem.edges[state][action]
        assert edges.best == pytest.approx(known.best())
        for node, one in enumerate(edges.states):
            states = [edges.states[place] for place in (*edges.node[edges.path_to(node)], node)]
            paid = sum(_gain(known, *pair) for pair in itertools.pairwise(states))
            assert edges.reach[node] == pytest.approx(paid)
            assert edges.best_below[node] == pytest.approx(known.best(one))


def _gain(problem, state, to):
    return max(gain for after, gain in problem.edges[state].values() if after == to)


# Which steps are taken ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [BitPasses, Language])
def test_expand_is_called_once_per_step_and_never_twice_for_the_same(make):
    problem = make(1)
    ds.StepSearch(problem, seed=0).ask()
    assert problem.taken == []
    result = ds.search(problem, 150, seed=0)
    assert len(problem.taken) == len(set(problem.taken)) == len(result.history) == 150
    assert result.stopped == "budget"


@pytest.mark.parametrize("make", [BitPasses, Language])
def test_best_path_leads_to_best_state_and_earns_best_reward(make):
    problem = make(2)
    result = ds.search(problem, 200, seed=0)
    root = problem.root()
    state, total = (root.state, 0.0) if isinstance(root, ds.Step) else (root, 0.0)
    for action in result.best_path:
        step = problem.expand(state, action)
        state, total = step.state, total + step.gain
    assert state == result.best_state
    assert total + step.value == pytest.approx(result.best_reward)
    best = [evaluation.best_reward for evaluation in result.history]
    assert best == sorted(best)
    assert best[-1] == pytest.approx(result.best_reward)


def test_cycles_and_self_loops_are_taken_once_and_not_linked():
    edges = {
        0: {"stay": (0, 1.0), "go": (1, 0.0)},
        1: {"back": (0, 5.0), "stay": (1, 5.0), "end": (2, 0.0)},
        2: {},
    }
    problem = Given(edges, {0: 0.0, 1: 1.0, 2: 2.0})
    search = finished(problem)
    result, edges = search.result(), search.edges
    assert (result.best_reward, result.best_path, result.stopped) == (2.0, ("go", "end"), "exhausted")
    assert len(problem.taken) == 5
    became = edges.became[: edges.count].tolist()
    assert became.count(BACK) == 3
    assert max(evaluation.reward for evaluation in result.history) == 2.0


def test_a_search_ends_when_every_step_was_taken():
    result = ds.search(Given({0: {0: (1, 1.0)}, 1: {}}, {1: 0.0}), 50, seed=0)
    assert (result.stopped, result.best_reward, result.probability_best) == ("exhausted", 1.0, 1.0)
    nothing = ds.search(Given({0: {}}, {}), 50, seed=0)
    assert (nothing.best_reward, nothing.best_state, len(nothing.history)) == (None, None, 0)


class Endless:
    """Children on demand: each is a number near its parent; small ones are good."""

    def __init__(self, count=None):
        self.count, self.taken = count, []

    def root(self):
        return ds.Step((), value=-1.0)

    def actions(self, state):
        numbers = itertools.count() if self.count is None else iter(range(self.count))
        return numbers if len(state) < 3 else ()

    def expand(self, state, action):
        self.taken.append((state, action))
        after = (*state, action)
        return ds.Step(after, value=-float(np.abs(np.sin(np.dot(after, [3.0, 5.0, 7.0][: len(after)])))))


def test_actions_may_be_an_endless_iterator():
    problem = Endless()
    result = ds.search(problem, 80, seed=0)
    assert len(problem.taken) == len(set(problem.taken)) == 80
    for state in {state for state, _ in problem.taken}:  # in their order, without gaps
        drawn = [action for one, action in problem.taken if one == state]
        assert drawn == list(range(len(drawn)))
    assert len({state for state, _ in problem.taken}) > 3
    assert result.best_reward > -0.1


def test_an_iterator_that_ends_is_exhausted():
    problem = Endless(2)
    result = ds.search(problem, 100, seed=0)
    assert result.stopped == "exhausted"
    assert len(problem.taken) == 2 + 4 + 8


def test_steps_may_say_their_actions_themselves():
    class Own:
        def root(self):
            return ds.Step(0, value=0.0, actions=["up"])

        def expand(self, state, action):
            return ds.Step(state + 1, value=float(state + 1), actions=["up"] if state < 3 else [])

    assert ds.search(Own(), 10, seed=0).best_path == ("up",) * 4


class Priced(BitPasses):
    def cost(self, state, action):
        return 1.0 + action % 3


def test_the_budget_is_in_units_of_cost():
    problem = Priced(0)
    ds.search(problem, 60, seed=0)
    spent = [1.0 + action % 3 for _, action in problem.taken]
    assert sum(spent[:-1]) < 60 <= sum(spent)


def test_a_failed_step_is_not_taken_again():
    class Failing(BitPasses):
        def expand(self, state, action):
            step = super().expand(state, action)
            if action == 3:
                raise RuntimeError("no")
            return step

    problem = Failing(0)
    result = ds.search(problem, 100, seed=0, on_error="skip")
    assert len(problem.taken) == len(set(problem.taken)) == 100
    assert len(result.history) < 100
    assert 3 not in result.best_path
    with pytest.raises(ds.EvaluationError, match="RuntimeError: no"):
        ds.search(Failing(0), 100, seed=0)


def test_the_usual_search_names_the_one_for_costly_steps():
    for make in (ds.Search.default, ds.Search.paper):
        with pytest.raises(ds.ProblemError, match=r"costly steps: use ds.search or ds.StepSearch"):
            make(BitPasses(0))


def test_a_prior_is_followed_from_the_first_step():
    problem = Language(0)
    assert ds.StepSearch(problem, seed=0).ask().action == int(np.argmax(problem.next(())))

    class Hinted(BitPasses):
        def prior(self, state):
            return [0.02 + 0.6 * (action == 7) for action in self.actions(state)]

    assert ds.StepSearch(Hinted(0), seed=0).ask().action == 7  # stopping is allowed after every step


@pytest.mark.parametrize("seed", range(5))
def test_with_an_exact_prior_a_sweep_goes_straight_down(seed):
    problem, text, greedy = Language(seed), (), 0.0
    while problem.actions(text):
        best = int(np.argmax(problem.next(text)))
        text, greedy = (*text, best), greedy + problem.next(text)[best]
    assert ds.search(problem, 15, seed=0).best_reward >= greedy - 1e-9


def test_actions_that_were_never_taken_are_tried_before_others_are_repeated():
    for seed in range(4):
        problem = BitPasses(seed, passes=60)
        ds.search(problem, 70, seed=seed)
        assert len({action for _, action in problem.taken}) == 60


def test_beliefs_are_those_of_the_gaussian_process():
    """With an oracle of its own: the covariance matrix of all edges, and its inverse."""
    rng, problem = np.random.default_rng(0), BitPasses(1, passes=4)
    search = finished(problem, 12)
    edges, field = search.edges, search.model.effect
    field._seen[:], field._square = False, 1e-9  # every action is as active as any
    seen, values = rng.permutation(edges.count)[:10], rng.normal(size=10)
    field.add(seen, values)
    field.update(np.arange(edges.kinds))
    node, kind = edges.node[: edges.count], edges.kind[: edges.count]
    paths = [_first_path(edges, one) for one in node]
    shared = np.array([[len(one & other) - 1 for other in paths] for one in paths])
    common = field.common + 0.2 * field.walk * shared
    own = (kind[:, None] == kind) * (field.root + field.walk * shared)
    # The common part is learnt first, with what differs between actions as noise; then the rest.
    noise = (field.private + field.root) * np.eye(10)
    learnt = np.linalg.solve(common[np.ix_(seen, seen)] + noise, values - field.mean)
    base = field.mean + common[:, seen] @ learnt
    group = field._group[kind % 2]
    gram = own[np.ix_(seen, seen)] + field.private * np.eye(10)
    mean = base + group + own[:, seen] @ np.linalg.solve(gram, (values - base[seen]) - group[seen])
    assert field.at(np.arange(edges.count))[0] == pytest.approx(mean)


def _first_path(edges, node):
    found = {int(node)}
    while (node := int(edges.parent[node])) >= 0:
        found.add(node)
    return found


class Words:
    """Every state offers words of its own, as a language model does; good ones are near the right angle."""

    def __init__(self, words=50):
        self.words = words

    def root(self):
        return ds.Step("", value=-1.0)

    def actions(self, text):
        return [f"{text} {word}" for word in range(self.words)]

    def expand(self, text, action):
        return ds.Step(action, value=-abs(np.sin(float(zlib.crc32(action.encode())))))


def test_memory_grows_with_the_edges_where_every_state_has_actions_of_its_own():
    search = ds.StepSearch(Words(), seed=0)
    search.run(5)  # compiles
    tracemalloc.start()
    search.run(200)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert search.edges.count > 9_000
    assert search.edges.kinds > 18_000
    assert peak < 20e6  # beliefs by state and action took 132 MB
    arrays = vars(search.model.effect).values()
    largest = max(one.size for one in arrays if isinstance(one, np.ndarray))
    assert largest <= 4 * search.edges.count


def test_a_wrong_prior_is_refused():
    class Short(Language):
        def prior(self, text):
            return [1.0]

    with pytest.raises(ds.ProblemError, match="12 probabilities, one per action"):
        ds.search(Short(), 5)


# Where paths end ----------------------------------------------------------------------------------------


class Stages:
    """One of a few options at each stage, with effects that add up; told always or only at the end."""

    def __init__(self, seed, stages=8, options=4, told=True):
        self.effect = np.random.default_rng(seed).normal(size=(stages, options))
        self.told, self.taken = told, []

    def value(self, path):
        ends = len(path) == len(self.effect)
        return float(self.effect[range(len(path)), list(path)].sum()) if self.told or ends else None

    def root(self):
        return ds.Step((), value=self.value(()))

    def actions(self, path):
        return range(self.effect.shape[1]) if len(path) < len(self.effect) else ()

    def expand(self, path, option):
        self.taken.append((path, option))
        return ds.Step((*path, option), value=self.value((*path, option)))


def test_where_every_state_has_a_value_greedy_is_not_ahead_after_its_own_steps():
    found = [ds.search(Stages(seed, 12, 5), 60, seed=seed).best_reward for seed in range(8)]
    greedy = [Stages(seed, 12, 5).effect.max(axis=1).sum() for seed in range(8)]  # the optimum, here
    assert np.mean(found) > 0.85 * np.mean(greedy)


def test_where_only_the_end_has_a_value_paths_close_to_good_ones_are_followed():
    found = [ds.search(Stages(seed, told=False), 200, seed=seed).best_reward for seed in range(8)]
    best = [Stages(seed).effect.max(axis=1).sum() for seed in range(8)]
    assert np.mean(found) > 0.85 * np.mean(best)  # of random paths, the best of 25 has .6


@pytest.mark.parametrize("told", [True, False])
def test_paths_go_on_while_steps_of_others_are_pending(told):
    problem, rng = Stages(0, told=told), np.random.default_rng(0)
    search, pending = ds.StepSearch(problem, seed=0), []
    for _ in range(150):
        while len(pending) < 4:
            pending.append(search.ask())
        one = pending.pop(rng.integers(4))
        search.tell(one, problem.expand(*one.leaf))
        assert len(search._frontier._under_way) <= 4  # those that have ended are forgotten
    assert len(set(problem.taken)) == 150
    assert search.result().best_reward > 0.6 * problem.effect.max(axis=1).sum()


def test_a_plan_is_followed_over_known_steps_and_passes_over_what_cannot_be_done():
    problem = Given(
        {0: {"a": (1, 0.0), "b": (2, 0.0)}, 1: {"b": (3, 0.0)}, 2: {}, 3: {"a": (4, 0.0)}, 4: {}}, {}
    )
    edges = Edges(problem)
    take(edges, problem, 0, "a")
    take(edges, problem, 1, "b")
    a, b = 0, 1  # in the order in which they were offered
    edge, place = Paths(edges).follow(0, (a, a, b, b, a))  # neither a at 1 nor b at 3 exists
    assert (edges.states[edges.node[edge]], edges.actions[edge], place) == (3, "a", 4)
    assert Paths(edges).follow(0, (a, b, b)) == (-1 - edges.find(3), 3)


def test_expected_improvement_agrees_with_quadrature():
    for mean, deviation in [(0.3, 1.0), (-2.0, 0.7), (5.0, 0.1), (0.0, 3.0)]:
        whole, _ = quad(lambda z: (mean + deviation * z) * norm.pdf(z), -mean / deviation, 12.0)  # noqa: B023
        assert expected_improvement(mean, deviation) == pytest.approx(whole, rel=1e-7)


def test_paths_are_believed_as_by_the_gaussian_process():
    """With an oracle of its own: the kernel pair by pair, and the inverse of its matrix."""
    search = finished(Stages(1, 5, 3, told=False), 120)
    paths = search._frontier._paths
    plans = [(0, 1, 2, 0, 1), (2, 2, 2, 2, 2), (1, 0, 1)]
    known = sorted(paths._found, key=lambda path: -paths._found[path][0])[:100]
    values = np.array([paths._found[path][0] for path in known])

    def alike(one, other):
        places = [x == y for x, y in zip(one, other, strict=False)]
        pairs = [x and y for x, y in itertools.pairwise(places)]
        counts = [np.bincount(path, minlength=3) for path in (one, other)]
        cosine = counts[0] @ counts[1] / np.linalg.norm(counts[0]) / np.linalg.norm(counts[1])
        return 0.5 * sum(places) / 5 + 0.25 * sum(pairs) / 4 + 0.25 * cosine

    gram = np.array([[alike(one, other) for other in known] for one in known]) + 0.05 * np.eye(len(known))
    cross = np.array([[alike(one, other) for other in known] for one in plans])
    inverse = np.linalg.inv(gram)
    mean = inverse.sum(axis=0) @ values / inverse.sum()
    errors = values - mean
    scale = (errors @ inverse @ errors + 0.5 * values.var()) / (len(values) + 0.5)
    means = mean + cross @ inverse @ errors
    variances = scale * (1.05 - np.einsum("ij,jk,ik->i", cross, inverse, cross))
    z = (means - search.edges.best) / np.sqrt(variances)
    expected = np.sqrt(variances) * (z * norm.cdf(z) + norm.pdf(z))
    assert paths._improvements(plans) == pytest.approx(np.log(expected))


# Bad input ----------------------------------------------------------------------------------------------


class Returning:
    def __init__(self, found, cost=1.0):
        self.found, self._cost = found, cost

    def root(self):
        return "root"

    def actions(self, state):
        return ["go", "stay"]

    def cost(self, state, action):
        return self._cost

    def expand(self, state, action):
        return self.found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("next", r"expand\('root', '(go|stay)'\) returned 'next': return ds.Step"),
        (ds.Step("x", gain=float("nan")), "gain nan: it must be a finite number"),
        (ds.Step("x", gain="much"), "gain 'much'"),
        (ds.Step("x", value=float("inf")), "value inf: it must be a finite number.*, or None"),
        (ds.Step("x", gain=-1e308), "gain -1e.308: it must be a finite number of size 1e.100 or less"),
        (ds.Step("x", value=1e308), "value 1e.308: it must be a finite number of size 1e.100 or less"),
        (ds.Step(["x"]), "not hashable"),
        (ds.Step("x", actions=5), "not a sequence or iterator"),
    ],
)
def test_bad_steps_are_named_and_nothing_is_lost(found, message):
    search = ds.StepSearch(Returning(found), seed=0)
    proposal = search.ask()
    with pytest.raises(ds.ProblemError, match=message):
        search.tell(proposal, found)
    assert search.pending == (proposal,)
    search.tell(proposal, ds.Step("fine", value=1.0, actions=[]))
    assert search.result().best_reward == 1.0
    with pytest.raises(ds.EvaluationError, match=message):
        ds.search(Returning(found), 5)
    with pytest.raises(ds.ProblemError, match=message):
        ds.testing.check_problem(Returning(found))


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), "a"])
def test_a_cost_must_be_positive(cost):
    with pytest.raises(ds.ProblemError, match="must be a positive number"):
        ds.search(Returning(ds.Step("x"), cost), 5)


def test_the_value_of_the_root_is_checked_too():
    with pytest.raises(ds.ProblemError, match=r"root\(\) returned the value 1e.308"):
        ds.search(Given({0: {0: (1, 0.0)}, 1: {}}, {0: 1e308}), 5)


@pytest.mark.parametrize("size", [1e-300, 1e100])
@pytest.mark.parametrize("ends", [False, True])
def test_the_largest_and_smallest_values_are_searched(size, ends):
    class Extreme:
        def root(self):
            return () if ends else ds.Step((), value=0.0)

        def actions(self, state):
            return (-1, 1, 2) if len(state) < 3 else ()

        def expand(self, state, action):
            after = (*state, action)
            total = size * sum(after) / 6.0 * (-1) ** len(after)
            can_stop = len(after) == 3 or not ends
            return ds.Step(after, gain=size * action / 6.0, value=total if can_stop else None)

    result = ds.search(Extreme(), 100, seed=0)
    assert (result.stopped, len(result.history)) == ("exhausted", 3 + 9 + 27)
    assert result.best_reward / size == pytest.approx(0.0 if ends else 8.0 / 6.0)


def test_settings_that_do_not_apply_are_refused():
    for settings, message in [
        ({"noisy": True}, "noisy does not apply"),
        ({"covariance": ds.covariances.Overlap()}, "covariance does not apply"),
        ({"on_error": 0.0}, "'raise' or 'skip'"),
        ({"tolerance": 0.1}, "tolerance does not apply"),
    ]:
        with pytest.raises(ValueError, match=message):
            ds.search(BitPasses(0), 5, **settings)


def test_tell_needs_a_pending_step():
    search = ds.StepSearch(BitPasses(0), seed=0)
    proposal = search.ask()
    step = search.problem.expand(*proposal.leaf)
    with pytest.raises(ValueError, match="tell needs a proposal"):
        search.tell(proposal.state, step)
    search.tell(proposal, step)
    with pytest.raises(ValueError, match="not pending"):
        search.tell(proposal, step)


# check_problem --------------------------------------------------------------------------------------------


def test_check_problem_takes_as_many_steps_as_it_may():
    problem = BitPasses(0)
    ds.testing.check_problem(problem, rewards=7)
    assert len(problem.taken) == 7
    ds.testing.check_problem(Language(0), rewards=3)
    ds.testing.check_problem(Endless(), rewards=5)


class Mutable(list):
    def __hash__(self):
        return 0


class Changing(Returning):
    """Its states change, or its actions come in another order."""

    def __init__(self, more):
        super().__init__(None)
        self.more, self.order = more, 0

    def root(self):
        return Mutable()

    def actions(self, state):
        self.order += 1
        return ["go", "stay"][:: 1 - 2 * (self.order % 2)]

    def expand(self, state, action):
        state.extend(self.more)
        return ds.Step("other")


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Returning(ds.Step(object())), "compares by identity"),
        (Changing([1]), "mutable: expand changed the state"),
        (Changing([]), "order"),
    ],
)
def test_check_problem_finds_states_that_change_and_actions_that_differ(problem, message):
    with pytest.raises(ds.ProblemError, match=message):
        ds.testing.check_problem(problem, rewards=2)
