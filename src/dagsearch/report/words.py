"""Numbers, time spans and probabilities in words."""

import math

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None) -> str:
    """A number with four significant digits, or all digits before the point; as the page's script does."""
    if value is None:
        return "unknown"
    if value != 0.0 and not 1e-4 <= abs(value) < 1e12:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits.replace('-', '−')} · 10{str(int(power)).translate(_RAISED)}"
    return (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}").replace("-", "−")


def with_error(mean: float, variance: float) -> str:
    """A mean and its standard deviation, with two digits of the latter."""
    deviation = variance**0.5
    if not 1e-4 < deviation < 1e4:
        return f"{number(mean)} ± {number(deviation)}"
    digits = max(0, 1 - math.floor(math.log10(deviation)))
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}".replace("-", "−")


def duration(seconds: float) -> str:
    """A time span, rounded."""
    if seconds < 90.0:
        return f"{seconds:.1f} s" if 0.05 <= seconds < 10.0 else f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h" if seconds < 172800.0 else f"{seconds / 86400.0:.0f} days"


def percent(share: float) -> str:
    """A probability."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{100.0 * share:.0f} %"


def counted(count: int, what: str) -> str:
    """Such as ``"1 evaluation"`` or ``"20 evaluations"``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
