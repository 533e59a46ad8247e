"""Numbers and probabilities in words."""


def number(value: float | None) -> str:
    """A number with four significant digits, or all digits before the point."""
    if value is None:
        return "unknown"
    return (f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}").replace("-", "−")


def percent(share: float) -> str:
    """A probability."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{100.0 * share:.0f} %"


def counted(count: int, what: str) -> str:
    """Such as ``"1 evaluation"`` or ``"20 evaluations"``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
