"""Texts that others have written, in a size that can be stored and shown."""

# Characters of each end of a long text that are kept.
_KEPT = 2048


def shortened(text: str) -> str:
    """The text; of a long one the beginning and the end, and how much is left out between them."""
    left_out = len(text) - 2 * _KEPT
    if left_out <= 0:
        return text
    return f"{text[:_KEPT]} [… {left_out:,} characters …] {text[-_KEPT:]}"


def described(error: BaseException) -> str:
    """Class and message of an error, shortened, even if the message cannot be made."""
    try:
        return shortened(f"{type(error).__name__}: {error}")
    except Exception:
        return type(error).__name__
