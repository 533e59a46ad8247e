"""What the user can ask a running search to do, and what that has changed."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dagsearch._internal.checks import is_budget
from dagsearch.problem import State

ACTIONS = ("pause", "continue", "stop", "budget", "forget", "propose", "tell")
"""What can be asked for."""


class Request(NamedTuple):
    """Something that the user asks a running search to do."""

    name: str
    """Identifies the request; it is carried out once, even if the search is resumed in between."""
    action: str
    """One of :data:`ACTIONS`."""
    value: Any
    """What the action needs, in JSON types: the budget; the leaf; the leaf and its reward; or ``None``."""
    leaf: State = None
    """The leaf of ``"forget"``, ``"propose"`` and ``"tell"``."""
    error: str | None = None
    """Why the request cannot be read; ``None`` if it can."""

    @property
    def note(self) -> dict[str, str]:
        """The note of an event that carries out the request."""
        return {"steer": self.name}


@dataclass
class Steered:
    """What requests have changed, as far as a resumed search has to know it."""

    paused: bool = False
    """Whether no evaluation is started until the user says so."""
    budgets: dict[int, int] = field(default_factory=dict)
    """New number of evaluations, by the number that it replaces; without rewards that were known."""

    def begin(self, steer: bool) -> None:
        """A run begins. One that takes no requests could never be told to continue: it is not paused."""
        self.paused = self.paused and steer

    def take(self, action: str, value: Any, known: int) -> None:
        """Take over the effect of a request that lasts; ``known`` rewards do not count as evaluations."""
        if action in ("pause", "continue"):
            self.paused = action == "pause"
        elif action == "budget" and isinstance(value, dict):
            now, instead = value.get("now", 0), value.get("instead", 0)
            if is_budget(now) and is_budget(instead):
                now, instead = max(1, now - known), instead - known
                self.budgets[instead] = now
                self.budgets.pop(now, None)  # back to an earlier budget

    def total(self, budget: int) -> int:
        """The number of evaluations that the user wants now where a script says ``budget``."""
        while budget in self.budgets:
            budget = self.budgets[budget]
        return budget
