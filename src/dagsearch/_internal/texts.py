"""Users' texts, shortened for storage and messages."""

from typing import Any

# Characters that remain at each end of a long text: in storage, and in a message.
_STORED, _SHOWN = 2048, 64


def shortened(text: str, kept: int = _STORED) -> str:
    """The text; if it is long, ``kept`` characters of both ends and the number of characters omitted."""
    left_out = len(text) - 2 * kept
    if left_out <= 0:
        return text
    return f"{text[:kept]} [… {left_out:,} characters …] {text[-kept:]}"


def shown(value: Any, kept: int = _SHOWN) -> str:
    """A user's value in one line of a message, even if its ``repr`` fails or is long."""
    try:
        return shortened(" ".join(repr(value).split()), kept)
    except Exception:  # such as a whole number of more digits than Python converts
        return f"an object of type {type(value).__name__}"


def described(error: BaseException) -> str:
    """Class and message of an error, shortened, even if the message cannot be made."""
    try:
        return shortened(f"{type(error).__name__}: {error}")
    except Exception:
        return type(error).__name__
