"""Random operations on a stored search and on a model without storage: both must know the same."""

from contextlib import closing, suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import dagsearch as ds
from dagsearch.space import Space
from support.runs import cut_off, history, knowledge

_NUMBERS = st.integers(0, 10_000)
_REWARDS = st.integers(-24, 24).map(lambda eighths: eighths / 8) | st.sampled_from([1e-300, 1e6, -1e6])


def total(chosen):
    return float(sum(chosen))


def many():
    return ds.problems.Subsets(12, 3, reward=total)


def few():
    """10 leaves, so that a search soon has none left."""
    return ds.problems.Subsets(5, 2, reward=total)


def default(problem, **more):
    return ds.Search.default(problem, initial=4, seed=0, **more)


KINDS = {
    "default": (many, default),
    "10 leaves": (few, default),
    "noisy": (few, lambda problem, **more: default(problem, noisy=True, **more)),
    "paper": (many, lambda problem, **more: ds.Search.paper(problem, seed=0, **more)),
    "game": (ds.problems.TicTacToe, default),
}


class Machine(RuleBasedStateMachine):
    """Every operation is carried out by both; sometimes the process of the stored one dies."""

    kind: str
    folder = None

    @initialize()
    def begin(self):
        problem, self.make = KINDS[self.kind]
        self.problem, self.files = problem(), 0
        self.path = self.new_path()
        self.stored, self.model = self.make(self.problem, storage=self.path), self.make(self.problem)

    def new_path(self):
        Machine.files_made = getattr(Machine, "files_made", 0) + 1
        return self.folder / f"{Machine.files_made}.db"

    def both(self, act):
        """Let both do the same, and compare what comes of it."""
        found = []
        for search in (self.stored, self.model):
            try:
                found.append(act(search))
            except (ds.SearchExhausted, ds.ProblemError, ds.RewardError, ValueError) as error:
                found.append((type(error), str(error)))
        assert found[0] == found[1]

    def leaf(self, number):
        return Space(self.problem).walk(self.problem.root(), np.random.default_rng(number))

    @rule(count=st.integers(1, 3))
    def ask(self, count):
        self.both(lambda search: search.ask(count))

    @rule(index=_NUMBERS, reward=_REWARDS, bare=st.booleans(), noise=st.sampled_from([None, None, 0.01]))
    def tell(self, index, reward, bare, noise):
        def act(search):
            if search.pending:
                proposal = search.pending[index % len(search.pending)]
                search.tell(proposal.leaf if bare else proposal, reward, noise, note={"a": np.nan})

        self.both(act)

    @rule(number=_NUMBERS, reward=_REWARDS, bare=st.booleans())
    def tell_stranger(self, number, reward, bare):
        leaf, actions = self.leaf(number)
        self.both(
            lambda search: search.tell(leaf if bare else ds.Proposal(leaf, tuple(actions)), reward) and None
        )

    @rule(index=_NUMBERS, again=st.booleans())
    def forget(self, index, again):
        self.both(
            lambda search: (
                search.pending and search.forget(search.pending[index % len(search.pending)], again=again)
            )
        )

    @rule(number=_NUMBERS)
    def propose(self, number):
        self.both(lambda search: search.propose(*self.leaf(number)))

    @rule()
    def settle(self):
        self.both(lambda search: search.settle())

    @rule(reward=st.sampled_from([np.nan, np.inf, "1", None, 1e101]))
    def tell_nonsense(self, reward):
        self.both(lambda search: search.tell(self.leaf(0)[0], reward))

    @rule(look=st.booleans())
    def die(self, look):
        """The process dies; another one opens the run. What was pending is offered first, to both."""
        if look:
            self.stored.result()
        path = self.new_path()
        cut_off(self.path, None, path)
        self.stored.close()
        self.path, self.stored = path, self.make(self.problem, storage=path)
        assert knowledge(self.stored) == knowledge(self.model)
        offered = [self.stored.ask() for _ in self.stored.pending]
        assert offered == list(self.model.pending)

    def teardown(self):
        if hasattr(self, "stored"):
            with closing(self.stored):
                assert history(self.stored) == history(self.model)
                assert knowledge(self.stored) == knowledge(self.model)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
def test_a_stored_search_knows_what_one_without_storage_knows(kind, tmp_path):
    machine = type("Attack", (Machine,), {"kind": kind, "folder": tmp_path})
    few_and_fixed = settings(
        max_examples=5,
        stateful_step_count=20,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=few_and_fixed)


def test_another_way_to_a_pending_leaf_is_repeated(tmp_path):
    search = default(many(), storage=tmp_path / "run.db")
    proposal = search.ask()
    search.tell(ds.Proposal(proposal.leaf, proposal.actions[::-1]), 1.0)
    other = search.ask()
    search.tell(ds.Proposal(other.leaf, ("nowhere",), (1000,)), 2.0)
    search.close()
    with closing(ds.Search.resume(tmp_path / "run.db", many())) as again:
        assert history(again) == history(search)
    assert history(search)[1][:2] == (other.leaf, tuple(sorted(other.leaf)))


def test_an_ask_that_finds_no_leaf_does_not_count(tmp_path):
    search = default(few(), storage=tmp_path / "run.db")
    asked = search.ask(30)
    for proposal in asked[3:]:
        search.tell(proposal, total(proposal.leaf))
    for _ in range(2):
        with pytest.raises(ds.SearchExhausted):
            search.ask()
    search.forget(asked[0])
    search.close()
    with closing(ds.Search.resume(tmp_path / "run.db", few())) as again:
        assert (again.portfolio.state, again.asked) == (search.portfolio.state, search.asked)
        offered = again.ask(len(again.pending))
        assert offered == asked[1:3]
        with suppress(ds.SearchExhausted):
            assert again.ask() == search.ask()
