"""Rules for stopping before the budget is spent."""

from collections.abc import Callable
from dataclasses import dataclass

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget, is_finite
from dagsearch._internal.texts import shown


@dataclass(frozen=True)
class Stop:
    """Rules for stopping before the budget is spent; the first that holds ends the run."""

    patience: int | None = None
    """Stop after this number of evaluations in a row without a better reward."""
    target: float | None = None
    """Stop once a reward is at least this large."""
    seconds: float | None = None
    """Stop after this number of seconds; evaluations that have begun are finished."""
    tolerance: float | None = None
    """Stop once the forecast's upper limit for the rest of the budget is a gain of less than this."""

    def __post_init__(self) -> None:
        if self.patience is not None and not is_budget(self.patience):
            raise ValueError(
                f"patience must be a positive whole number of at most {LARGEST_WHOLE}, got "
                f"{shown(self.patience)}"
            )
        if self.target is not None and not is_finite(self.target):
            raise ValueError(f"target must be a finite number, got {shown(self.target)}")
        if self.seconds is not None and (not is_finite(self.seconds) or self.seconds <= 0.0):
            raise ValueError(f"seconds must be positive and finite, got {shown(self.seconds)}")
        if self.tolerance is not None and (not is_finite(self.tolerance) or self.tolerance < 0.0):
            raise ValueError(f"tolerance must be finite and not negative, got {shown(self.tolerance)}")

    def reason(
        self, best_reward: float, since_best: int, seconds: float, most_to_gain: Callable[[], float | None]
    ) -> str | None:
        """Name of the first rule that holds, or ``None``; ``most_to_gain`` is called only if needed."""
        if self.target is not None and best_reward >= self.target:
            return "target"
        if self.patience is not None and since_best >= self.patience:
            return "patience"
        if self.seconds is not None and seconds >= self.seconds:
            return "seconds"
        gain = None if self.tolerance is None else most_to_gain()
        if self.tolerance is not None and gain is not None and gain < self.tolerance:
            return "tolerance"
        return None
