"""The state of a search in one sentence."""

from dagsearch.forecasts import Forecast

# An improvement with a smaller probability is not to be expected.
_HARDLY = 0.05
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None) -> str:
    """A number with four significant digits, or all digits before the point; as the page's script does."""
    if value is None:
        return "unknown"
    if value != 0.0 and not 1e-4 <= abs(value) < 1e12:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits.replace('-', '−')} · 10{str(int(power)).translate(_RAISED)}"
    return (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}").replace("-", "−")


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


def sentence(
    best: float | None,
    step: int,
    evaluations: int,
    ago: float | None,
    left: int | None,
    ahead: Forecast | None,
    seconds_left: float | None,
    state: str,
    over: bool = False,
    noisy: bool = False,
) -> str:
    """Best so far, since when, what is still expected, and how long it will take.

    Parameters
    ----------
    best : float or None
        Best reward as shown to the user; ``None`` before the first reward.
    step, evaluations : int
        Number of the best evaluation, and of all.
    ago : float or None
        Seconds since the best reward; ``None`` if the search does not go on.
    left : int or None
        Number of evaluations that are left of the budget.
    ahead : Forecast or None
        The best reward after these or the next of them, in the sign of ``best``.
    seconds_left : float or None
        Seconds that they will take.
    state : str
        What the search does now, such as ``"running"``.
    over : bool
        Whether nothing is left to evaluate, so that the best is the best of all.
    noisy : bool
        Whether ``best`` is the mean reward of the recommended leaf.
    """
    if best is None:
        return f"No reward yet ({state})."
    since = f", {duration(ago)} ago" if ago is not None else ""
    what = "Best mean so far" if noisy else "Best" if over else "Best so far"
    text = f"{what} {number(best)}, found by evaluation {step} of {evaluations}{since}"
    rest = "the evaluation that is left" if left == 1 else f"the {left} evaluations that are left"
    if left and ahead is not None and ahead.evaluations < left:
        rest = f"the next {ahead.evaluations} of the {left} evaluations that are left"
    if left and ahead is not None and ahead.chance < _HARDLY:
        text += f"; {rest} will hardly improve it (probability {percent(ahead.chance)})"
    elif left and ahead is not None:
        text += (
            f"; {rest} should bring it to {number(ahead.mean)} (90 % interval {number(ahead.low)} to "
            f"{number(ahead.high)}), and improve it at all with a probability of {percent(ahead.chance)}"
        )
    elif left:
        text += f"; {count_left(left)}"
    return ended(text, left, seconds_left, state)


def count_left(left: int) -> str:
    """How many evaluations are left."""
    return f"{left} {'evaluation is' if left == 1 else 'evaluations are'} left"


def ended(text: str, left: int | None, seconds_left: float | None, state: str) -> str:
    """The sentence with its end: the time that is left, and the state if it is an unusual one."""
    if left and seconds_left is not None and state == "running":
        text += f", in about {duration(seconds_left)}"
    return f"{text}." if state in ("running", "ended") else f"{text} ({state})."
