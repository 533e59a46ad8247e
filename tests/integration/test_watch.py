"""``dagsearch watch``: the server's answers, and the live page of a run that is killed and resumed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.journal.journal import Follower, read_events
from dagsearch.journal.requests import requests_path
from dagsearch.report.report import Watched
from dagsearch.report.server import make_app
from dagsearch.report.view import Viewed
from support.browser import in_browser

TOKEN, PORT = "secret-token", 4321
PROBLEM = ds.problems.Subsets(12, 3, reward=sum)
RUN = """
import sys, time
import dagsearch as ds

def reward(chosen):
    time.sleep(0.02)
    return sum(chosen) - 40.0 * (0 in chosen)

ds.search(ds.problems.Subsets(40, 4, reward=reward), int(sys.argv[2]), seed=0, journal=sys.argv[1])
"""


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(PROBLEM, seed=0, initial=5, journal=path)
    search.run(10)
    search.ask()
    search.close()
    return path


class Client:
    """Sends requests to the application without a network."""

    def __init__(self, watched, steer=False):
        self._transport = httpx.ASGITransport(make_app(watched, TOKEN, PORT, steer))

    def __call__(self, path, method="GET", host=f"127.0.0.1:{PORT}", **options):
        import asyncio

        async def answered():
            async with httpx.AsyncClient(transport=self._transport, base_url=f"http://{host}") as client:
                return await client.request(method, path, **options)

        return asyncio.run(answered())


@pytest.fixture
def client(journal):
    return Client(Watched([journal]))


def test_the_page_and_its_data_are_served_to_those_who_know_the_token(client):
    page = client(f"/{TOKEN}/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"
    data = client(f"/{TOKEN}/data")
    assert data.json()["runs"][0]["evaluations"] == 10
    assert client(f"/{TOKEN}/data?seen={data.json()['version']}").status_code in (200, 204)


@pytest.mark.parametrize(
    "path", ["/", "/data", "//", f"/{TOKEN}x/", f"/x/{TOKEN}/", "/..", f"/{TOKEN[:-1]}/data", f"/?{TOKEN}"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_without_the_token_nothing_is_answered(client, path, method):
    answer = client(path, method)
    assert (answer.status_code, answer.content) == (404, b"")
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example:4321", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:4321"]
)
def test_another_host_name_is_refused_even_with_the_token(client, host):
    assert (answer := client(f"/{TOKEN}/", host=host)).status_code == 404
    assert answer.content == b""


def test_another_origin_is_refused(client):
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{PORT}"):
        assert client(f"/{TOKEN}/data", headers={"Origin": origin}).status_code == 404
    assert client(f"/{TOKEN}/data", headers={"Origin": f"http://localhost:{PORT}"}).status_code == 200


def test_what_is_costly_to_show_is_shown_less_often_but_reading_does_not_count(journal, monkeypatch):
    """What is new has to be read once anyway: if it counted, a fast run would be shown ever less often."""
    clock = [0.0]

    def costing(seconds, method):
        def slow(*arguments):
            clock[0] += seconds
            return method(*arguments)

        return slow

    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    monkeypatch.setattr(Follower, "read", costing(10.0, Follower.read))
    monkeypatch.setattr(Viewed, "view", costing(0.1, Viewed.view))
    content = json.loads(Watched([journal]).content(""))
    assert content["live"]["every"] == pytest.approx(5.0)


def test_reading_writes_nothing(client, journal):
    before = journal.read_bytes()
    for path in ("", "data"):
        client(f"/{TOKEN}/{path}")
    steer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"})
    assert steer.status_code == 404
    assert journal.read_bytes() == before
    assert [path.name for path in journal.parent.iterdir()] == ["run.db"]


def test_requests_to_steer_are_passed_on(journal):
    client = Client(Watched([journal], steer=True), steer=True)
    answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "budget", "value": 12})
    assert answer.status_code == 200
    (line,) = requests_path(journal).read_text().splitlines()
    assert json.loads(line)["request"] == answer.json()["request"]
    search = ds.Search.resume(journal, PROBLEM)
    search.run(20)
    assert len(search.history) == 12
    search.close()


@pytest.mark.parametrize(
    "options",
    [
        {"json": {"run": 1, "action": "stop"}},
        {"json": {"run": "0", "action": "stop"}},
        {"json": {"run": True, "action": "stop"}},
        {"json": {"run": 0, "action": "rm"}},
        {"json": [1]},
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
        {"content": b"{}", "headers": {"Content-Type": "text/plain"}},
        {"content": b"[" * 2_000_000, "headers": {"Content-Type": "application/json"}},
    ],
)
def test_bad_requests_to_steer_are_refused(journal, options):
    client = Client(Watched([journal], steer=True), steer=True)
    answer = client(f"/{TOKEN}/steer", "POST", **options)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert not requests_path(journal).exists()


def test_only_what_is_new_is_read_and_sent(journal):
    now = [1000.0]
    watched = Watched([journal], clock=lambda: now[0])
    seen = json.loads(watched.content(""))["version"]
    assert watched.content(seen) is None
    now[0] += 10.0  # the age of what is pending has changed
    assert watched.content(seen) is not None
    search = ds.Search.resume(journal, PROBLEM)
    search.run(3)
    search.close()
    content = json.loads(watched.content(seen))
    assert content["runs"][0]["evaluations"] == 13


def test_a_journal_that_disappears_is_reported_and_read_again(journal):
    watched = Watched([journal])
    watched.content("")
    kept = journal.read_bytes()
    journal.unlink()
    (run,) = json.loads(watched.content(""))["runs"]
    assert "cannot read" in run["problem_text"]
    assert run["evaluations"] == 10
    journal.write_bytes(kept)
    (run,) = json.loads(watched.content(""))["runs"]
    assert (run["problem_text"], run["evaluations"]) == (None, 10)


# The command ---------------------------------------------------------------------------------------------


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def watching(*arguments):
    """The address of the page."""
    command = [sys.executable, "-m", "dagsearch", "watch", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        yield address
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def started(journal, budget):
    return subprocess.Popen([sys.executable, "-c", RUN, str(journal), str(budget)], env=environment())


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def told(journal):
    try:
        return sum(event.kind == "tell" for event in read_events(journal))
    except ds.JournalError:
        return 0


@pytest.mark.slow
def test_the_server_listens_on_this_machine_alone(journal):
    with watching(journal) as address:
        assert httpx.get(address).status_code == 200
        root = address.rsplit("/", 2)[0]
        assert httpx.get(root + "/").status_code == 404
        assert httpx.get(address, headers={"Host": "evil.example"}).status_code == 404
        assert "server" not in httpx.get(address).headers


@in_browser
@pytest.mark.slow
def test_the_live_page_follows_a_run_that_is_killed_resumed_and_steered(browser, tmp_path):
    journal = tmp_path / "run.db"
    run = started(journal, 400)
    wait_for(lambda: told(journal) > 3)
    with watching(journal, "--steer") as address:
        page = browser.new_page()
        complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)

        def shown():
            return int(re.search(r"evaluation \d+ of (\d+)", page.locator("h1").inner_text())[1])

        def state():
            return page.locator(".facts").inner_text().split("State")[1].strip()

        first = shown()
        wait_for(lambda: shown() > first + 3)
        assert state() == "running"
        run.send_signal(signal.SIGKILL)
        run.wait()
        wait_for(lambda: state() == "not running")
        assert shown() == told(journal)
        run = started(journal, 400)
        try:
            before = told(journal)
            wait_for(lambda: shown() > before + 3)
            page.get_by_role("button", name="Pause").click()
            wait_for(lambda: state() == "paused")
            page.get_by_label("Total evaluations").fill(str(told(journal) + 2))
            page.get_by_role("button", name="Set budget").click()
            page.get_by_label("Leaf to evaluate next").fill("[0, 1, 2, 3]")
            page.get_by_role("button", name="Propose").click()
            wait_for(lambda: any(event.kind == "propose" for event in read_events(journal)))
            page.get_by_label("Leaf to evaluate next").blur()
            page.get_by_role("button", name="Continue").click()
            assert run.wait(120) == 0
        finally:
            run.kill()
        wait_for(lambda: state() == "ended")
        assert page.locator("#steer tbody tr").count() == 4
        assert complaints == []
        page.close()
    rewards = {
        str(event.content["leaf"]): event.content["reward"]
        for event in read_events(journal)
        if event.kind == "tell"
    }
    assert rewards["[0, 1, 2, 3]"] == 6.0 - 40.0


def test_a_port_that_is_in_use_is_named(journal, capsys, monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _: 0)  # this process goes on
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["watch", str(journal), "--port", str(port)]) == 1
    assert f"--port: {port} is in use; give another one" in capsys.readouterr().err
