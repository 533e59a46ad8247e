"""A search with a journal on a disk that fails, and its model: the same search without either."""

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dagsearch.errors import JournalError
from dagsearch.journal.journal import has_begun, read_events
from dagsearch.problem import State
from dagsearch.results import Proposal
from dagsearch.search import Search
from tests.durable.attacks.disk import Crash, Disk, Fault
from tests.durable.attacks.kinds import Kind
from tests.durable.crashes.layer import watched


class Refusal(NamedTuple):
    """An error that an operation ended with."""

    kind: type[BaseException]
    message: str


class Pair:
    """A search that is attacked, and its model; how the first is resumed and compared with the second.

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
        self._freed = set[State]()  # taken back, so that they may be asked for again though they were told
        self._files = 0
        self.path = self._new_path()
        if fault is not None:
            self.disk.arm(fault)
        self.search = self._begin()
        self._check_equal(self.search)

    def _attempt(self, act: Callable[[], Any]) -> Any:
        """The outcome of an operation of the attacked search, which is resumed if a fault interrupts it."""
        self._was_interrupted = False
        before = self._number_of_events()
        try:
            found = outcome_of(act)
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
        self._close_and_resume(before)
        return None

    def _close_and_resume(self, events: int) -> None:
        """Close the search, and resume it from its file, which held so many ``events``.

        Asks do not wait for the disk. If a power cut has lost some, the search must ask for the same leaves
        again.
        """
        with suppress(Crash):
            self.search.close()
        self._resume()
        lost = events - self._number_of_events()
        if lost > 0:
            self.figures["asks repeated after a power cut"] += lost
            for _ in self.search.pending:
                self.search.ask()  # these are offered again
            while self._number_of_events() < events:
                self.search.ask()
            self.search.close()
            self._resume()

    def _check_stopped(self, found: Any) -> None:
        """A search that cannot write must say so, and learn nothing more."""
        assert isinstance(found, Refusal), f"a write failed, and the search went on: {found!r}"
        assert found.kind is JournalError, found
        known = len(self.search.history)
        leaf, _ = self.kind.random_leaf(0)
        refused = outcome_of(lambda: self.search.tell(leaf, 1.0))
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
            self.disk.restart(self.path, self.figures)
        self.figures["resumes"] += 1
        with watched(self.disk):
            return self.kind.resume(self.path)

    def _resume(self) -> None:
        while True:
            self.disk.restart(self.path, self.figures)
            self.figures["resumes"] += 1
            try:
                with watched(self.disk):
                    self.search = self.kind.resume(self.path)
                break
            except (Crash, JournalError):  # it may write what it had to learn again
                if self.disk.fired is None:
                    raise
            gc.collect()  # the file of the dead process is closed
        self._offered = list(self.model.pending)

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


def outcome_of(act: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return act()
    except Exception as error:
        return Refusal(type(error), str(error))


def knowledge(search: Search) -> Sequence[Any]:
    """All that decides what a search does next, to the last bit."""
    search.belief(search.problem.root())  # pending leaves are left out of the belief
    index = search.index
    arrays: list[Any] = [index.table.closed]
    if search.explored is not None:
        search.explored.outdated()  # as before the next decision: new leaves may prove values
        graph = search.values.graph
        arrays += [graph.level, graph.visits, graph.count, graph.v_mean, graph.v_var]
    index.scores.refresh()
    arrays += index.scores.moments()
    return [
        [(e.leaf, e.actions, e.reward, e.best_reward) for e in search.history],
        list(search.pending),
        index.states,
        *(array[: len(index.states)].tolist() for array in arrays),
        search.portfolio.state,
        tuple(search.posterior.units),
        search.asked,
    ]
