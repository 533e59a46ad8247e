"""``dagsearch watch``: the server's answers, and the live page of a run that is killed and resumed."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.journal.journal import Follower, read_events
from dagsearch.journal.requests import requests_path
from dagsearch.report.report import Report, Watched
from dagsearch.report.server import make_app
from dagsearch.report.view import Viewed
from support.browser import in_browser
from support.journals import written

TOKEN, PORT = "secret-token", 4321
PROBLEM = ds.problems.Subsets(12, 3, reward=sum)
RUN = """
import sys, time
import dagsearch as ds

def reward(chosen):
    time.sleep(0.02)
    return sum(chosen) - 40.0 * (0 in chosen)

problem = ds.problems.Subsets(40, 4, reward=reward)
ds.search(problem, int(sys.argv[2]), seed=0, journal=sys.argv[1], steer=True)
"""


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(PROBLEM, seed=0, initial=5, journal=path)
    search.run(10, steer=True)
    search.ask()
    search.close()
    return path


class Client:
    """Sends requests to the application without a network."""

    def __init__(self, watched, steer=False):
        self._transport = httpx.ASGITransport(make_app(watched, TOKEN, steer))

    def __call__(self, path, method="GET", host=f"127.0.0.1:{PORT}", **options):
        async def answered():
            async with httpx.AsyncClient(transport=self._transport, base_url=f"http://{host}") as client:
                return await client.request(method, path, **options)

        with ThreadPoolExecutor(1) as executor:  # a browser may have an event loop in this thread
            return executor.submit(lambda: asyncio.run(answered())).result()


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


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9999", f"localhost:{PORT}", "[::1]:1"])
def test_the_page_can_be_forwarded_to_another_port(client, host):
    """As by ssh -L 9999:127.0.0.1:4321; the script's requests then have that origin."""
    assert client(f"/{TOKEN}/", host=host).status_code == 200
    assert client(f"/{TOKEN}/data", host=host, headers={"Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:4321",
        "127.0.0.1.evil.example:4321",
        "localhost.evil.example",
        "localhost:4321@evil.example",
        "127.0.0.1:123456",
        "127.0.0.2:4321",
    ],
)
def test_another_host_name_is_refused_even_with_the_token(client, host):
    assert (answer := client(f"/{TOKEN}/", host=host)).status_code == 404
    assert answer.content == b""


def test_another_origin_is_refused(client):
    own = f"http://127.0.0.1:{PORT}"
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:8888"):
        assert client(f"/{TOKEN}/data", headers={"Origin": origin}).status_code == 404
    assert client(f"/{TOKEN}/data", headers={"Origin": own}).status_code == 200


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
    assert requests_path(journal).read_bytes() == b""


def test_requests_to_steer_are_passed_on(journal):
    client = Client(Watched([journal], steer=True), steer=True)
    answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "budget", "value": 12})
    assert answer.status_code == 200
    (line,) = requests_path(journal).read_text().splitlines()
    assert json.loads(line)["request"] == answer.json()["request"]
    search = ds.Search.resume(journal, PROBLEM)
    search.run(20, steer=True)
    assert len(search.history) == 12
    search.close()


@pytest.mark.parametrize(
    "options",
    [
        {"json": {"run": 1, "action": "stop"}},
        {"json": {"run": "0", "action": "stop"}},
        {"json": {"run": True, "action": "stop"}},
        {"json": {"run": -1, "action": "stop"}},
        {"json": {"run": 10**400, "action": "stop"}},
        {"json": {"run": 0}},
        {"json": {"run": 0, "action": {"a": [1]}}},
        {"json": {"run": 0, "action": "budget", "value": 10**4000}},
        {"json": {"run": 0, "action": "budget", "value": 2**1024}},
        {"json": {"run": 0, "action": "budget", "value": "text"}},
        {"json": {"run": 0, "action": "tell", "value": {"leaf": [1], "reward": 10**400}}},
        {"json": {"run": 0, "action": "tell", "value": {"leaf": [1], "reward": 1e308}}},
        {"json": {"run": 0, "action": "tell", "value": "text"}},
        {"json": {"run": 0, "action": "propose", "value": {"a": [10**400]}}},
        {
            "content": b'{"run": 0, "action": "budget", "value": ' + b"9" * 5000 + b"}",
            "headers": {"Content-Type": "application/json"},
        },
        {
            "content": b'{"run": 0, "action": "propose", "value": ' + b"[" * 500 + b"]" * 500 + b"}",
            "headers": {"Content-Type": "application/json"},
        },
        {
            "content": b'{"run": 0, "action": "propose", "value": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
            "headers": {"Content-Type": "application/json"},
        },
        {"content": b"\xff\xfe", "headers": {"Content-Type": "application/json"}},
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
    assert len(answer.json()["error"].splitlines()) == 1
    assert requests_path(journal).read_bytes() == b""


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


servers = []


@contextmanager
def files(count):
    """This process and those that it starts may open so many files."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def watching(*arguments, stderr=None):
    """The address of the page; the server's process is among ``servers`` meanwhile."""
    command = [sys.executable, "-m", "dagsearch", "watch", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment())
    servers.append(process)
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        yield address
    finally:
        servers.remove(process)
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
            page.get_by_text("Propose a leaf to evaluate next").click()
            page.locator("input[name=proposed]").fill("[0, 1, 2, 3]")
            page.get_by_role("button", name="Propose").click()
            wait_for(lambda: any(event.kind == "propose" for event in read_events(journal)))
            page.locator("input[name=proposed]").blur()
            page.get_by_role("button", name="Continue").click()
            assert run.wait(120) == 0
        finally:
            run.kill()
        wait_for(lambda: state() == "ended")
        assert page.locator("#steer tbody tr").count() == 4
        assert page.get_by_role("button", name="Pause").count() == 0
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


def test_a_port_is_named_before_anything_else_is_waited_for(capsys):
    with pytest.raises(SystemExit):
        main(["watch", "run.db", "--port", "70000"])
    assert "must be a number from 0 to 65535" in capsys.readouterr().err


# Attacks -------------------------------------------------------------------------------------------------


def events_with(journal, *more):
    """Write a journal with consistent digests whose last events are whatever is given."""
    events = [(event.kind, event.at, json.dumps(event.content)) for event in read_events(journal)]
    written(journal, [*events, *((kind, 1e9, json.dumps(content)) for kind, content in more)])


def steer_event(action, value):
    return "steer", {"request": "a", "action": action, "value": value, "refused": None}


ODD = {
    "pending: -5": [("forget", {"pending": -5, "again": True})],
    "text as a steer value": [steer_event("budget", "text")],
    "budget in hexadecimal": [steer_event("budget", {"now": hex(2**1024), "instead": 10})],
    "huge budget": [steer_event("budget", {"now": 2**1024, "instead": 10})],
    "budget of a run": [("run", {"budget": 10**400, "stop": {}, "by": "me"})],
    "negative budget": [("run", {"budget": -1, "stop": {"patience": 0, "seconds": 0}, "by": "me"})],
    "rules": [("run", {"budget": 20, "stop": {"patience": "x", "target": [], "seconds": {}}, "by": "me"})],
    "note": [("note", {"note": {"data": 1, "features": [1], "rows": "x", "folds": "y"}})],
    "scores": [
        ("note", {"note": {"data": 1, "features": ["a"], "rows": 2, "folds": 10**20}}),
        ("note", {"note": {"columns": 5}}),
    ],
}


def reward_event(reward, predicted=None):
    found = {"leaf": [0, 1, 2], "actions": None, "path": [], "pending": None, "reward": reward, "noise": None}
    return "tell", {**found, "seconds": None, "predicted": predicted, "expected": [0, 1]}


ODD["reward of 1e308"] = [reward_event(1e308), reward_event(-1e308)]
ODD["predictions"] = [reward_event(1.0, ["x", {}]), reward_event(2.0, [1e308, 1e308])]


@pytest.mark.parametrize("name", ODD)
def test_events_that_no_search_writes_are_shown_or_named_in_one_line(journal, name, capsys, tmp_path):
    events_with(journal, *ODD[name])
    client = Client(Watched([journal]))
    for path in ("", "data"):
        assert client(f"/{TOKEN}/{path}").status_code == 200
    for command in (["show", journal], ["report", journal, "--out", tmp_path / "page.html"]):
        code = main([str(part) for part in command])
        error = capsys.readouterr().err
        assert (code, len(error.splitlines())) in ((0, 0), (1, 1)), error


def test_a_reward_beyond_all_floats_is_named_in_one_line(journal, capsys):
    events = [(event.kind, event.at, json.dumps(event.content)) for event in read_events(journal)]
    kind, content = reward_event(1.0)
    huge = json.dumps(content).replace('"reward": 1.0', '"reward": 1' + "0" * 400)
    written(journal, [*events, (kind, 1e9, huge)])
    assert main(["show", str(journal)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_run_that_did_not_opt_in_cannot_be_steered_and_the_page_says_why(tmp_path):
    journal = tmp_path / "run.db"
    ds.search(PROBLEM, 6, seed=0, journal=journal)
    client = Client(Watched([journal], steer=True), steer=True)
    assert client(f"/{TOKEN}/data").json()["runs"][0]["steerable"] is False
    answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"})
    assert answer.status_code == 409
    assert "takes no requests: run the search with steer=True" in answer.json()["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.skipif(os.name != "posix", reason="such files do not exist there")
def test_a_request_that_cannot_be_written_is_not_said_to_be_sent(journal):
    client = Client(Watched([journal], steer=True), steer=True)
    requests_path(journal).unlink()
    os.mkfifo(requests_path(journal))
    answer = client(f"/{TOKEN}/steer", "POST", json={"run": 0, "action": "stop"})
    assert answer.status_code == 409
    assert "not a regular file" in answer.json()["error"] or "cannot be used" in answer.json()["error"]


def test_a_replaced_journal_is_shown_even_with_the_same_number_and_length(journal):
    watched = Watched([journal])
    seen = json.loads(watched.content(""))["version"]
    other = journal.with_name("other.db")
    search = ds.Search.default(PROBLEM, seed=1, initial=5, journal=other)
    search.run(10)
    search.ask()
    search.close()
    journal.write_bytes(other.read_bytes())  # the same file, another content
    content = json.loads(watched.content(seen))
    best = max(event.content["reward"] for event in read_events(other) if event.kind == "tell")
    assert content["runs"][0]["best"] == best
    assert content["runs"][0]["problem_text"] is None
    os.replace(other, journal)  # another file, the same content
    seen = content["version"]
    assert json.loads(watched.content(seen))["runs"][0]["evaluations"] == 10


def test_a_journal_replaced_by_one_of_the_same_length_is_shown(tmp_path):
    """The digest of the last event is compared, not only the number of the file and its length."""
    journal = tmp_path / "run.db"
    whole = {}
    for seed in range(2):
        text = json.dumps({"note": f"{seed:02d}"})
        settings = {**SETTINGS, "made_by": f"{seed:02d}"}
        written(journal, [("settings", 1.0, json.dumps(settings)), ("note", 1.0, text)])
        whole[seed] = journal.read_bytes()
    journal.write_bytes(whole[0])
    watched = Watched([journal])
    seen = json.loads(watched.content(""))["version"]
    assert len(whole[0]) == len(whole[1])
    journal.write_bytes(whole[1])
    assert "01" in json.loads(watched.content(seen))["runs"][0]["source"]


SETTINGS = {
    "dagsearch": "0",
    "versions": {},
    "problem": {"type": "Subsets"},
    "made_by": "",
    "arguments": {},
    "given": [],
    "parts": {},
    "covariance": [],
    "seed": 0,
    "leaves": {},
}


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
def test_a_journal_that_becomes_a_pipe_is_reported_and_sigterm_ends_the_server(journal):
    with watching(journal) as address:
        assert httpx.get(address).status_code == 200
        kept = journal.read_bytes()
        journal.unlink()
        os.mkfifo(journal)
        (run,) = httpx.get(address + "data", timeout=60).json()["runs"]
        assert "not a regular file" in run["problem_text"]
        journal.unlink()
        journal.write_bytes(kept)
        (run,) = httpx.get(address + "data", timeout=60).json()["runs"]
        assert run["problem_text"] is None
        journal.unlink()
        os.mkfifo(journal)
        httpx.get(address + "data", timeout=60)
        servers[0].send_signal(signal.SIGTERM)
        assert servers[0].wait(60) == -signal.SIGTERM


def test_a_journal_that_does_not_exist_yet_is_waited_for(tmp_path):
    journal = tmp_path / "run.db"
    command = [sys.executable, "-m", "dagsearch", "watch", str(journal)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        assert process.stderr.readline().startswith(f"waiting for {journal}, which no search has begun yet")
        ds.search(PROBLEM, 6, seed=0, journal=journal)
        address = process.stdout.readline().strip()
        assert httpx.get(address + "data", timeout=60).json()["runs"][0]["evaluations"] == 6
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("content", [b"id,name\n1,a\n", b"x", b'{"dagsearch": "journal", "format": 99, '])
def test_a_file_that_is_no_journal_is_named_in_one_line(tmp_path, capsys, monkeypatch, content):
    monkeypatch.setattr(os, "nice", lambda _: 0)  # this process goes on
    (tmp_path / "table.csv").write_bytes(content)
    assert main(["watch", str(tmp_path / "table.csv")]) == 1
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "not a journal" in error or "has format 99" in error


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
def test_a_pipe_is_no_journal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _: 0)
    os.mkfifo(tmp_path / "pipe")
    assert main(["watch", str(tmp_path / "pipe")]) == 1
    assert "it is not a file" in capsys.readouterr().err


def half_open(port, count, text):
    """Connections that send a part of a request."""
    made = []
    for _ in range(count):
        try:
            one = socket.create_connection(("127.0.0.1", port), timeout=60)
            one.sendall(text)
            made.append(one)
        except OSError:
            pass  # closed at once
    return made


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits of open files are set by POSIX")
@pytest.mark.parametrize("text", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-", b"\x16\x03\x01\xff\r\n\r\n"])
def test_the_user_is_answered_amid_1100_half_open_connections(journal, tmp_path, text):
    log = tmp_path / "log"
    with log.open("wb") as errors, files(256), watching(journal, stderr=errors) as address:
        port = int(address.split(":")[2].partition("/")[0])
        with files(4096):
            made = half_open(port, 1100, text)
            try:
                for _ in range(3):
                    assert httpx.get(address, timeout=60).status_code == 200
            finally:
                for one in made:
                    one.close()
        assert httpx.get(address, timeout=60).status_code == 200
    assert log.stat().st_size < 2000


@pytest.mark.slow
def test_a_connection_that_never_asks_is_closed(journal):
    with watching(journal) as address:
        port = int(address.split(":")[2].partition("/")[0])
        (one,) = half_open(port, 1, b"GET / HTTP/1.1\r\n")
        one.settimeout(120)
        try:
            assert one.recv(1) == b""
        except ConnectionResetError:
            pass
        finally:
            one.close()
        assert httpx.get(address, timeout=60).status_code == 200


MARKS = "a\u202eb\u2066c\u200fd\x1b[31me\u2028f"


def test_direction_marks_and_control_characters_are_escaped_in_page_and_terminal(tmp_path, capsys):
    problem = ds.problems.Choices({MARKS: ["x\u202ey", "z\x9b"]}, reward=lambda chosen: float(len(chosen)))
    journal = tmp_path / "run.db"
    ds.search(problem, 2, seed=0, journal=journal)
    page = Report.of_journals(journal).to_html()
    assert not set(MARKS + "\x9b") & set(page) - set("abcdef[31m")
    main(["show", str(journal)])
    shown = capsys.readouterr()
    assert not set(MARKS + "\x9b") & set(shown.out) - set("abcdef[31m")


@in_browser
@pytest.mark.slow
def test_direction_marks_reach_no_text_of_the_page(browser, tmp_path):
    problem = ds.problems.Choices({MARKS: ["x\u202ey", "z\x9b"]}, reward=lambda chosen: float(len(chosen)))
    journal = tmp_path / "run.db"
    ds.search(problem, 2, seed=0, journal=journal)
    Report.of_journals(journal).write(tmp_path / "page.html")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("main section")
    shown = page.evaluate("document.querySelector('main').outerHTML + document.title")
    assert "\\u202e" in shown
    assert not set("\u202e\u2066\u200f\x1b\u2028\x9b") & set(shown)
    page.close()


@in_browser
@pytest.mark.slow
def test_the_page_of_a_run_that_did_not_opt_in_has_no_buttons(browser, tmp_path):
    journal = tmp_path / "run.db"
    ds.search(PROBLEM, 6, seed=0, journal=journal)
    with watching(journal, "--steer") as address:
        page = browser.new_page()
        page.goto(address)
        assert "This search takes no requests" in page.locator("#steer").inner_text()
        assert page.locator("#steer button").count() == 0
        page.close()
