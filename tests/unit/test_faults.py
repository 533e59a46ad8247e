"""Faults that a search once had, one test each: every one of them would fail if the fault came back."""

import tracemalloc
from collections import Counter
from itertools import count

import pytest

import dagsearch as ds
from dagsearch.covariances import Overlap, Pairwise
from dagsearch.posterior import FunctionScores
from dagsearch.posterior.evidence import Evidence
from dagsearch.proposers import Descent
from dagsearch.proposers.expansions import AllChildren
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform
from dagsearch.space import Space


class Digits:
    """Tuples of decisions, as a newcomer writes them; counts what the search asks for."""

    def __init__(self, places=6, options=4):
        self.places, self.options = places, options
        self.calls = Counter()

    def root(self):
        return ()

    def actions(self, state):
        self.calls["actions"] += 1
        return self.offered(state) if len(state) < self.places else []

    def offered(self, state):
        return list(range(self.options))

    def step(self, state, action):
        self.calls["step"] += 1
        assert action in self.offered(state), "only what is offered may be chosen"
        return (*state, action)

    def reward(self, leaf):
        return float(sum(leaf))


class Missing(Digits):
    """The last option is not offered after four zeros: 64 random walks hardly ever come there."""

    def offered(self, state):
        return list(range(3 if state[:4] == (0, 0, 0, 0) else 4))

    def reward(self, leaf):  # leads a search there
        return float(20 * sum(digit == 0 for digit in leaf[:4]) + 10 * sum(digit == 3 for digit in leaf[4:]))


class Appearing(Missing):
    """An option that is offered only after four zeros."""

    def offered(self, state):
        return list(range(5 if state[:4] == (0, 0, 0, 0) else 4))


def peak(work, first=None):
    """Memory in megabytes that some work needs beyond what there was, after a first work of its kind."""
    (first or work)()  # for all that is compiled or imported
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


# Leaves that the problem does not have --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Missing, Appearing])
@pytest.mark.parametrize("seed", range(2))
def test_what_random_walks_have_not_shown_is_for_the_problem_to_say(kind, seed):
    problem = kind()
    came_there = 0
    for evaluation in ds.search(problem, 60, seed=seed).history:
        leaf = evaluation.leaf
        assert evaluation.actions == leaf
        assert all(leaf[place] in problem.offered(leaf[:place]) for place in range(6))
        came_there += leaf[:4] == (0, 0, 0, 0)
    assert came_there > 0  # else nothing was tested


def test_decisions_that_cannot_be_hashed_have_no_codes():
    class Lists(Digits):
        def offered(self, state):
            return [[0], [1], [2]]

        def key(self, state):
            return str(state)

        def reward(self, leaf):
            return float(sum(number for (number,) in leaf))

    problem = Lists(3)
    assert Space(problem).coding is None
    alike = Pairwise(lambda x, y: float(str(x) == str(y)), private=1.0)
    assert ds.search(problem, 40, covariance=alike, seed=0).stopped == "exhausted"


# The model ------------------------------------------------------------------------------------------------


def test_increments_that_were_given_stay():
    problem = ds.problems.Subsets(8, 3, reward=sum)
    given = ds.Increments.of(problem, Overlap())
    search = ds.Search(
        problem,
        scores=FunctionScores(Overlap.of(problem), 0.01),
        proposers=Descent(UpperConfidence(0.5), Uniform(), AllChildren()),
        evidence=Evidence(),
        increments=given,
        standardize=4,
        seed=0,
    )
    before = search.posterior.scores
    search.run(12)
    assert search.posterior.scores is not before  # it was fitted again
    assert search.explored.increments is given


# Large and endless problems -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: ds.problems.Orders(range(100), lambda order: float(order[0])),
        lambda: ds.problems.Sequences("01", 500, lambda letters: float(letters.count("1"))),
        lambda: Digits(500, 2),
    ],
    ids=["orders", "sequences", "tuples"],
)
def test_large_problems_begin_without_much_memory(make):
    assert peak(lambda: ds.Search.default(make(), seed=0).ask()) < 300.0


class Endless(Digits):
    """Every state has actions, and none comes again."""

    def actions(self, state):
        self.calls["actions"] += 1
        return ["on", "and on"]

    def step(self, state, action):
        self.calls["step"] += 1
        return state + 1

    def root(self):
        return 0


def test_an_endless_problem_is_refused_and_its_path_is_named():
    problem = Endless()
    with pytest.raises(ds.ProblemError, match=r"Endless has no leaf .* begin with '(on|and on)', '"):
        ds.search(problem, 5)
    assert problem.calls["step"] < 50_000


def test_a_plain_problem_is_walked_once_before_the_first_ask():
    problem = Digits()
    search = ds.Search.default(problem, seed=0)
    search.ask()
    assert problem.calls["actions"] < 64 * 7 * 2 + 300
    assert problem.calls["step"] < 64 * 6 * 2 + 300


class Wide:
    """One decision among very many options, and one among three."""

    def __init__(self, options):
        self.options = options

    def root(self):
        return ()

    def actions(self, state):
        return range(self.options) if state == () else range(3) if len(state) == 1 else ()

    def step(self, state, action):
        return (*state, action)

    def reward(self, leaf):
        return float(leaf[0] % 1000 + leaf[1])


@pytest.mark.slow
def test_many_actions_do_not_need_much_memory():
    def search(options):
        ds.search(Wide(options), 12, seed=0)

    assert peak(lambda: search(4_000), first=lambda: search(500)) < 10.0


def test_many_states_are_predicted_in_parts(monkeypatch):
    scores = FunctionScores(Overlap(), 0.1)
    states = [frozenset({i, j}) for i in range(12) for j in range(i)]
    scores.track(states[:5])
    scores.condition(2, 1.0)
    whole = scores.predict(states)
    monkeypatch.setattr("dagsearch.posterior.function.AT_ONCE", 7)
    for one, other in zip(scores.predict(states), whole, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


# Questions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        Digits,
        lambda: ds.problems.Subsets(12, 3, reward=sum),
        lambda: ds.as_tree(ds.problems.Subsets(8, 3, sum)),
    ],
    ids=["tuples", "subsets", "tree"],
)
def test_questions_change_nothing_of_what_is_proposed_later(make, noisy):
    def run(asking):
        problem = make()
        search, proposed = ds.Search.default(problem, initial=4, noisy=noisy, seed=0), []
        for _ in range(12):
            for proposal in search.ask(2):
                proposed.append(proposal.leaf)
                if asking:
                    search.belief(problem.root())
                    search.belief(proposal.leaf)
                    search.recommend()
                    search.result()
                search.tell(proposal, problem.reward(proposal.leaf))
        return proposed

    assert run(asking=True) == run(asking=False)


def test_the_result_of_a_search_that_failed_at_once_says_so_and_claims_nothing():
    def fails(choose):
        choose("a", range(9))
        raise OSError("no licence")

    for function in (ds.maximize, ds.minimize):
        with pytest.raises(ds.EvaluationError) as caught:
            function(fails, 5, seed=0)
        result = caught.value.result
        assert (result.stopped, result.best_reward, result.probability_best) == ("error", None, None)
        assert result.value is None
        assert result.report().to_dict()[0]["sentence"] == "No reward yet."


def test_an_error_is_what_stopped_a_search_that_went_well_before():
    calls = count(-3)
    problem = ds.problems.Choices({"a": range(9)}, reward=lambda leaf: leaf["a"] / next(calls))
    with pytest.raises(ds.EvaluationError) as caught:
        ds.search(problem, 9, seed=0)
    result = caught.value.result
    assert (result.stopped, len(result.history)) == ("error", 3)
    with pytest.raises(ZeroDivisionError) as raised:
        ds.maximize(lambda choose: choose("a", range(9)), 5, seed=0, callback=lambda one: 1 / 0)
    assert raised.value.result.stopped == "error"


@pytest.mark.parametrize(("budget", "stopped"), [(8, "budget"), (20, "exhausted")])
def test_exhausted_means_that_every_leaf_was_tried(budget, stopped):
    tried = []
    problem = ds.problems.Choices({"a": range(3), "b": range(3)}, reward=lambda leaf: tried.append(leaf))
    result = ds.search(problem, budget, seed=0, on_error="skip")
    assert (result.stopped, len(tried)) == (stopped, min(budget, 9))
    assert result.value is None
