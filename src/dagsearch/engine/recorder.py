"""What a search reports while it runs, so that somebody may keep a record of it."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from dagsearch.covariances import Covariance
from dagsearch.problem import Action, State
from dagsearch.results import Proposal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dagsearch.engine.engine import Told

_NOTHING = nullcontext()


class Recorder:
    """Keeps no record. :class:`dagsearch.durable.recorder.JournalRecorder` writes a journal.

    Reports about an event come before the search acts on it, except for :meth:`asked`: what a search decided
    is known only afterwards. An event is thus recorded before its consequences can be seen.
    """

    broken = False
    """Whether an event could not be recorded, so that the search must not go on."""
    keeps_pending = False
    """Whether pending proposals outlive the process."""

    def deciding(self) -> AbstractContextManager[None]:
        """While entered, the search does something that is recorded as a whole, or not at all."""
        return _NOTHING

    def repeating(self) -> AbstractContextManager[None]:
        """:meth:`deciding` for an event that, when repeated, makes its changes to the DAG again."""
        return _NOTHING

    def asked(self, proposal: Proposal) -> None:
        """A leaf was chosen."""

    def proposed(self, actions: "Sequence[Action]") -> None:
        """The user proposes the leaf that ``actions`` lead to."""

    def told(self, told: "Told", note: Any) -> None:
        """A reward has come."""

    def forgotten(self, index: int, again: bool, note: Any) -> None:
        """A pending proposal is taken back."""

    def settled(self) -> None:
        """Rewards are no longer held back."""

    def rerooted(self, state: State) -> None:
        """The search moves to another root."""

    def running(self, budget: int) -> None:
        """A run begins that ends with ``budget`` rewards in total."""

    def noted(self, note: Any) -> None:
        """The user adds something of their own."""

    def learnt(self, covariance: Covariance, noise: float) -> None:
        """New hyperparameters have been found."""

    def dag_changed(self, kind: str, *details: Any) -> None:
        """The explored DAG has changed."""

    def close(self) -> None:
        """No further event will be reported."""
