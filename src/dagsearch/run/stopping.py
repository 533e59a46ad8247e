"""Rules for stopping before the budget is spent."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

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
    confidence: float | None = None
    """Stop once the best leaf so far is the best of all with this probability, by the model's samples and by
    ``Result.probability_best``, three times in a row, each after 10 % more evaluations."""

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
        if self.confidence is not None and not (is_finite(self.confidence) and 0.0 < self.confidence < 1.0):
            raise ValueError(f"confidence must be between 0 and 1, got {shown(self.confidence)}")

    def rules(self) -> dict[str, float]:
        """The rules that are set, by name, as plain numbers: they may be fractions, or NumPy's."""
        kinds = {"patience": int, "target": float, "seconds": float, "confidence": float}
        return {name: kinds[name](value) for name, value in asdict(self).items() if value is not None}

    def reason(
        self, best_reward: float, since_best: int, seconds: float, probability: Callable[[], float | None]
    ) -> str | None:
        """Name of the first rule that holds, or ``None``; ``probability`` is called only if needed."""
        if self.target is not None and best_reward >= self.target:
            return "target"
        if self.patience is not None and since_best >= self.patience:
            return "patience"
        if self.seconds is not None and seconds >= self.seconds:
            return "seconds"
        if self.confidence is not None:
            known = probability()
            if known is not None and known >= self.confidence:
                return "confidence"
        return None
