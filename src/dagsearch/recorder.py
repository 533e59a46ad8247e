"""The events that a search reports while it runs, for a record of it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from dagsearch.covariances import Covariance
from dagsearch.problem import Action, State
from dagsearch.results import Evaluation, Proposal

_NOTHING = nullcontext()


class Recorder:
    """Keeps no record. :class:`dagsearch.journal.recorder.JournalRecorder` writes a journal.

    A search reports an event before it acts on it. The exception is :meth:`asked`, because a decision is
    known only after it was made. So an event is recorded before its consequences can be seen.
    """

    broken = False
    """Whether an event could not be recorded, so that the search must not continue."""
    path = Path()
    """The record's file, if there is one."""
    steering: Any = None
    """What requests of the user have changed, as far as a resumed search has to know it."""
    keeps_pending = False
    """Whether the record keeps pending proposals after the process ends."""

    def deciding(self) -> AbstractContextManager[None]:
        """While entered, the search changes in a way that is recorded completely or not at all."""
        return _NOTHING

    def asked(self, proposal: Proposal) -> None:
        """A leaf was chosen."""

    def proposed(self, leaf: State, actions: Sequence[Action], note: Any) -> None:
        """The user proposes a leaf, to which ``actions`` lead."""

    def told(
        self, evaluation: Evaluation, proposal: Proposal | None, pending: int | None, outcome: Any, note: Any
    ) -> None:
        """A reward was told, for the proposal number ``pending`` of those that are pending.

        ``outcome`` is the reward's noise variance, if it was told; with costly steps, the step.
        """

    def forgotten(self, index: int, again: bool, note: Any, leaf: State = None) -> None:
        """A pending proposal is taken back."""

    def untold(self, leaf: State, again: bool, note: Any) -> None:
        """Every reward of a leaf is taken back."""

    def settled(self, exhausted: bool) -> None:
        """Rewards are no longer held back; if ``exhausted``, because an ask has found no leaf."""

    def running(self, budget: int, rules: Mapping[str, Any], steer: bool) -> None:
        """A run begins that ends with ``budget`` rewards in total, or earlier by one of the ``rules``.

        ``steer`` says whether it takes the user's :meth:`requests`.
        """

    def requests(self) -> Sequence[Any]:
        """What the user asks the search to do, since the last call."""
        return ()

    def steered(self, action: str, value: Any, request: str, refused: str | None) -> None:
        """A request was taken, and refused if ``refused`` says why."""

    def noted(self, note: Any) -> None:
        """The user adds a note."""

    def learnt(self, covariance: Covariance, noise: float) -> None:
        """New hyperparameters have been found."""

    def close(self) -> None:
        """No further event will be reported."""
