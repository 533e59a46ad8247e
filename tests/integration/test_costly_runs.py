"""Costly steps in workers, with storage, on the page; how well the search does, and whether it is right."""

import itertools
import zlib

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.cli.entry import main
from dagsearch.report.view import RunView
from experiments import costly
from experiments.harness.evaluations import BudgetSpent
from support.runs import record
from support.steps import BitPasses, Crashing, Language, Merit, Samples


def rewards(result):
    return [evaluation.reward for evaluation in result.history]


def test_a_crash_of_a_worker_fails_its_step_and_nothing_else():
    result = ds.search(Crashing(0), 40, seed=0, n_jobs=1, on_error="skip")
    assert 0 < len(result.history) < 40
    assert result.best_reward > Crashing(0).root().value
    assert all(action % 5 for evaluation in result.history for action in evaluation.actions)


def test_one_worker_takes_the_steps_of_the_calling_process():
    runs = [ds.search(BitPasses(1), 60, seed=0, n_jobs=n_jobs) for n_jobs in (None, 1)]
    assert runs[0].history == runs[1].history


@pytest.mark.parametrize(("make", "cut"), [(BitPasses, 1), (Language, 40), (Merit, 77)])
def test_a_resumed_search_is_the_uninterrupted_one_and_takes_no_step_again(tmp_path, make, cut):
    whole = ds.search(make(3), 90, seed=4)
    path = tmp_path / "run.db"
    ds.search(make(3), cut, seed=4, storage=path)
    problem = make(3)
    resumed = ds.search(problem, 90, storage=path)
    assert resumed.history == whole.history
    assert (resumed.best_path, resumed.best_reward) == (whole.best_path, whole.best_reward)
    assert len(problem.taken) == 90 - cut


def test_pending_and_failed_steps_are_resumed(tmp_path):
    path, problem = tmp_path / "run.db", BitPasses(2)
    search = ds.StepSearch(problem, seed=0, storage=path)
    for _ in range(30):
        proposal = search.ask()
        search.tell(proposal, problem.expand(*proposal.leaf), note={"n": 1})
    first, second, third = search.ask(3)
    search.forget(second, again=False, note={"failure": "crashed"})
    search.forget(third, again=True)
    search.close()
    again = ds.StepSearch.resume(path, problem)
    assert again.pending == (first,)
    assert again.ask() == first
    for one in (search, again):
        one.tell(first, problem.expand(*first.leaf))
    for _ in range(20):
        asked = [one.ask() for one in (search, again)]
        assert asked[0] == asked[1]
        assert asked[0].leaf != second.leaf
        for one, proposal in zip((search, again), asked, strict=True):
            one.tell(proposal, problem.expand(*proposal.leaf))


def test_a_sampler_is_not_paid_again(tmp_path):
    path = tmp_path / "run.db"
    first = Samples(50, np.random.default_rng(1))
    ds.search(first, 40, seed=0, storage=path)
    second = Samples(50, np.random.default_rng(2))
    second.drawn = 1_000  # it names none of the actions that the first has named
    result = ds.search(second, 60, seed=0, storage=path)
    assert second.drawn == 1_020
    assert len(second.taken) == 20
    for one in result.history:
        assert "".join(letter[0] for letter in one.actions) == one.leaf
    taken = {(text, letter) for text, letter in first.taken + second.taken}
    assert {("".join(a[0] for a in one.actions[:-1]), one.actions[-1]) for one in result.history} == taken
    assert "".join(letter[0] for letter in result.best_path) == result.best_state


def test_an_iterator_may_name_the_same_action_again(tmp_path):
    class Again(Samples):
        def actions(self, text):
            return itertools.repeat("again") if len(text) < 4 else ()

        def expand(self, text, action):
            self.taken.append(text)
            return super().expand(text, chr(97 + zlib.crc32(f"{text}{self.taken.count(text)}".encode()) % 9))

    path = tmp_path / "run.db"
    ds.search(Again(), 30, seed=0, storage=path)
    problem = Again()
    assert len(ds.search(problem, 50, seed=0, storage=path).history) == 50


def test_actions_of_an_iterator_can_be_stored(tmp_path):
    class Objects(Samples):
        def actions(self, text):
            yield object()

    assert ds.StepSearch(Objects(), seed=0).ask().state == ""
    search = ds.StepSearch(Objects(), seed=0, storage=tmp_path / "run.db")
    with pytest.raises(ds.ProblemError, match=r"iterator names at '' cannot be stored.*list them in"):
        search.ask()


def test_actions_that_steps_say_themselves_are_stored(tmp_path):
    class Own:
        calls = 0

        def root(self):
            return ds.Step(0, value=0.0, actions=[("add", 1), ("add", 2)])

        def expand(self, state, action):
            type(self).calls += 1
            after = state + action[1]
            return ds.Step(after, value=float(after), actions=[("add", 1), ("add", 2)] if after < 9 else [])

    path = tmp_path / "run.db"
    ds.search(Own(), 8, seed=0, storage=path)
    result = ds.search(Own(), 14, seed=0, storage=path)
    assert Own.calls == len(result.history) == 14
    assert result.best_reward == 10.0


@pytest.mark.parametrize("make", [BitPasses, Language])
def test_show_and_the_page_tell_of_steps(tmp_path, make, capsys):
    path = tmp_path / "run.db"
    result = ds.search(make(0), 60, seed=0, storage=path)
    read = record(path)
    assert read.steps
    assert read.evaluations == 60
    assert read.told[read.best].reward == pytest.approx(result.best_reward)
    view = RunView("run", read).view()
    assert view["evaluations"] == 60
    assert view["forecast"] == []
    assert len(view["best_leaf"]) == len(result.best_path)
    assert main(["show", str(path)]) == 0
    assert "Evaluations: 60 of 60" in capsys.readouterr().out
    assert "after 60 evaluations" in result.report()._repr_html_()


def test_progress_and_stop_rules():
    target = ds.search(BitPasses(0), 200, seed=0, target=-20.0)
    assert target.stopped == "target"
    assert target.best_reward >= -20.0
    patient = ds.search(BitPasses(0), 500, seed=0, patience=60, progress=True)
    assert patient.stopped == "patience"
    assert not any(evaluation.reward > patient.best_reward for evaluation in patient.history)


# The benchmark --------------------------------------------------------------------------------------------


class Counted(Merit):
    """It can be stopped everywhere, and counts steps that are paid twice."""

    def expand(self, signs, sign):
        assert (signs, sign) not in self.taken
        step = super().expand(signs, sign)
        return ds.Step(step.state, value=float(sum(step.state)))


@pytest.mark.parametrize("method", costly.METHODS)
def test_every_method_pays_once_for_a_step_and_stays_within_its_budget(method):
    steps = costly.Steps(problem := Counted(length=8), 40)
    try:
        costly.METHODS[method](steps, np.random.default_rng(0))
    except BudgetSpent:
        assert len(problem.taken) == 40
    assert len(steps.best) == len(problem.taken) <= 40
    assert steps.best == sorted(steps.best)
    if method in (costly.OURS, "greedy", "beam of 2"):  # others need more steps
        assert steps.best[-1] == 8.0
