"""The problem, examined once."""

from dagsearch.problem import Coding
from dagsearch.space.space import Space

__all__ = ["Coding", "Space"]
