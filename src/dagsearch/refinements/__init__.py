"""Beyond the paper: leaves near good ones, proofs, the optimum."""

from dagsearch.refinements.base import Refinement
from dagsearch.refinements.regrow import Regrow
from dagsearch.refinements.swaps import Swaps

__all__ = ["Refinement", "Regrow", "Swaps"]
