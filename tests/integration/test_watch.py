"""``dagsearch watch``: the server's answers, requests to running searches, and the live page of a run."""

import asyncio
import json
import os
import platform
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.report.report import Watched
from dagsearch.report.server import make_app
from dagsearch.report.view import RunView
from dagsearch.storage.database import Database
from support.browser import in_browser
from support.runs import events, rewritten

TOKEN, PORT = "secret-token", 4321
PROBLEM = ds.problems.Subsets(12, 3, reward=sum)
RUN = """
import sys, time
import dagsearch as ds

def reward(chosen):
    time.sleep(0.02)
    return sum(chosen) - 40.0 * (0 in chosen)

problem = ds.problems.Subsets(40, 4, reward=reward)
ds.search(problem, int(sys.argv[2]), seed=0, storage=sys.argv[1])
"""


@pytest.fixture
def run_path(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(PROBLEM, seed=0, initial=5, storage=path)
    search.run(10)
    search.ask()
    search.close()
    return path


@pytest.fixture
def running(run_path):
    """The same run, on which this process is at work."""
    search = ds.Search.resume(run_path, PROBLEM)
    yield search
    search.close()


class Client:
    """Sends requests to the application without a network."""

    def __init__(self, watched, steer=False):
        self._transport = httpx.ASGITransport(make_app(watched, TOKEN, steer))

    def __call__(self, path, method="GET", **options):
        async def answered():
            own = f"http://127.0.0.1:{PORT}"
            async with httpx.AsyncClient(transport=self._transport, base_url=own) as client:
                return await client.request(method, path, **options)

        with ThreadPoolExecutor(1) as executor:  # a browser may have an event loop in this thread
            return executor.submit(asyncio.run, answered()).result()


@pytest.fixture
def client(run_path):
    return Client(Watched([run_path]))


def test_the_page_and_its_data_are_served_to_those_who_know_the_token(client):
    page = client(f"/{TOKEN}/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"
    data = client(f"/{TOKEN}/data")
    assert data.json()["runs"][0]["evaluations"] == 10
    assert client(f"/{TOKEN}/data?seen={data.json()['live']['version']}").status_code in (200, 204)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        *((path, {}, 404) for path in ("/", f"/{TOKEN}x/", f"/x/{TOKEN}/", f"/{TOKEN[:-1]}/", f"/?{TOKEN}")),
        (f"/{TOKEN}/", {"Host": "evil.example:4321"}, 400),
        (f"/{TOKEN}/", {"Host": "127.0.0.1.evil.example"}, 400),
        (f"/{TOKEN}/data", {"Origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/data", {"Origin": "null"}, 403),
        (f"/{TOKEN}/data", {"Origin": "http://127.0.0.1:8888"}, 403),
        (f"/{TOKEN}/data", {"Origin": f"http://127.0.0.1:{PORT}"}, 200),
        (f"/{TOKEN}/data", {"Host": "localhost:9999", "Origin": "http://localhost:9999"}, 200),  # by ssh -L
    ],
)
def test_without_the_token_or_from_elsewhere_nothing_is_answered(client, path, headers, status):
    answer = client(path, headers=headers)
    assert answer.status_code == status
    assert ("runs" in answer.text) == (status == 200)
    assert "access-control-allow-origin" not in answer.headers


def test_what_is_costly_to_show_is_shown_less_often_but_reading_does_not_count(run_path, monkeypatch):
    """What is new has to be read once anyway: if it counted, a fast run would be shown ever less often."""
    clock = [0.0]

    def costing(seconds, method):
        def slow(*arguments):
            clock[0] += seconds
            return method(*arguments)

        return slow

    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    monkeypatch.setattr(Database, "events", costing(10.0, Database.events))
    monkeypatch.setattr(RunView, "view", costing(0.1, RunView.view))
    content = json.loads(Watched([run_path]).content(""))
    assert content["live"]["every"] == pytest.approx(5.0)


def test_reading_writes_nothing(client, run_path):
    before = events(run_path)
    for path in ("", "data"):
        client(f"/{TOKEN}/{path}")
    steer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"})
    assert steer.status_code == 404
    assert events(run_path) == before


def test_requests_to_steer_are_passed_on(run_path, running):
    client, steps = Client(Watched([run_path], steer=True), steer=True), running.steps(20)
    assert len([next(steps)]) == 1
    asked = [("propose", [1, 2, 3]), ("propose", [1, 99]), ("budget", 12)]
    for action, value in asked:
        answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": action, "value": value})
        assert answer.status_code == 200
        assert answer.json()["request"] == events(run_path)[-1].number
    (run,) = client(f"/{TOKEN}/data").json()["runs"]
    assert [one["answer"] for one in run["requests"]] == ["done", None, None]
    assert len(list(steps)) == 1
    assert len(running.history) == 12
    assert frozenset({1, 2, 3}) in [evaluation.leaf for evaluation in running.history]
    (run,) = client(f"/{TOKEN}/data").json()["runs"]
    assert [one["what"] for one in run["requests"]] == [
        "budget 12",
        "evaluate 1, 99 next",
        "evaluate 1, 2, 3 next",
    ]
    assert [str(one["answer"]).startswith("refused: ") for one in run["requests"]] == [False, True, False]


def test_a_search_that_is_no_longer_running_cannot_be_steered(run_path):
    client, before = Client(Watched([run_path], steer=True), steer=True), events(run_path)
    answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"})
    assert answer.status_code == 409
    assert answer.json()["error"] == f"the search at {run_path} is no longer running"
    run_path.unlink()
    answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"})
    assert answer.status_code == 409
    assert "there is no file" in answer.json()["error"]
    assert not run_path.exists()
    assert before


@pytest.mark.parametrize(
    "options",
    [
        {"json": {"run": 1, "action": "stop"}},
        {"json": {"run": "0", "action": "stop"}},
        {"json": {"run": -1, "action": "stop"}},
        {"json": {"run": 0}},
        {"json": {"run": 0, "action": "budget", "value": "text"}},
        {"json": {"run": 0, "action": "tell", "value": {"leaf": [1], "reward": 1.0}}},
        {"json": {"run": 0, "action": "propose"}},
        {"content": b'{"run": 0, "action": "propose", "value": [NaN]}'},
        {"content": b"\xff\xfe"},
        {"json": [1]},
        {"content": b"{"},
    ],
)
@pytest.mark.usefixtures("running")
def test_bad_requests_to_steer_are_refused(run_path, options):
    client = Client(Watched([run_path], steer=True), steer=True)
    answer = client(f"/{TOKEN}/steer", "POST", **options)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert len(answer.json()["error"].splitlines()) == 1
    assert events(run_path, "request") == []


@pytest.mark.usefixtures("running")
def test_a_request_whose_body_never_comes_is_refused_and_closed(run_path, monkeypatch):
    monkeypatch.setattr("dagsearch.report.server._SECONDS_TO_SEND", 0.05)

    async def never():
        yield b"{"
        await asyncio.sleep(3600)

    answer = Client(Watched([run_path]), steer=True)(f"/{TOKEN}/steer", "POST", content=never())
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")
    assert events(run_path, "request") == []


def test_only_what_is_new_is_read_and_sent(run_path):
    now = [1000.0]
    watched = Watched([run_path], clock=lambda: now[0])
    seen = json.loads(watched.content(""))["live"]["version"]
    assert watched.content(seen) is None
    now[0] += 10.0  # the age of what is pending has changed
    assert watched.content(seen) is not None
    search = ds.Search.resume(run_path, PROBLEM)
    search.run(3)
    search.close()
    content = json.loads(watched.content(seen))
    assert content["runs"][0]["evaluations"] == 13


def test_a_run_that_disappears_is_reported_and_read_again(run_path):
    watched = Watched([run_path])
    watched.content("")
    kept = run_path.rename(run_path.with_name("elsewhere.db"))
    (run,) = json.loads(watched.content(""))["runs"]
    assert "there is no file" in run["problem_text"]
    assert run["evaluations"] == 10
    kept.rename(run_path)
    (run,) = json.loads(watched.content(""))["runs"]
    assert (run["problem_text"], run["evaluations"]) == (None, 10)


def test_a_run_that_was_replaced_by_another_is_shown(run_path, tmp_path):
    watched = Watched([run_path])
    seen = json.loads(watched.content(""))["live"]["version"]
    best = ds.search(PROBLEM, 10, seed=1, storage=tmp_path / "other.db").best_reward
    for extra in ("-wal", "-shm"):
        run_path.with_name(f"run.db{extra}").unlink(missing_ok=True)
    os.replace(tmp_path / "other.db", run_path)
    (run,) = json.loads(watched.content(seen))["runs"]
    assert (run["best"], run["problem_text"], run["evaluations"]) == (best, None, 10)


def test_all_runs_of_a_database_are_followed(storage):
    """Those that begin later, too, and each by its own place."""
    first = ds.Search.default(PROBLEM, seed=0, initial=5, storage=storage, name="first")
    first.run(6)
    watched = Watched([storage], steer=True)
    assert [run["evaluations"] for run in json.loads(watched.content(""))["runs"]] == [6]
    ds.search(PROBLEM, 8, seed=1, storage=storage, name="second")
    first.run(3)
    runs = json.loads(watched.content(""))["runs"]
    assert [run["evaluations"] for run in runs] == [9, 8]
    assert [run["state"] for run in runs] == ["running", "ended"]
    assert [run["name"].rpartition(": ")[2] for run in runs] == ["first", "second"]
    client = Client(watched, steer=True)
    assert client(f"/{TOKEN}/steer", "POST", json={"run": 1, "action": "stop"}).status_code == 409
    assert client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"}).status_code == 200
    assert len(events(storage, "request", name="first")) == 1
    assert events(storage, "request", name="second") == []
    first.close()
    (only,) = json.loads(Watched([storage], "second").content(""))["runs"]
    assert only["evaluations"] == 8


# The command ---------------------------------------------------------------------------------------------


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def watching(*arguments):
    """The address of the page that a server in another process serves."""
    command = [sys.executable, "-m", "dagsearch", "watch", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        yield address
    finally:
        process.kill()
        process.communicate()


@contextmanager
def started(run_path, budget):
    """A search in another process, which does not outlive the test."""
    process = subprocess.Popen([sys.executable, "-c", RUN, str(run_path), str(budget)], env=environment())
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def told(run_path):
    try:
        return len(events(run_path, "tell"))
    except ds.StorageError:
        return 0


@in_browser
@pytest.mark.slow
def test_the_live_page_follows_a_run_that_is_killed_resumed_and_steered(browser, tmp_path):
    run_path, complaints = tmp_path / "run.db", []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def shown():
        return int(re.search(r"after (\d+) evaluation", page.locator("h1").inner_text())[1])

    def state():
        return page.locator(".facts").inner_text().split("State")[1].strip()

    with ExitStack() as ends:
        with started(run_path, 400):
            wait_for(lambda: told(run_path) > 3)
            page.goto(ends.enter_context(watching(run_path, "--steer")))
            first = shown()
            wait_for(lambda: shown() > first + 3)
            assert state() == "running"
        wait_for(lambda: state() == "not running")
        assert shown() == told(run_path)
        assert page.get_by_role("button", name="Pause").count() == 0
        with started(run_path, 400) as run:
            before = told(run_path)
            wait_for(lambda: shown() > before + 3)
            page.get_by_role("button", name="Pause").click()
            wait_for(lambda: state() == "paused")
            page.get_by_label("Total evaluations").fill(str(told(run_path) + 2))
            page.get_by_role("button", name="Set budget").click()
            page.get_by_text("Propose a leaf to evaluate next").click()
            page.locator("input[name=proposed]").fill("[0, 1, 2, 3]")
            page.get_by_role("button", name="Propose").click()
            wait_for(lambda: len(events(run_path, "request")) == 3)
            page.locator("input[name=proposed]").blur()
            page.get_by_role("button", name="Continue").click()
            assert run.wait(120) == 0
        wait_for(lambda: state() == "ended")
        assert page.locator("#steer tbody tr").count() == 4
        assert page.get_by_role("button", name="Pause").count() == 0
        assert complaints == []
        page.close()
    rewards = {str(event.body["leaf"]): event.body["reward"] for event in events(run_path, "tell")}
    assert rewards["[0, 1, 2, 3]"] == 6.0 - 40.0


ODD = {
    "text as a budget": [("request", {"action": "budget", "value": "text"})],
    "rules": [("run", {"budget": 20, "stop": {"patience": "x", "target": [], "seconds": {}}})],
    "note": [("note", {"note": {"data": 1, "features": [1], "rows": "x", "folds": "y"}})],
    "recommendation": [("end", {"stopped": [], "best": ["x"]})],
    "reward beyond all floats": [
        ("tell", {"ask": None, "leaf": [0, 1, 2], "reward": 10**400, "seconds": 1.0, "predicted": None})
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_events_that_no_search_writes_are_shown_or_named_in_one_line(run_path, name, capsys, tmp_path):
    def change(rows):
        head = {"time": 1e9, "worker": "me", "claim": None}
        rows += [{**head, "kind": kind, "body": body} for kind, body in ODD[name]]

    copy = rewritten(run_path, change, tmp_path / "odd.db")
    for command in (["show", copy], ["report", copy, "--out", tmp_path / "page.html"]):
        code = main([str(part) for part in command])
        error = capsys.readouterr().err
        assert (code, len(error.splitlines())) in ((0, 0), (1, 1)), error


def test_show_and_watch_read_a_run_in_either_database(storage, capsys):
    search = ds.Search.default(PROBLEM, seed=0, initial=5, storage=storage)
    best = search.run(10).best_reward
    leaf = ", ".join(map(str, sorted(search.ask().leaf)))
    assert main(["show", storage]) == 0
    shown = capsys.readouterr().out
    assert f"Best so far {best:.4g} after 10 evaluations" in shown
    assert f"Pending: {leaf}, evaluated by {platform.node()}, process {os.getpid()}\n" in shown
    with watching(storage, "--steer") as address:
        assert httpx.get(address, headers={"Host": "evil.example"}).status_code == 400
        (run,) = httpx.get(address + "data", timeout=60).json()["runs"]
        assert (run["state"], run["best"], run["evaluations"]) == ("running", best, 10)
        assert run["pending"][0]["by"] == f"{platform.node()}, process {os.getpid()}"
        steps = search.steps(30)
        next(steps)
        request = {"run": 0, "action": "budget", "value": 13}
        assert httpx.post(address + "steer", json=request, timeout=60).status_code == 200
        assert len(list(steps)) == 2
        search.close()
        (run,) = httpx.get(address + "data", timeout=60).json()["runs"]
        assert (run["state"], run["evaluations"], run["budget"]) == ("ended", 13, 13)
    assert main(["show", storage]) == 0
    assert "Evaluations: 13 of 13" in capsys.readouterr().out
