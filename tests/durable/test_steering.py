"""Requests to a running search: each is an event, and a resumed search goes on as if it had not stopped."""

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import dagsearch as ds
from dagsearch.journal.encoding import StateCodec
from dagsearch.journal.journal import read_events
from dagsearch.journal.record import Record
from dagsearch.journal.requests import requests_path, send_request

WEIGHTS = [3.0, -1.0, 2.5, 0.5, -2.0, 1.5, 4.0, -0.5, 1.0, 2.0]


def weight(chosen):
    return sum(WEIGHTS[item] for item in chosen)


def problem(reward=weight):
    return ds.problems.Subsets(10, 3, reward=reward)


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "run.db"


def steered(journal, requests, budget=16, at=6, **execution):
    """A run to which requests come during an evaluation, and the search afterwards."""
    calls = []

    def reward(chosen):
        calls.append(chosen)
        if len(calls) == at:
            for request in requests:
                send_request(journal, *request)
        return weight(chosen)

    search = ds.Search.default(problem(reward), seed=0, initial=4, journal=journal)
    search.run(budget, steer=True, **execution)
    return search


def opened(journal):
    """The steering file, as a run makes it."""
    path = requests_path(journal)
    path.touch(mode=0o600)
    return path


def known(search):
    return (
        [(one.leaf, one.actions, one.reward, one.predicted) for one in search.history],
        search.index.scores.mean.tolist(),
        search.asked,
        [proposal.leaf for proposal in search.pending],
    )


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


REQUESTS = {
    "stop": [("stop",)],
    "more": [("budget", 20)],
    "less": [("budget", 9)],
    "propose": [("propose", [1, 3, 5])],
    "tell": [("tell", {"leaf": [0, 6, 9], "reward": 9.0})],
    "refused": [("propose", [0, 1]), ("tell", {"leaf": [99], "reward": 1.0}), ("forget", [0, 1, 2])],
    "all": [
        ("tell", {"leaf": [1, 4, 7], "reward": -3.5}),
        ("propose", [1, 3, 5]),
        ("pause",),
        ("continue",),
        ("budget", 18),
    ],
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_steered_search_is_resumed_to_the_last_bit(journal, name):
    search = steered(journal, REQUESTS[name])
    search.close()
    resumed = ds.Search.resume(journal, problem())
    assert known(resumed) == known(search)
    assert resumed.ask() == search.ask()
    resumed.close()


def test_what_was_asked_is_done_once_and_recorded(journal):
    search = steered(journal, REQUESTS["all"])
    leaves = [evaluation.leaf for evaluation in search.history]
    assert len(leaves) == 18
    assert leaves[6] == frozenset({1, 4, 7})
    assert leaves[7] == frozenset({1, 3, 5})
    search.close()
    events = read_events(journal)
    record = Record.of(events)
    assert [one.what for one in record.steering] == ["tell", "propose", "pause", "continue", "budget 18"]
    assert (record.budget, record.paused) == (18, False)
    resumed = ds.Search.resume(journal, problem())
    resumed.run(2)
    assert [evaluation.leaf for evaluation in resumed.history].count(frozenset({1, 3, 5})) == 1
    resumed.close()


def test_a_stop_waits_for_the_running_evaluations(journal):
    search = steered(journal, [("stop",)])
    assert len(search.history) == 6
    assert search.result().stopped == "steered"
    search.close()


def test_a_script_that_runs_again_keeps_the_new_budget(journal):
    calls = []

    def reward(chosen):
        calls.append(chosen)
        if len(calls) == 5:
            send_request(journal, "budget", 14)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return weight(chosen)

    with pytest.raises(ds.SearchInterrupted):
        ds.search(problem(reward), 12, seed=0, journal=journal, steer=True)
    assert len(ds.search(problem(reward), 12, seed=0, journal=journal).history) == 14
    assert len(ds.search(problem(reward), 12, seed=0, journal=journal).history) == 14
    assert len(ds.search(problem(reward), 16, seed=0, journal=journal).history) == 16


def test_refusals_say_why_and_nothing_is_lost(journal):
    search = steered(journal, REQUESTS["refused"])
    assert len(search.history) == 16
    search.close()
    refused = [one.refused for one in Record.of(read_events(journal)).steering]
    assert len(refused) == 3
    assert all(refused)
    assert "not pending" in refused[2]


def test_a_leaf_that_is_known_is_not_evaluated_again(journal):
    first = steered(journal, []).history[0].leaf
    other = journal.with_name("other.db")
    search = steered(other, [("propose", sorted(first)), ("tell", {"leaf": sorted(first), "reward": 1.0})])
    search.close()
    refused = [one.refused for one in Record.of(read_events(other)).steering]
    assert refused == ["the leaf was evaluated already, or failed"] * 2


def test_a_paused_search_waits_until_it_may_continue(journal):
    search = ds.Search.default(problem(), seed=0, initial=4, journal=journal)
    opened(journal)
    send_request(journal, "pause")
    runner = threading.Thread(target=search.run, args=(6,), kwargs={"steer": True})
    runner.start()
    runner.join(1.0)
    assert runner.is_alive()
    assert search.history == []
    send_request(journal, "continue")
    runner.join(60.0)
    assert len(search.history) == 6
    search.close()


def test_a_resumed_search_is_still_paused(journal):
    search = steered(journal, [("pause",), ("stop",)])
    search.close()
    resumed = ds.Search.resume(journal, problem())
    assert resumed.recorder.steering.paused
    send_request(journal, "continue")
    resumed.run(2, steer=True)
    assert len(resumed.history) == 8
    resumed.close()


def test_a_hanging_evaluation_is_forgotten(journal):
    hanging, released, calls = threading.Event(), threading.Event(), []

    def reward(chosen):
        calls.append(chosen)
        if len(calls) == 3:
            hanging.set()
            released.wait(60.0)
        return weight(chosen)

    search = ds.Search.default(problem(reward), seed=0, initial=4, journal=journal)
    with ThreadPoolExecutor(2) as executor:
        runner = threading.Thread(target=search.run, args=(8,), kwargs={"executor": executor, "steer": True})
        runner.start()
        assert hanging.wait(60.0)
        send_request(journal, "forget", sorted(calls[2]))
        runner.join(60.0)
        ended = not runner.is_alive()
        released.set()
    runner.join(60.0)
    assert ended
    assert len(search.history) == 7  # a failed evaluation counts
    assert calls[2] not in [evaluation.leaf for evaluation in search.history]
    search.close()
    record = Record.of(read_events(journal))
    assert [one.text for one in record.failures] == ["forgotten at the user's request"]
    assert record.pending == []


def test_requests_to_an_earlier_journal_of_this_name_are_ignored(journal):
    steered(journal, []).close()
    send_request(journal, "stop")
    journal.unlink()
    search = steered(journal, [])
    assert len(search.history) == 16
    search.close()


def test_lines_that_are_not_requests_are_ignored(journal, caplog):
    search = ds.Search.default(problem(), seed=0, initial=4, journal=journal)
    lines = ["not JSON", "[]", json.dumps({"request": "a"}), '{"request": 1,']
    opened(journal).write_text("\n".join(lines))
    search.run(5, steer=True)
    assert len(search.history) == 5
    assert "is not a request" in caplog.text
    search.close()


@pytest.mark.parametrize(
    "request_",
    [
        ("fly", None),
        ("budget", 0),
        ("budget", "many"),
        ("budget", True),
        ("propose", None),
        ("tell", [1, 2]),
        ("tell", {"leaf": [1], "reward": "much"}),
        ("tell", {"leaf": [1], "reward": float("nan")}),
        ("tell", {"leaf": [1], "reward": 1e308}),
        ("tell", {"leaf": [1], "reward": 10**400}),
        ("budget", 2**63),
        ("budget", 2**1024),
        ("budget", 10**4000),
        ("propose", [10**400]),
        ("propose", [float("inf")]),
        ("propose", nested(200)),
        ("propose", "x" * 2_000_000),
    ],
    ids=lambda one: repr(one)[:40],
)
def test_a_request_that_lacks_something_or_is_too_large_is_not_sent(journal, request_):
    steered(journal, []).close()
    with pytest.raises(ValueError, match=r"must be|needs|more than|not finite|longer"):
        send_request(journal, *request_)
    assert requests_path(journal).read_bytes() == b""


def test_a_search_that_is_not_steered_has_no_file_beside_its_journal(journal):
    search = ds.Search.default(problem(), seed=0, initial=4, journal=journal)
    search.run(6)
    search.close()
    assert [path.name for path in journal.parent.iterdir()] == ["run.db"]


class Walk:
    """A problem of the user's own, without path_to and parents."""

    def root(self):
        return ()

    def actions(self, state):
        return ["a", "b"] if len(state) < 4 else []

    def step(self, state, action):
        return (*state, action)

    def items(self, state):
        return set(enumerate(state))

    def reward(self, state):
        return float(state.count("b"))


def test_leaves_of_a_problem_of_ones_own_can_be_proposed(journal):
    search = ds.Search.paper(Walk(), seed=0, journal=journal)
    opened(journal)
    send_request(journal, "propose", {"tuple": ["b", "b", "b", "b"]})
    search.run(1, steer=True)
    assert search.history[0].leaf == ("b", "b", "b", "b")
    search.close()


def random_leaf(one, seed):
    """A leaf of any problem."""
    state, rng = one.root(), random.Random(seed)
    while len(one.actions(state)) > 0:
        state = one.step(state, rng.choice(list(one.actions(state))))
    return state


KINDS = {
    "choices": lambda: ds.problems.Choices(
        {"a": list("xyz"), "b": range(9)}, reward=lambda chosen: chosen["b"]
    ),
    "orders": lambda: ds.problems.Orders("abcdef", reward=lambda order: order.index("c")),
    "strings": lambda: ds.problems.Sequences("xyz", 5, reward=lambda letters: letters.count("y")),
    "a range of sizes": lambda: ds.problems.Subsets(9, (1, 4), reward=sum),
    "a game": ds.problems.TicTacToe,
    "its own": Walk,
}


@pytest.mark.parametrize("kind", KINDS)
def test_leaves_of_every_kind_are_proposed_told_and_replayed(journal, kind):
    one = KINDS[kind]()
    search = ds.Search.default(one, seed=0, initial=3, journal=journal)
    search.run(5, steer=True)
    codec, seen = StateCodec(one), {evaluation.leaf for evaluation in search.history}
    leaves = dict.fromkeys(random_leaf(one, seed) for seed in range(99))
    first, second = [leaf for leaf in leaves if leaf not in seen][:2]
    send_request(journal, "propose", json.loads(json.dumps(codec.encode(first))))
    send_request(journal, "tell", {"leaf": json.loads(json.dumps(codec.encode(second))), "reward": 2.5})
    search.run(4, steer=True)
    rewards = {evaluation.leaf: evaluation.reward for evaluation in search.history}
    assert rewards[second] == 2.5
    assert rewards[first] == one.reward(first)
    assert len(rewards) == 9
    search.close()
    assert [answer.refused for answer in Record.of(read_events(journal)).steering] == [None, None]
    resumed = ds.Search.resume(journal, KINDS[kind]())
    assert known(resumed) == known(search)
    resumed.close()
