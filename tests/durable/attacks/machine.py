"""The rules of the attack, for Hypothesis: any operation in any order, with a fault at any write."""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.durable.attacks.disk import ENDS, MOMENTS, Fault
from tests.durable.attacks.kinds import KINDS
from tests.durable.attacks.selectors import VARIANTS, SelectorWorld
from tests.durable.attacks.steering import BAD, FORGERIES
from tests.durable.attacks.workers import MANNERS, WORKERS, WorkersWorld
from tests.durable.attacks.world import FORKS, World

_NUMBERS = st.integers(0, 10_000)
_REWARDS = st.one_of(
    st.integers(-24, 24).map(lambda eighths: eighths / 8),
    st.sampled_from([0.0, 1e-300, 1e6, -1e6, np.float32(0.1), Decimal("0.25"), True]),
)
_NOISES = st.sampled_from([None, None, 0.01, 0.5])


class _NoNumber:
    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def _endless() -> list[Any]:
    note: list[Any] = []
    note.append(note)
    return note


# By name, because Hypothesis shows what it has drawn, and some of these cannot be shown.
_BAD_REWARDS: dict[str, Any] = {
    "nan": np.nan,
    "infinite": np.inf,
    "minus infinite": -np.inf,
    "too large": 1e101,
    "text": "1.0",
    "nothing": None,
    "complex": 1j,
    "complex of NumPy": np.complex128(1),
    "list": [1.0, 2.0],
    "no number": _NoNumber(),
}
_BAD_NOISES: dict[str, Any] = {
    "negative": -1.0,
    "nan": np.nan,
    "infinite": np.inf,
    "text": "x",
    "list": [0.1],
}
_NOTES: dict[str, Any] = {
    "nothing": None,
    "text": "text",
    "odd characters": "\ud800 \x00 \n \u2028",
    "mapping": {"a": [1, 2.5, None], 3: np.nan},
    "array": np.arange(3),
    "number of NumPy": np.int64(7),
    "set": {1, 2},
    "bytes": b"bytes",
    "large number": 10**5000,
    "no text": _NoNumber(),
    "endless": _endless(),
    "failure": {"failure": "none"},
}
_NOTE = st.sampled_from(list(_NOTES))


def _faults(most: int) -> st.SearchStrategy[Fault]:
    """Faults after at most so many operations on the file."""
    return st.builds(
        Fault,
        after=st.integers(0, most),
        moment=st.sampled_from(MOMENTS),
        end=st.sampled_from(ENDS),
        kept=st.tuples(_NUMBERS, _NUMBERS, _NUMBERS),
    )


_FAULTS, _FAULTS_IN_FIT = _faults(12), _faults(100)


class _Attack(RuleBasedStateMachine):
    """What attacks share; subclasses say what is attacked, and where the figures are counted."""

    name: str
    figures: Counter[str]
    steps: int
    """Number of operations of a sequence."""
    sequences: int
    """Number of sequences that one seed stands for."""
    world: World | SelectorWorld | WorkersWorld

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="dagsearch-attack-"))

    def teardown(self) -> None:
        """Resume a last time, and compare."""
        try:
            if hasattr(self, "world") and sys.exc_info()[0] is None:  # nothing has failed
                self.world.end()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _count(self, rule: str) -> None:
        self.figures["operations"] += 1
        self.figures[f"operations: {rule}"] += 1


class SearchAttack(_Attack):
    """Attacks a search."""

    # Enough for a few resumes within a sequence; in a longer one each resume replays more.
    steps, sequences = 50, 10
    world: World

    @initialize(seed=st.integers(0, 3), fault=st.none() | _FAULTS)
    def begin(self, seed: int, fault: Fault | None) -> None:
        """Begin the search, perhaps with a fault that happens while its journal is made."""
        self.figures["sequences"] += 1
        self.world = World(KINDS[self.name], self._folder, seed, self.figures, fault)

    @rule(fault=_FAULTS)
    def arm(self, fault: Fault) -> None:
        """Let a write fail soon."""
        self.world.disk.arm(fault)

    @rule(count=st.none() | st.integers(1, 4))
    def ask(self, count: int | None) -> None:
        """Ask for one leaf, or for several."""
        self._count("ask")
        self.world.ask(count)

    @rule(index=_NUMBERS, reward=_REWARDS, noise=_NOISES, note=_NOTE, bare=st.booleans())
    def tell(self, index: int, reward: Any, noise: float | None, note: str, bare: bool) -> None:
        """Tell the reward of any pending leaf."""
        self._count("tell")
        self.world.tell_pending(index, reward, noise, _NOTES[note], bare)

    @rule(number=_NUMBERS, reward=_REWARDS, noise=_NOISES, note=_NOTE, bare=st.booleans())
    def tell_stranger(self, number: int, reward: Any, noise: float | None, note: str, bare: bool) -> None:
        """Tell the reward of a leaf that nobody asked for."""
        self._count("tell_stranger")
        self.world.tell_stranger(number, reward, noise, _NOTES[note], bare)

    @rule(index=_NUMBERS, reward=_REWARDS)
    def tell_again(self, index: int, reward: Any) -> None:
        """Tell another reward of a leaf."""
        self._count("tell_again")
        self.world.tell_again(index, reward)

    @rule(number=_NUMBERS, reward=st.sampled_from(list(_BAD_REWARDS)), noise=_NOISES)
    def tell_bad_reward(self, number: int, reward: str, noise: float | None) -> None:
        """Tell what is no reward."""
        self._count("tell_bad_reward")
        self.world.tell_nonsense(number, _BAD_REWARDS[reward], noise)

    @rule(number=_NUMBERS, noise=st.sampled_from(list(_BAD_NOISES)))
    def tell_bad_noise(self, number: int, noise: str) -> None:
        """Tell a reward with what is no variance."""
        self._count("tell_bad_noise")
        self.world.tell_nonsense(number, 1.0, _BAD_NOISES[noise])

    @rule()
    def tell_inner(self) -> None:
        """Tell the reward of what is not a leaf."""
        self._count("tell_inner")
        self.world.tell_inner()

    @rule(number=_NUMBERS)
    def propose(self, number: int) -> None:
        """Make a leaf of the user's choice pending."""
        self._count("propose")
        self.world.propose(number)

    @rule(index=_NUMBERS, again=st.booleans(), note=_NOTE)
    def forget(self, index: int, again: bool, note: str) -> None:
        """Take back a proposal."""
        self._count("forget")
        self.world.forget(index, again, _NOTES[note])

    @rule(note=_NOTE)
    def note(self, note: str) -> None:
        """Write a note."""
        self._count("note")
        self.world.note(_NOTES[note])

    @rule()
    def settle(self) -> None:
        """Learn from rewards that are held back."""
        self._count("settle")
        self.world.settle()

    @rule(budget=st.integers(1, 3), forks=st.none() | st.sampled_from(FORKS))
    def run(self, budget: int, forks: str | None = None) -> None:
        """Let the search evaluate leaves itself; perhaps evaluations fork."""
        self._count("run" if forks is None else "run with forks")
        self.world.run(budget, forks)

    @rule(forgery=st.sampled_from(list(FORGERIES) or ["none"]), budget=st.integers(1, 3))
    def run_with_forged_steering(self, forgery: str, budget: int) -> None:
        """Let a run that takes requests find a steering file that it must not use."""
        self._count("run_with_forged_steering")
        self.world.run_with_forged_steering(forgery, budget)

    @rule(
        bad=st.lists(st.sampled_from(list(BAD)), max_size=2),
        action=st.sampled_from(["propose", "tell", "stop", "budget", "pause", "forget", "half a line"]),
        number=_NUMBERS,
        budget=st.integers(1, 3),
        deleted=st.booleans(),
    )
    def run_steered(self, bad: list[str], action: str, number: int, budget: int, deleted: bool) -> None:
        """Let a run take requests, some of which no search can carry out."""
        self._count("run_steered")
        self.world.run_steered(bad, action, number, budget, deleted)

    @rule()
    def look(self) -> None:
        """Read what the search knows."""
        self._count("look")
        self.world.look()

    @rule()
    def close_and_resume(self) -> None:
        """End properly, and continue."""
        self._count("close_and_resume")
        self.world.close_and_resume()

    @rule(number=_NUMBERS, text=st.sampled_from([None, None, b"text", b"\n{}\n"]))
    def zero(self, number: int, text: bytes | None) -> None:
        """Let zeros take the place of the file's beginning."""
        self._count("zero")
        self.world.zero(number, text)

    @rule()
    def open_twice(self) -> None:
        """Try to open the journal a second time."""
        self._count("open_twice")
        self.world.open_twice()

    @rule(by_backup=st.booleans(), move=st.booleans())
    def copy(self, by_backup: bool, move: bool) -> None:
        """Resume a copy of the file."""
        self._count("copy")
        self.world.copy(by_backup, move)


class SelectorAttack(_Attack):
    """Attacks a feature selector, each of whose operations is a whole fit."""

    steps, sequences = 8, 3
    world: SelectorWorld

    @initialize(fault=st.none() | _FAULTS)
    def begin(self, fault: Fault | None) -> None:
        """Begin, perhaps with a fault in the first fit."""
        self.figures["sequences"] += 1
        self.world = SelectorWorld(self.name, self._folder, self.figures)
        if fault is not None:
            self.world.disk.arm(fault)

    @rule(more=st.integers(0, 1), fault=st.none() | _FAULTS_IN_FIT)
    def fit(self, more: int, fault: Fault | None) -> None:
        """Fit, perhaps with a fault."""
        self._count("fit")
        if fault is not None:
            self.world.disk.arm(fault)
        self.world.fit(more)

    @rule(more=st.integers(0, 1), steps=st.integers(1, 16))
    def stop(self, more: int, steps: int) -> None:
        """Let a callback end a fit."""
        self._count("stop")
        self.world.stop(more, steps)

    @rule()
    def open_twice(self) -> None:
        """Fit, and try to fit a second selector meanwhile."""
        self._count("open_twice")
        self.world.open_twice()

    @rule()
    def other_data(self) -> None:
        """Fit to other data."""
        self._count("other_data")
        self.world.other_data()

    @rule(by_backup=st.booleans())
    def copy(self, by_backup: bool) -> None:
        """Move to a copy of the file."""
        self._count("copy")
        self.world.copy(by_backup)


class WorkersAttack(_Attack):
    """Attacks worker processes."""

    steps, sequences = 10, 3
    world: WorkersWorld

    @initialize()
    def begin(self) -> None:
        """Begin; processes start when there is work."""
        self.figures["sequences"] += 1
        self.world = WorkersWorld(self._folder, self.figures)

    @rule(manners=st.lists(st.tuples(st.sampled_from(MANNERS), st.booleans()), min_size=1, max_size=4))
    def evaluate(self, manners: list[tuple[str, bool]]) -> None:
        """Evaluate leaves at once."""
        self._count("evaluate")
        self.world.evaluate(manners)

    def teardown(self) -> None:
        """End the processes, too."""
        try:
            super().teardown()
        finally:
            if hasattr(self, "world"):
                self.world.close()


def kinds_installed() -> list[str]:
    """The kinds of search and selector that can be attacked with what is installed."""
    searches = [name for name, kind in KINDS.items() if importlib.util.find_spec(kind.needs) is not None]
    return [*searches, *VARIANTS, *([WORKERS] if hasattr(os, "fork") else [])]


def machine_of(name: str, figures: Counter[str]) -> type[SearchAttack | SelectorAttack | WorkersAttack]:
    """The machine that attacks a kind of search or selector, and counts in ``figures``."""
    special = {WORKERS: WorkersAttack, **dict.fromkeys(VARIANTS, SelectorAttack)}
    base = special.get(name, SearchAttack)
    return type("Machine", (base,), {"name": name, "figures": figures})
