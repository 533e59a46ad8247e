"""Rules for stopping before the budget is spent."""

from collections.abc import Callable
from dataclasses import dataclass

from dagsearch._internal.checks import check, is_budget, is_finite, is_positive


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
        patience, target, seconds, tolerance = self.patience, self.target, self.seconds, self.tolerance
        whole = "a positive whole number (below 2**63)"
        check(patience is None or is_budget(patience), "patience", whole, patience)
        check(target is None or is_finite(target), "target", "a finite number", target)
        check(seconds is None or is_positive(seconds), "seconds", "positive and finite", seconds)
        sound = tolerance is None or (is_finite(tolerance) and tolerance >= 0.0)
        check(sound, "tolerance", "finite and not negative", tolerance)

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
