"""Proposers: ways to choose the next leaf."""

from dagsearch.proposers.base import Proposer, View
from dagsearch.proposers.climb import Climb
from dagsearch.proposers.descent import Descent
from dagsearch.proposers.nearby import Nearby, Random
from dagsearch.proposers.portfolio import Portfolio

__all__ = ["Climb", "Descent", "Nearby", "Portfolio", "Proposer", "Random", "View"]
