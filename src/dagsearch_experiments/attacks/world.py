"""A search with a journal on a disk that fails, beside a model: the same search without either.

Every operation is carried out by both. If a fault interrupts it, the search is resumed from its file, and the
model carries out what the file holds of the operation: everything or nothing. Afterwards both must know the
same, to the last bit.
"""

import gc
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from dagsearch.durable.journal import Event, backup_journal, has_begun, read_events
from dagsearch.errors import JournalError, SearchExhausted
from dagsearch.problem import State
from dagsearch.results import Proposal
from dagsearch.search import Search
from dagsearch_experiments.attacks.disk import Crash, Disk, Fault
from dagsearch_experiments.attacks.kinds import Kind
from dagsearch_experiments.crashes.layer import watched

Act = Callable[[Search], Any]


class Refusal(NamedTuple):
    """An error that an operation ended with."""

    kind: type[BaseException]
    message: str


class World:
    """A search that is attacked, and its model.

    Parameters
    ----------
    kind : Kind
        What kind of search.
    folder : Path
        Empty folder for journals.
    seed : int
        Seed of the search and of its model.
    figures : Counter
        Counts what was tried and what went wrong.
    fault : Fault, optional
        What happens while the journal is begun.
    """

    def __init__(
        self, kind: Kind, folder: Path, seed: int, figures: Counter[str], fault: Fault | None = None
    ) -> None:
        self.kind, self.figures, self._folder, self._seed = kind, figures, folder, seed
        self.disk = Disk()
        self.model = kind.begin(seed)
        self._offered: list[Proposal] = []  # of the model's pending ones: they must be asked for first
        self._confirmed: list[tuple[State, float]] = []
        self._files = 0
        self.path = self._new_path()
        if fault is not None:
            self.disk.arm(fault)
        self.search = self._begin()
        self._check_equal(self.search)

    # Operations ----------------------------------------------------------------------------------------

    def ask(self, count: int | None) -> None:
        """Ask for one leaf, or for several."""
        before = self._number_of_events()
        told = {evaluation.leaf for evaluation in self.search.history}
        pending = Counter(proposal.leaf for proposal in self.search.pending)
        pending -= Counter(proposal.leaf for proposal in self._offered)
        found = self._attempt(lambda: self.search.ask() if count is None else self.search.ask(count))
        if isinstance(found, list | Proposal) and not self.search.repeats:
            asked = [found.leaf] if isinstance(found, Proposal) else [proposal.leaf for proposal in found]
            again = sum(leaf in told or leaf in pending for leaf in asked) + len(asked) - len(set(asked))
            self._must_be_none("repeated beyond pending", again)
        if not self._was_interrupted:
            self._require(found, _outcome(lambda: self._ask_model(count)))
            return
        kinds = [event.kind for event in read_events(self.path)[before:]]
        for _ in range(kinds.count("ask")):
            self.model.ask()
        self._offered = list(self.model.pending)
        if "settle" in kinds and kinds[-1] != "ask":
            # The search had found that no leaf is left, or none but pending ones, and was to act on that.
            offered = [self.search.ask() for _ in self.model.pending]
            self._require(offered, list(self.model.pending))
            self._offered = []
            self._require(_outcome(self.search.ask), _outcome(self.model.ask))
        self._check_equal(self.search)

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
        self._change("forget", lambda search: search.forget(search.pending[index], again=again, note=note))

    def note(self, note: Any) -> None:
        """Write a note."""
        self._change("note", lambda search: search.note(note))

    def settle(self) -> None:
        """Learn from rewards that are held back."""
        self._change("settle", lambda search: search.settle())

    def reroot(self, first: int, second: int | None) -> None:
        """Continue from a state one or two decisions below the root."""
        problem = self.model.problem
        state = problem.root()
        for number in (first,) if second is None else (first, second):
            actions = problem.actions(state)
            if len(actions) > 0:
                state = problem.step(state, actions[number % len(actions)])
        self._change("reroot", lambda search: search.reroot(state))

    def run(self, budget: int) -> None:
        """Let the search evaluate leaves itself; the model does what the journal says."""
        before = self._number_of_events()
        self._attempt(lambda: self.search.run(budget, on_error="skip"))
        for event in read_events(self.path)[before:]:
            self._follow(event)
        if self._was_interrupted:
            self._offered = list(self.model.pending)
        self._check_equal(self.search)

    def look(self) -> None:
        """Read what the attacked search knows. The model does not: looking must change nothing."""
        self.search.result()
        self.search.recommend()
        self.search.belief(self.search.problem.root())

    def close_and_resume(self) -> None:
        """End properly, and continue."""
        with suppress(Crash):
            self.search.close()
        self._resume()
        self._check_equal(self.search)

    def open_twice(self) -> None:
        """A second search must be refused, and a new one must not replace the journal."""
        for attempt in (lambda: self.kind.resume(self.path), lambda: self.kind.begin(0, self.path)):
            refused = _outcome(attempt)
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
            self._require(_outcome(again.ask), _outcome(deepcopy(self.model).ask))
            again.close()
            copy.unlink()
            return
        again.close()
        with suppress(Crash):
            self.search.close()
        self.path.unlink()
        self.path = copy
        self._resume()

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
            return self._require(found, _outcome(lambda: act(self.model)))
        kinds = [event.kind for event in read_events(self.path)[before:]]
        done = _outcome(lambda: act(self.model)) if kind in kinds else None
        self._offered = list(self.model.pending)
        self._check_equal(self.search)
        return done

    def _attempt(self, act: Callable[[], Any]) -> Any:
        """The outcome of an operation of the attacked search, which is resumed if a fault interrupts it."""
        self._was_interrupted = False
        try:
            found = _outcome(act)
        except Crash:
            found = None
        fault = self.disk.fired
        if fault is None:
            if isinstance(found, Refusal) and found.kind is JournalError:
                raise AssertionError(f"without any fault: {found.message}")
            return found
        self._was_interrupted = True
        if fault.end in ("full", "broken"):
            self._check_stopped(found)
        with suppress(Crash):
            self.search.close()
        self._resume()
        return None

    def _check_stopped(self, found: Any) -> None:
        """A search that cannot write must say so, and learn nothing more."""
        assert isinstance(found, Refusal), f"a write failed, and the search went on: {found!r}"
        assert found.kind is JournalError, found
        known = len(self.search.history)
        leaf, _ = self.kind.random_leaf(0)
        refused = _outcome(lambda: self.search.tell(leaf, 1.0))
        assert isinstance(refused, Refusal), "a search that cannot write accepted a reward"
        assert refused.kind is JournalError, refused
        assert len(self.search.history) == known
        self.search.result()

    def _begin(self) -> Search:
        while not has_begun(self.path):
            try:
                with watched(self.disk):
                    return self.kind.begin(self._seed, self.path)
            except (Crash, JournalError):
                if self.disk.fired is None:
                    raise
            gc.collect()  # the file of the dead process is closed
            self._restart()
        with watched(self.disk):
            return self.kind.resume(self.path)

    def _resume(self) -> None:
        self._restart()
        with watched(self.disk):
            self.search = self.kind.resume(self.path)
        self._offered = list(self.model.pending)

    def _restart(self) -> None:
        """What the disk holds for the next process."""
        fault = self.disk.fired
        if fault is not None:
            self.figures[f"faults: {fault.end}"] += 1
        if fault is not None and fault.end == "power":
            self.path.write_bytes(self.disk.content_after_power_cut(fault.kept))
        self.disk.reopen(self.path.read_bytes())

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

    def _follow(self, event: Event) -> None:
        """Let the model do what an event of a run says."""
        content = event.content
        if event.kind == "ask":
            self.model.ask()
        elif event.kind == "tell":
            proposal = self.model.pending[content["pending"]]
            self.model.tell(proposal, content["reward"], content["noise"])
            self._confirmed.append((proposal.leaf, content["reward"]))
            self.figures["rewards told"] += 1
        elif event.kind == "forget":
            self.model.forget(self.model.pending[content["pending"]], again=content["again"])

    # Checks --------------------------------------------------------------------------------------------

    def _number_of_events(self) -> int:
        """Number of events in the file."""
        return len(read_events(self.path))

    def _require(self, found: Any, expected: Any) -> Any:
        assert found == expected, f"the model answered {expected!r}, the search {found!r}"
        return expected

    def _must_be_none(self, what: str, count: int) -> None:
        self.figures[what] += count
        assert count == 0, f"{what}: {count}"

    def _check_equal(self, search: Search) -> None:
        """The search must know what the model knows."""
        self.figures["states compared"] += 1
        kept = Counter((evaluation.leaf, evaluation.reward) for evaluation in search.history)
        self._must_be_none("rewards lost", (Counter(self._confirmed) - kept).total())
        for one, other in zip(knowledge(search), knowledge(self.model), strict=True):
            assert one == other, f"the model knows {other}, the search {one}"

    def _new_path(self) -> Path:
        self._files += 1
        return self._folder / f"{self._files}.db"


def _outcome(act: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return act()
    except Exception as error:
        return Refusal(type(error), str(error))


def knowledge(search: Search) -> Sequence[Any]:
    """All that decides what a search does next, to the last bit."""
    search.belief(search.problem.root())  # pending leaves are left out of the belief
    graph, count = search.explored.graph, len(search.explored.graph)
    mean, variance = search.explored.scores.moments()
    arrays = (graph.level, graph.visits, graph.closed, graph.count, graph.v_mean, graph.v_var, mean, variance)
    return [
        [(e.leaf, e.actions, e.reward, e.best_reward) for e in search.history],
        list(search.pending),
        graph.states,
        *(array[:count].tolist() for array in arrays),
        search.engine.schedule.state,
        search.engine.learner.standardizer.scale,
        search.rng.bit_generator.state,
    ]
