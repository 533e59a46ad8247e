"""The problem, examined once."""

from dagsearch.space.codes import Coding
from dagsearch.space.space import Space

__all__ = ["Coding", "Space"]
