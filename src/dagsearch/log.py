"""What a search reports while it runs, for a log of it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import Any

from dagsearch.covariances import Covariance
from dagsearch.problem import State
from dagsearch.results import Evaluation, Proposal

_NOTHING = nullcontext()


class Log:
    """Keeps nothing. :class:`dagsearch.storage.log.RunLog` writes to a database, and reads what others write.

    A search reports an event before it acts on it, so that an event is stored before its consequences can be
    seen. Methods that return a bool say whether the event counts: another process may have been faster.
    """

    steering: Any = None
    """What the users of a stored run have asked for; ``None`` without storage."""
    began = 0
    """Number of the event with which the run of this process began."""
    overtaken = False
    """Whether another process has just taken over what this one wanted to."""
    broken: str | None = None
    """Why the search must not continue: it may differ from its log."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def catch_up(self) -> None:
        """Let the search know what other processes have asked and told since the last call."""

    def take_over(self) -> Proposal | None:
        """A pending proposal whose process has ended, from now on a proposal of this process.

        If another process was faster to take one over, ``overtaken`` is true: less is left of the budget.
        """
        return None

    def is_elsewhere(self, proposal: Proposal) -> bool:
        """Whether another process that is at work evaluates a pending proposal."""
        return False

    def deciding(self) -> AbstractContextManager[None]:
        """While entered, the search changes in a way that is logged completely or not at all."""
        return _NOTHING

    def asked(self, proposal: Proposal, draws: int | None, note: Any = None) -> int | None:
        """The number of the proposal that draws from ``default_rng([seed, draws])``.

        ``None`` if another process has made it already. ``draws`` is ``None`` if a user has chosen the leaf.
        """
        return next(self._numbers)

    def told(
        self,
        evaluation: Evaluation,
        proposal: Proposal | None,
        outcome: Any,
        note: Any,
        by_leaf: bool = False,
    ) -> bool:
        """A reward is told, perhaps of a pending proposal; ``by_leaf`` if only its leaf was named.

        ``outcome`` is the reward's noise variance, if it was told; with costly steps, the step.
        """
        return True

    def forgotten(self, proposal: Proposal, again: bool, note: Any, leaf: State = None) -> bool:
        """A pending proposal is taken back; ``leaf`` has failed instead, if it is another one."""
        return True

    def untold(self, leaf: State, again: bool, note: Any) -> None:
        """Every reward of a leaf is taken back."""

    def settled(self, exhausted: bool) -> None:
        """Rewards are no longer held back; if ``exhausted``, because an ask has found no leaf."""

    def learning(self) -> Mapping[str, Any] | None:
        """What a log says was learnt now, empty if nothing was; ``None`` if the search is to say so."""
        return None

    def learnt(self, covariance: Covariance, noise: float) -> None:
        """New hyperparameters have been found."""

    def noted(self, note: Any) -> None:
        """The user adds a note."""

    def begun(self, budget: float, rules: Mapping[str, Any], lost_after: float | None) -> None:
        """A run begins that ends with ``budget`` evaluations in total, or earlier by one of the ``rules``."""

    def ended(self, reason: str) -> None:
        """The run ends."""

    def close(self) -> None:
        """No further event will be reported."""
