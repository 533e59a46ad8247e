"""Beyond the paper: leaves near good ones, proofs, the optimum."""

from dagsearch.refinements.base import Outcomes, Refinement
from dagsearch.refinements.climb import Climb
from dagsearch.refinements.nearby import Nearby
from dagsearch.refinements.regrow import Regrow
from dagsearch.refinements.swaps import Swaps

__all__ = ["Climb", "Nearby", "Outcomes", "Refinement", "Regrow", "Swaps"]
