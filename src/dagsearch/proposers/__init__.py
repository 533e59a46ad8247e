"""Beyond the paper: leaves near good ones, proofs, the optimum."""

from dagsearch.proposers.base import Outcomes, Refinement
from dagsearch.proposers.climb import Climb
from dagsearch.proposers.nearby import Nearby
from dagsearch.proposers.regrow import Regrow
from dagsearch.proposers.swaps import Swaps

__all__ = ["Climb", "Nearby", "Outcomes", "Refinement", "Regrow", "Swaps"]
