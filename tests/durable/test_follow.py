"""A journal followed while it is written: each event once, whatever happens to the file."""

import pytest

import dagsearch as ds
from dagsearch.journal.journal import Follower, read_events
from dagsearch.journal.lines import LENGTH

PROBLEM = ds.problems.Subsets(10, 3, reward=sum)


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "run.db"


def begun(journal, budget=5):
    search = ds.Search.paper(PROBLEM, seed=0, journal=journal)
    search.run(budget)
    return search


def test_every_event_is_read_once(journal):
    search = begun(journal, 1)
    follower, seen = Follower(journal), []
    for _ in range(4):
        news = follower.read()
        assert news.restarted == (not seen)
        seen += news.events
        assert seen == read_events(journal)
        search.run(2)
    assert follower.read().events
    assert follower.read() == ([], False)
    search.close()


def test_a_line_that_is_being_written_is_read_when_it_is_complete(journal, tmp_path):
    begun(journal).close()
    whole = journal.read_bytes()
    copy = tmp_path / "copy.db"
    end = whole.rindex(b"\n", 0, -1) + 1
    follower = None
    for size in (end, end + 1, len(whole) - 1):
        copy.write_bytes(whole[:size])
        follower = follower or Follower(copy)
        follower.read()
    copy.write_bytes(whole)
    assert [event.number for event in follower.read().events] == [len(read_events(journal)) - 1]


def test_another_file_under_the_name_is_read_from_its_beginning(journal, tmp_path):
    begun(journal, 6).close()
    follower = Follower(journal)
    follower.read()
    other = tmp_path / "other.db"
    begun(other, 2).close()
    other.replace(journal)
    assert follower.read() == (read_events(journal), True)


def test_a_last_line_that_was_taken_back_is_replaced(journal):
    """The event was complete in the file, but never confirmed, and the search wrote another one."""
    search = begun(journal)
    before = journal.read_bytes()
    search.note("lost")
    follower = Follower(journal)
    follower.read()
    search.close()
    journal.write_bytes(before)
    search = ds.Search.resume(journal, PROBLEM)
    search.note("instead")
    search.run(1)
    search.close()
    assert follower.read() == (read_events(journal), True)


def test_damage_is_named(journal):
    begun(journal).close()
    data = bytearray(journal.read_bytes())
    data[LENGTH + 40] ^= 1
    journal.write_bytes(data)
    with pytest.raises(ds.JournalError, match="event 0 is not what was written"):
        Follower(journal).read()
    with pytest.raises(ds.JournalError, match="there is no journal"):
        Follower(journal.with_name("missing.db"))


def test_following_neither_locks_nor_changes_the_file(journal):
    search = begun(journal)
    journal.chmod(0o444)
    before, at = journal.read_bytes(), journal.stat().st_mtime_ns
    Follower(journal).read()
    assert (journal.read_bytes(), journal.stat().st_mtime_ns) == (before, at)
    journal.chmod(0o644)
    search.run(1)
    search.close()
