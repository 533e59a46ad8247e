"""Several processes on one run: what docs/runs.md promises of them."""

import json
import math
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing

import pytest

import dagsearch as ds
from dagsearch.storage.database import database_of
from dagsearch.storage.record import send_request
from support.problems import Sum
from support.processes import PATIENCE, environment, running, wait_until
from support.runs import events, history, record
from support.shared import Evaluations
from support.steps import Samples

slow = pytest.mark.slow
# What processes do with each other does not depend on the database; the other tests run in both.
one_database = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)


@pytest.fixture
def start(storage, tmp_path):
    """Start the script in another process."""

    def started(budget=40, kind="pairs", role="run", lost_after=2.0):
        script = ["support.shared", storage, tmp_path, budget, kind, role, lost_after]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return running([sys.executable, "-m", *script], env=environment(), **pipes)

    return started


@pytest.fixture
def log(tmp_path):
    return Evaluations(tmp_path)


def ended(process):
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, error
    return json.loads(out)


def told(storage):
    """The leaves and rewards of a run; it may not have begun."""
    try:
        return [(json.dumps(e.body["leaf"]), e.body["reward"]) for e in events(storage, "tell")]
    except ds.StorageError:
        return []


def workers(storage):
    """Number of processes that have told a reward."""
    return len({event.worker for event in events(storage, "tell")}) if told(storage) else 0


def check_run(storage, budget, results):
    """Every reward was told once, is right, and all processes know the same."""
    found = told(storage)
    assert len(found) == len({leaf for leaf, _ in found}) == budget
    assert all(reward == json.loads(leaf)[0][1] * json.loads(leaf)[1][1] for leaf, reward in found)
    for result in results:
        assert result["stopped"] == "budget"
        assert result["known"] == results[0]["known"]  # in the order of the log
        assert result["best"] == results[0]["best"]
        assert len(result["known"]) == budget


@slow
def test_processes_that_run_one_script_share_its_budget(start, storage, log):
    """They begin at the same moment; a leaf that JSON writes otherwise was paid hundreds of times once."""
    with ExitStack() as stack:
        results = [ended(one) for one in [stack.enter_context(start(40, "encoded")) for _ in range(3)]]
    check_run(storage, 40, results)
    assert max(Counter(log.read("begun")).values()) == 1
    assert workers(storage) > 1


@slow
def test_a_storm_of_kills_loses_nothing_and_tells_nothing_twice(start, storage, log):
    rng, budget = random.Random(0), 40
    with ExitStack() as stack:
        processes = [stack.enter_context(start(budget)) for _ in range(4)]
        for kill in range(6):
            enough = 1 + kill * budget // 8
            wait_until(lambda: len(told(storage)) >= enough)  # noqa: B023
            time.sleep(rng.random() * 0.1)  # at any moment of an evaluation
            victim = processes.pop(rng.randrange(len(processes)))
            victim.kill()
            victim.wait()
            processes.append(stack.enter_context(start(budget)))
        results = [ended(one) for one in processes]
    check_run(storage, budget, results)
    again = sum(count - 1 for count in Counter(log.read("begun")).values())
    assert again <= 6  # each death cost one evaluation at most
    finished = sum(count - 1 for count in Counter(log.read("ended")).values())
    assert finished <= 6


@slow
@one_database
def test_costly_steps_are_shared(start, storage, log):
    with start(40, "steps") as one, start(40, "steps") as two:
        results = [ended(one), ended(two)]
    assert results[0]["known"] == results[1]["known"]
    assert results[0]["best"] == results[1]["best"]
    assert len(told(storage)) == len(log.read("begun")) == len(set(log.read("begun"))) == 40


@slow
@one_database
def test_a_hung_process_and_a_killed_one_do_not_stop_the_run(start, storage, log, tmp_path):
    """The leaf of the killed one is evaluated by another; that of the hung one is awaited while it beats."""
    (tmp_path / "hold").touch()
    with start(20, role="held") as hung:
        wait_until(lambda: log.read("begun", "held"), hung)
        with start(20, role="held") as killed:
            wait_until(lambda: len(log.read("begun", "held")) == 2, killed)
            killed.kill()
            killed.wait()
        with start(20) as run:
            wait_until(lambda: len(told(storage)) == 19, run)
            (tmp_path / "hold").unlink()
            results = [ended(run), ended(hung)]
    check_run(storage, 20, results)
    first, second = log.read("begun", "held")
    assert Counter(log.read("begun"))[first] == 1
    assert Counter(log.read("begun"))[second] == 2


@slow
@one_database
def test_failures_of_one_process_count_for_all(start, storage):
    with start(20, role="failing") as failing, start(20) as run:
        results = [ended(failing), ended(run)]
    failed = [event.note["failure"] for event in events(storage, "forget")]
    assert all("a broken machine" in failure for failure in failed)
    assert len(told(storage)) + len(failed) == record(storage).spent == 20
    assert results[0]["known"] == results[1]["known"]


# Searches of one process that take part in one run, one step at a time ---------------------------------


@pytest.fixture
def join(storage):
    """Another search of the run, as another process has it."""
    searches = []

    def joined():
        searches.append(ds.Search.default(Sum(), initial=4, seed=0, storage=storage))
        return searches[-1]

    yield joined
    for search in searches:
        search.close()


def look(*searches):
    """Let them look at who is at work; they do so every second."""
    for search in searches:
        search.log.catch_up()
        search.log._looked = -math.inf


def value(proposal):
    return Sum().reward(proposal.leaf)


def test_searches_know_what_the_others_do_and_never_ask_for_the_same(join):
    searches = [join() for _ in range(3)]
    asked = [search.ask() for _ in range(4) for search in searches]
    assert len({one.leaf for one in asked}) == len({one.number for one in asked}) == 12
    for number, proposal in enumerate(asked):
        searches[number % 3].tell(proposal, value(proposal))
    leaves = [[one.leaf for one in search.history] for search in searches if search.log.catch_up() is None]
    assert leaves[0] == leaves[1] == leaves[2]
    assert all(not search.pending for search in searches)


def test_what_a_process_leaves_behind_is_taken_over_once(join, storage):
    first, second, third = join(), join(), join()
    left = first.ask(2)
    first.close()
    look(second, third)
    assert [second.ask(), third.ask()] == left
    assert second.ask().leaf not in {one.leaf for one in left}
    assert len({event.claim for event in events(storage, "take")}) == 2


def test_two_processes_that_take_over_at_once_start_one_evaluation_each(join, storage, monkeypatch):
    """The budget has room for one: the second must not ask for another leaf instead."""
    first, second, third = join(), join(), join()
    (left,) = first.ask(1)
    first.close()
    append, raced = second.log.database.append, []

    def faster(*given, **more):
        if not raced:
            raced.append(third.try_ask())
        return append(*given, **more)

    look(second, third)
    monkeypatch.setattr(second.log.database, "append", faster)
    assert second.try_ask() is None  # so that it looks again at what is left of the budget
    assert raced == [left]


def test_a_process_that_ends_right_after_its_reward_leaves_nothing_to_take_over(join, monkeypatch):
    first, second = join(), join()
    proposal = first.ask()
    look(second)
    beating = second.log.database.beating

    def ending(*given):
        if first.pending:
            first.tell(proposal, value(proposal))
            first.close()
        return beating(*given)

    monkeypatch.setattr(second.log.database, "beating", ending)
    assert second.ask().leaf != proposal.leaf
    assert [one.leaf for one in second.history] == [proposal.leaf]


def test_the_first_reward_counts_and_the_second_is_a_note(join, storage):
    first, second = join(), join()
    proposal = first.ask()
    second.log.catch_up()
    second.tell(second.pending[0], 1.0)
    assert first.tell(proposal, 2.0, note="late").reward == 1.0
    assert [one.reward for one in first.history] == [1.0]
    first.forget(first.ask())
    assert [event.body["reward"] for event in events(storage, "tell")] == [1.0]
    (note,) = [event.note["told again"] for event in events(storage, "note")]
    assert note == {"ask": proposal.number, "again": 2.0, "note": "late"}


@pytest.mark.parametrize("make", [Sum, Samples])
def test_every_process_counts_in_the_order_of_the_log(make, storage):
    """Another process writes while this one writes its own: both must number evaluations and steps alike."""
    kind = ds.Search.default if make is Sum else ds.StepSearch
    evaluate = (
        (lambda one: make().reward(one.leaf)) if make is Sum else (lambda one: make().expand(*one.leaf))
    )
    first, second = (kind(make(), seed=0, storage=storage) for _ in range(2))
    append, held = first.log.database.append, []

    def late(run, worker, what, *more):
        if what in ("ask", "tell") and held:
            second.tell(other := held.pop(), evaluate(other))
        return append(run, worker, what, *more)

    first.log.database.append = late
    for _ in range(6):
        held += second.ask(2)
        first.tell(proposal := first.ask(), evaluate(proposal))
    for search in (first, second):
        search.log.catch_up()
    assert history(first) == history(second)
    assert [json.dumps(e.body["leaf"]) for e in events(storage, "tell")] == [
        json.dumps(sorted(one.leaf) if make is Sum else None) for one in first.history
    ]
    assert [one.number for one in first.pending] == [one.number for one in second.pending]
    with closing(kind(make(), storage=storage)) as again:
        assert history(again) == history(first)
    first.close()
    second.close()


def test_hyperparameters_that_one_process_learns_are_those_of_all(join):
    first, second = join(), join()
    for _ in range(20):
        proposal = first.ask()
        first.tell(proposal, value(proposal))
    second.log.catch_up()
    values = [[p.value for p in one.posterior.scores.covariance.hyperparameters] for one in (first, second)]
    assert values[0] == values[1]
    assert second.ask().leaf not in {one.leaf for one in first.history}


def hyperparameters(search):
    """Those of all parts, with the noise, and when each part learns again."""
    posterior = search.posterior
    present = posterior.scores.covariance, posterior.scores.noise, posterior._learns_at
    found = {**posterior._left, posterior.part: present}
    return {
        part: ([one.value for one in covariance.hyperparameters], *more)
        for part, (covariance, *more) in sorted(found.items())
    }


def while_it_learns(search, act):
    """Let another process act before the hyperparameters that a search learns next are in the log."""
    append, acts = search.log.database.append, [act]

    def late(run, worker, kind, *more):
        if kind == "learnt" and acts:
            acts.pop()()
        return append(run, worker, kind, *more)

    search.log.database.append = late
    while acts:
        search.tell(proposal := search.ask(), value(proposal))


def test_what_a_process_learns_while_another_asks_is_known_to_all(join):
    first, second, third = join(), join(), join()
    while_it_learns(first, second.ask)
    for search in (second, third):
        search.log.catch_up()
        assert hyperparameters(search) == hyperparameters(first)


@pytest.mark.parametrize("rewards", [0, 1, 8])
def test_what_a_process_learns_while_another_begins_a_part_belongs_to_its_own_part(
    rewards, join, storage, monkeypatch
):
    first, second = join(), join()
    for _ in range(8):
        first.tell(proposal := first.ask(), value(proposal))

    def begin_a_part():
        monkeypatch.setattr(sys.modules[ds.Search.__module__], "next_part", lambda parts, present: 1)
        proposals = [second.ask() for _ in range(max(1, rewards))]
        for proposal in proposals[:rewards]:
            second.tell(proposal, value(proposal))

    while_it_learns(first, begin_a_part)
    before = hyperparameters(second)[1]
    for search in (first, second):
        search.log.catch_up()
    learnt = [event.body for event in events(storage, "learnt") if event.worker == first.log.worker][-1]
    for search in (first, second, join()):
        search.log.catch_up()
        assert search.posterior.part == 1
        assert hyperparameters(search)[0][:2] == (learnt["values"], learnt["noise"])
    assert hyperparameters(second)[1] == before
    if rewards == 8:  # before a part has learnt any, it begins with those of the part before
        assert hyperparameters(first) == hyperparameters(second)


def test_an_unattended_heart_is_a_death(join, storage, monkeypatch):
    """Silence longer than ``lost_after`` counts, though the process is still there."""
    first, second = join(), join()
    proposal = first.ask()
    monkeypatch.setattr(first.log._heart._database, "beat", lambda *who: None)
    with closing(database_of(storage)) as database:
        database._execute("UPDATE worker SET beat = beat - 1000 WHERE name = ?", first.log.worker)
    look(second)
    assert second.ask() == proposal


# Steering ----------------------------------------------------------------------------------------------


def send(storage, action, value=None):
    with closing(database_of(storage, write=True)) as database:
        return send_request(database, "run", action, value)


@slow
@one_database
def test_every_process_does_what_users_ask(start, storage, log):
    with start(500) as one, start(500) as two:
        wait_until(lambda: workers(storage) == 2, one)
        send(storage, "pause")
        wait_until(lambda: not record(storage).pending, one)
        known = {leaf for leaf, _ in told(storage)}
        paused, pairs = len(known), ([["a", 11], ["b", b]] for b in range(11, -1, -1))
        free = next(leaf for leaf in pairs if json.dumps(leaf) not in known)
        send(storage, "propose", free)
        send(storage, "propose", [["a", 99], ["b", 11]])
        send(storage, "budget", paused + 10)
        assert len(told(storage)) == paused
        send(storage, "continue")
        results = [ended(one), ended(two)]
    check_run(storage, paused + 10, results)
    requests = [one[1:] for one in record(storage).requests.values()]
    assert requests[0] == ("pause", None, "done")
    assert requests[1] == ("propose", free, "done")
    assert requests[2][-1].startswith("refused: ")
    assert requests[3:] == [("budget", paused + 10, "done"), ("continue", None, "done")]
    assert log.read("begun").count(str([11, free[1][1]])) == 1


@slow
@one_database
def test_a_stop_ends_all_processes(start, storage):
    with start(500) as one, start(500) as two:
        wait_until(lambda: workers(storage) == 2, one)
        send(storage, "stop")
        assert [ended(one)["stopped"], ended(two)["stopped"]] == ["steered", "steered"]
    assert len(told(storage)) < 500
    assert not record(storage).pending


class Steered(Sum):
    """Sends requests after some evaluations."""

    def __init__(self, storage, requests=None):
        super().__init__()
        self.storage, self.requests, self.count = storage, requests or {}, 0

    def reward(self, leaf):
        self.count += 1
        for request in self.requests.pop(self.count, ()):
            send(self.storage, *request)
        return super().reward(leaf)


def test_a_steered_run_is_resumed_as_it_was_and_keeps_its_budget(storage):
    requests = {3: [("propose", [0, 1, 2, 3])], 5: [("budget", 14)]}
    result = ds.search(Steered(storage, requests), 30, seed=0, storage=storage)
    assert len(result.history) == 14
    assert result.history[3].leaf == frozenset({0, 1, 2, 3})
    assert (
        ds.search(Steered(storage), 30, storage=storage).history == result.history
    )  # the script says 30 again
    assert len(ds.search(Steered(storage), 16, storage=storage).history) == 16  # another number is a new wish


@pytest.mark.parametrize(
    "leaf",
    ["text", [], [1, 1, 1, 1], {"set": {}}, {"tuple": [[[]]]}, [0, 1, 2]],
)
def test_a_leaf_that_cannot_be_evaluated_is_refused_and_the_run_goes_on(leaf, tmp_path):
    storage = str(tmp_path / "run.db")
    result = ds.search(Steered(storage, {2: [("propose", leaf)]}), 8, seed=0, storage=storage)
    assert len(result.history) == 8
    (request,) = record(storage).requests.values()
    assert request.answer.startswith("refused: ")
    assert len(ds.search(Steered(storage), 10, storage=storage).history) == 10


def test_a_budget_below_what_was_evaluated_is_refused(tmp_path):
    storage = str(tmp_path / "run.db")
    result = ds.search(Steered(storage, {6: [("budget", 2)]}), 9, seed=0, storage=storage)
    assert len(result.history) == 9
    (request,) = record(storage).requests.values()
    assert request.answer == "refused: 5 evaluations are done already"


def test_a_paused_run_waits_until_it_may_continue(tmp_path):
    storage = str(tmp_path / "run.db")
    results = []
    problem = Steered(storage, {4: [("pause",)]})
    thread = threading.Thread(target=lambda: results.append(ds.search(problem, 9, seed=0, storage=storage)))
    thread.start()
    wait_until(lambda: len(told(storage)) == 4)
    send(storage, "continue")
    thread.join(PATIENCE)
    assert len(results[0].history) == 9
    assert ds.search(Sum(), 9, seed=0).history == results[0].history
    send(storage, "pause")
    assert (
        ds.search(Steered(storage), 30, storage=storage, seconds=0.5).stopped == "seconds"
    )  # also when it is resumed


@pytest.mark.parametrize(
    "request_",
    [("tell", 1), (3, None), ("budget", 0), ("budget", True), ("propose", None)],
)
def test_what_is_no_request_is_not_sent(request_, tmp_path):
    ds.search(Sum(), 2, seed=0, storage=tmp_path / "run.db")
    with pytest.raises(ValueError):  # noqa: PT011
        send(tmp_path / "run.db", *request_)
    assert events(tmp_path / "run.db", "request") == []
