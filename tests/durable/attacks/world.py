"""What is done to a search with a journal on a disk that fails, and to its model.

Every operation is carried out by both. If a fault interrupts it, the search is resumed from its file, and the
model carries out what the file holds of the operation: everything or nothing. Afterwards both must know the
same, to the last bit.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from typing import Any

from dagsearch.errors import JournalError, SearchExhausted
from dagsearch.journal.encoding import StateCodec
from dagsearch.journal.journal import Event, backup_journal, read_events
from dagsearch.journal.lines import LENGTH
from dagsearch.journal.record import Record
from dagsearch.journal.requests import requests_path
from dagsearch.problem import State
from dagsearch.report.view import Viewed
from dagsearch.results import Proposal
from dagsearch.run.stopping import Stop
from dagsearch.search import Search
from dagsearch.space.walks import walked
from dagsearch.values.proofs import WithProofs
from tests.durable.attacks.disk import Crash
from tests.durable.attacks.pair import Pair, Refusal, outcome_of
from tests.durable.attacks.steering import BAD, FORGERIES, line, own_file, removed

Act = Callable[[Search], Any]

FORKS = ("return", "raise", "exec") if hasattr(os, "fork") else ()
"""What a child does that an evaluation forks: it returns, raises, or fails to become another program."""
# Seconds that a run which takes requests may last: one that waits for ever must be found, not waited for.
_LONGEST_RUN = 600.0
_WENT_ON = 99  # exit code of a child that did not end with its evaluation


@contextmanager
def _forking(problem: Any, forks: str) -> Iterator[None]:
    """While entered, every evaluation forks, and waits for its child."""
    process, reward, codes = os.getpid(), problem.reward, list[int]()

    def forking(leaf: State) -> float:
        child = os.fork()
        if child > 0:
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            return float(reward(leaf))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it prints its error
        if forks == "raise":
            raise RuntimeError("in the child")
        if forks == "exec":
            os.execv("/nowhere/to/be/found", ["found"])
        return 1000.0

    problem.reward = forking
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(_WENT_ON)
        del problem.reward
    assert _WENT_ON not in codes, "a child that an evaluation forked went on with the search"


class World(Pair):
    """The operations."""

    _requests = 0

    @property
    def _codec(self) -> StateCodec:
        return StateCodec(self.model.problem)

    # Operations ----------------------------------------------------------------------------------------

    def ask(self, count: int | None) -> None:
        """Ask for one leaf, or for several."""
        before = self._number_of_events()
        known = [evaluation.leaf for evaluation in self.search.history]
        known += [proposal.leaf for proposal in self.search.pending]
        # What is offered again may be told already, or be pending twice, if the user proposed it.
        again = {proposal.leaf for proposal in self._offered} | self._freed
        found = self._attempt(lambda: self.search.ask() if count is None else self.search.ask(count))
        if isinstance(found, list | Proposal) and not self.search.repeats:
            asked = [found] if isinstance(found, Proposal) else found
            fresh = [proposal.leaf for proposal in asked if proposal.leaf not in again]
            self._freed -= {proposal.leaf for proposal in asked}
            repeated = len(fresh) - len(set(fresh) - set(known))
            self._must_be_none("repeated beyond pending", repeated)
        if not self._was_interrupted:
            self._require(found, outcome_of(lambda: self._ask_model(count)))
            return
        events = read_events(self.path)[before:]
        for _ in range([event.kind for event in events].count("ask")):
            self.model.ask()
        self._after_interrupted_asks(events)

    def tell_pending(self, index: int, reward: float, noise: float | None, note: Any, bare: bool) -> None:
        """Tell the reward of a pending leaf, by its proposal or ``bare`` by the leaf."""
        index %= max(1, len(self.model.pending))
        if not self.model.pending:
            return

        def act(search: Search) -> Any:
            proposal = search.pending[index]
            return search.tell(proposal.leaf if bare else proposal, reward, noise, note=note)

        self._tell(act, self.model.pending[index].leaf, reward)

    def tell_stranger(self, number: int, reward: float, noise: float | None, note: Any, bare: bool) -> None:
        """Tell the reward of a leaf that perhaps nobody asked for, with its actions or without."""
        leaf, actions = self.kind.random_leaf(number)
        evaluated = leaf if bare else Proposal(leaf, tuple(actions))
        self._tell(lambda search: search.tell(evaluated, reward, noise, note=note), leaf, reward)

    def tell_again(self, index: int, reward: float) -> None:
        """Tell another reward of a leaf that was told before, by an equal proposal."""
        if not self.model.history:
            return
        evaluation = self.model.history[index % len(self.model.history)]
        evaluated = evaluation.leaf
        if evaluation.actions is not None:
            evaluated = Proposal(evaluation.leaf, evaluation.actions)
        self._tell(lambda search: search.tell(evaluated, reward), evaluation.leaf, reward)

    def tell_nonsense(self, number: int, reward: Any, noise: Any) -> None:
        """Tell what is no reward, or no noise: it must be refused, and change nothing."""
        leaf, _ = self.kind.random_leaf(number)
        evaluated = self.model.pending[0].leaf if self.model.pending and number % 2 else leaf
        before = self._number_of_events()
        refused = self._change("tell", lambda search: search.tell(evaluated, reward, noise))
        assert isinstance(refused, Refusal), "what is no reward, or no noise, was accepted"
        assert self._number_of_events() == before

    def tell_inner(self) -> None:
        """Tell the reward of a state that is not a leaf, or of no state: it must be refused."""
        for state in (self.model.problem.root(), ("no", "state")):
            if self.model.problem.root() is state and not len(self.model.problem.actions(state)):
                continue
            refused = self._change("tell", lambda search: search.tell(state, 1.0))  # noqa: B023
            assert isinstance(refused, Refusal), f"a reward of {state!r} was accepted"

    def propose(self, number: int) -> None:
        """Make a leaf of the user's choice pending."""
        leaf, actions = self.kind.random_leaf(number)
        self._change("propose", lambda search: search.propose(leaf, actions))

    def forget(self, index: int, again: bool, note: Any) -> None:
        """Take back a pending proposal, or one that is not pending."""
        pending = len(self.model.pending)
        if not pending:
            leaf, actions = self.kind.random_leaf(index)
            never = Proposal(leaf, tuple(actions))
            self._change("forget", lambda search: search.forget(never, again=again, note=note))
            return
        index %= pending
        if again:
            self._freed.add(self.model.pending[index].leaf)
        self._change("forget", lambda search: search.forget(search.pending[index], again=again, note=note))

    def note(self, note: Any) -> None:
        """Write a note."""
        self._change("note", lambda search: search.note(note))

    def settle(self) -> None:
        """Learn from rewards that are held back."""
        self._change("settle", lambda search: search.settle())

    def run(self, budget: int, forks: str | None = None, steer: bool = False) -> Sequence[Event]:
        """Let the search evaluate leaves itself; the model does what the journal says. Returns the events.

        ``forks`` says what children do that evaluations fork; none of them may go on with the search.
        """
        before = self._number_of_events()
        if self.search.explored is not None and isinstance(self.search.explored.backup, WithProofs):
            forks = None  # a proof computes rewards itself: those of a game's rules, which do not fork
        with nullcontext() if forks is None else _forking(self.search.problem, forks):
            stop = Stop(seconds=_LONGEST_RUN) if steer else None
            self._attempt(lambda: self.search.run(budget, stop, on_error="skip", steer=steer))
        events = read_events(self.path)[before:]
        for event in events:
            self._follow(event)
        if self._was_interrupted:
            self._after_interrupted_asks(events)
            return events
        assert self.search.result().stopped != "seconds", "the run waits for a request"
        if self.search.result().stopped == "exhausted":
            found = outcome_of(self.model.ask)
            assert isinstance(found, Refusal), f"the model found {found!r}, the search no leaf"
        self._check_equal(self.search)
        return events

    def run_with_forged_steering(self, forgery: str, budget: int) -> None:
        """A run must not read, nor wait for, a steering file that is not its own account's regular file."""
        if self.search.recorder.steering.paused:  # by a run that a fault ended: nobody would let it continue
            return
        steering = requests_path(self.path)
        removed(steering)
        leaf, _ = self.kind.random_leaf(budget)
        told = {"leaf": json.loads(json.dumps(self._codec.encode(leaf))), "reward": 1e6}
        text = line(self.path, "tell", told, self._name()) + line(self.path, "stop", None, self._name())
        if forgery in FORGERIES:
            FORGERIES[forgery](steering, text)
        events = self.run(budget, steer=forgery in FORGERIES)
        removed(steering)
        assert not any(event.kind == "steer" or "steer" in event.note for event in events), "it was forged"

    def run_steered(self, bad: Sequence[str], action: str, number: int, budget: int, deleted: bool) -> None:
        """A run takes what it can carry out, refuses the rest, and every reader can read what it wrote."""
        steering = requests_path(self.path)
        if deleted:
            removed(steering)
        leaf, _ = self.kind.random_leaf(number)
        encoded = json.loads(json.dumps(self._codec.encode(leaf)))
        value = {"propose": encoded, "forget": encoded, "tell": {"leaf": encoded, "reward": number / 1e4}}
        value["budget"] = len(self.search.history) + 1 + number % 3
        refused = [self._name() for _ in bad]
        text = b"".join(line(self.path, *BAD[one], name) for one, name in zip(bad, refused, strict=True))
        text += line(self.path, action, value.get(action), self._name())
        if action == "half a line":
            text = text[: -(number % 40) - 2] + b"\n"  # of the last line
        text += line(self.path, "continue", None, self._name())  # nobody else ends a pause
        own_file(steering, (b"" if deleted or not steering.exists() else steering.read_bytes()) + text)
        events = self.run(budget, steer=True)
        taken = {
            event.content["request"]: event.content["refused"] for event in events if event.kind == "steer"
        }
        assert all(taken[name] is not None for name in refused if name in taken), "nonsense was carried out"
        if not self._was_interrupted:
            assert set(refused) <= set(taken), "a request was lost"
        Viewed("search", Record.of(read_events(self.path))).view()

    def _name(self) -> str:
        """A new name of a request."""
        self._requests += 1
        return f"{self._requests:016x}"

    def look(self) -> None:
        """Read what the attacked search knows. The model does not: looking must change nothing."""
        self.search.result()
        self.search.recommend()
        self.search.belief(self.search.problem.root())

    def close_and_resume(self) -> None:
        """End properly, and continue."""
        self._close_and_resume(self._number_of_events())
        self._check_equal(self.search)

    def zero(self, number: int, text: bytes | None) -> None:
        """A file system has left zeros of the file, perhaps before other text: it must stay as it is."""
        self.close_and_resume()
        events = self._number_of_events()
        with suppress(Crash):
            self.search.close()
        self.disk.restart(self.path, self.figures)
        content = self.path.read_bytes()
        zeros = bytes(LENGTH + number % (len(content) - LENGTH + 1))
        if text is not None:
            zeros = bytes(1 + number % len(content))
        damaged = zeros + (content[len(zeros) :] if text is None else text)
        self.path.write_bytes(damaged)
        for attempt in (lambda: self.kind.resume(self.path), lambda: self.kind.begin(0, self.path)):
            refused = outcome_of(attempt)
            assert isinstance(refused, Refusal), "a search was let in"
            assert refused.kind is JournalError, refused
            assert self.path.read_bytes() == damaged, "a refused file was changed"
        self.path.write_bytes(content)
        self._close_and_resume(events)
        self._check_equal(self.search)

    def open_twice(self) -> None:
        """A second search must be refused, and a new one must not replace the journal."""
        for attempt in (lambda: self.kind.resume(self.path), lambda: self.kind.begin(0, self.path)):
            refused = outcome_of(attempt)
            assert isinstance(refused, Refusal), "a second search was let in"
            assert refused.kind is JournalError

    def copy(self, by_backup: bool, move: bool) -> None:
        """Resume a copy of the file, and perhaps go on there; the copy's next proposal is compared."""
        copy = self._new_path()
        if by_backup:
            backup_journal(self.path, copy)
        else:
            shutil.copyfile(self.path, copy)
        again = self.kind.resume(copy)
        self.figures["copies resumed"] += 1
        self._check_equal(again)
        if not move:
            offered = [again.ask() for _ in self.model.pending]
            self._require(offered, list(self.model.pending))
            self._require(outcome_of(again.ask), outcome_of(deepcopy(self.model).ask))
            again.close()
            copy.unlink()
            self._check_equal(self.search)
            return
        again.close()
        with suppress(Crash):
            self.search.close()
        events = self._number_of_events()
        self.path.unlink()
        self.path = copy
        self._close_and_resume(events)
        self._check_equal(self.search)

    def end(self) -> None:
        """Resume a last time; the next proposals must be the model's."""
        self.close_and_resume()
        for _ in range(2):
            self.ask(None)
            self.tell_pending(0, 0.5, None, None, False)
        self.close_and_resume()
        with suppress(Crash):
            self.search.close()

    # How an operation is carried out ---------------------------------------------------------------------

    def _tell(self, act: Act, leaf: State, reward: float) -> None:
        before = len(self.search.history)
        self._change("tell", act)
        if len(self.search.history) > before:
            self._confirmed.append((leaf, float(reward)))
            self.figures["rewards told"] += 1

    def _change(self, kind: str, act: Act) -> Any:
        """Let both do what is one event; returns what the model returned, ``None`` if nothing was done."""
        before = self._number_of_events()
        found = self._attempt(lambda: act(self.search))
        if not self._was_interrupted:
            return self._require(found, outcome_of(lambda: act(self.model)))
        kinds = [event.kind for event in read_events(self.path)[before:]]
        done = outcome_of(lambda: act(self.model)) if kind in kinds else None
        self._offered = list(self.model.pending)
        self._check_equal(self.search)
        return done

    def _ask_model(self, count: int | None) -> Proposal | list[Proposal]:
        first = self._next_of_model()
        if count is None:
            return first
        found = [first]
        with suppress(SearchExhausted):
            while len(found) < count:
                found.append(self._next_of_model())
        return found

    def _next_of_model(self) -> Proposal:
        while self._offered:
            offered = self._offered.pop(0)
            if any(offered is proposal for proposal in self.model.pending):
                return offered
        return self.model.ask()

    def _after_interrupted_asks(self, events: Sequence[Event]) -> None:
        """Compare after a resume; the model has carried out the events of asks that a fault interrupted."""
        self._offered = list(self.model.pending)
        asks = [event.kind for event in events if event.kind in ("ask", "settle")]
        if asks and asks[-1] == "settle":
            # The search had found that no leaf is left, or none but pending ones, and was to act on that.
            offered = [self.search.ask() for _ in self.model.pending]
            self._require(offered, list(self.model.pending))
            self._offered = []
            self._require(outcome_of(self.search.ask), outcome_of(self.model.ask))
        self._check_equal(self.search)

    def _follow(self, event: Event) -> None:
        """Let the model do what an event of a run says."""
        content = event.content
        if event.kind == "ask":
            self.model.ask()
        elif event.kind == "tell":
            if content["pending"] is None:  # by request
                leaf, actions = walked(self.model.problem, content["actions"])
                proposal = Proposal(leaf, actions)
            else:
                proposal = self.model.pending[content["pending"]]
            self.model.tell(proposal, content["reward"], content["noise"])
            self._confirmed.append((proposal.leaf, content["reward"]))
            self.figures["rewards told"] += 1
        elif event.kind == "propose":
            self.model.propose(*walked(self.model.problem, content["actions"]))
        elif event.kind == "forget":
            self.model.forget(self.model.pending[content["pending"]], again=content["again"])
