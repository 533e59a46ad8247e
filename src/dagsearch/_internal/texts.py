"""Texts of users, shortened so that they can be stored and shown."""

from typing import Any

# Characters of each end of a long text that are kept: if it is stored, and if it is part of a message.
_STORED, _SHOWN = 2048, 64


def shortened(text: str, kept: int = _STORED) -> str:
    """The text; of a long one ``kept`` characters of both ends, and how much is left out between them."""
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
