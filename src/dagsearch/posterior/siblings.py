"""Whitened covariances of all children of a node, kept from one look at them to the next, within a budget.

A descent looks at the children of the same few nodes again and again, and their features do not change: of
L⁻¹Σ_Zx only the rows of anchors Z that are new since the last look must be computed.
"""

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.problem import Children

# Nodes whose children are kept, and numbers in all: 64 MB.
_MOST_FAMILIES, _MOST_NUMBERS = 64, 2**23


class Siblings:
    """Whitened covariances of all children of a node with the first anchors.

    Anchors are added in whole blocks, so that the last digit does not depend on when there was a look.
    """

    def __init__(self, children: Children, kept: bool) -> None:
        count = len(children.actions)
        self.children = children
        self.kept = kept
        """Whether the cache keeps them."""
        self.anchors = 0
        """Number of anchors that are known."""
        self.prior = np.zeros(count)
        """Prior variance of each child without its private part."""
        self.whitened = np.zeros((0, count))
        """φ = L⁻¹ Σ_Zx, shape ``(anchors, children)``."""
        self.gain, self.explained = np.zeros(count), np.zeros(count)
        """φ·ω and φ·φ of each child."""

    def learn(self, rows: FloatArray, weights: FloatArray) -> None:
        """Append rows of φ, and their ω."""
        self.whitened = np.concatenate([self.whitened, rows])
        self.gain = self.gain + weights @ rows
        self.explained = self.explained + np.einsum("ij,ij->j", rows, rows)
        self.anchors += len(rows)


class SiblingCache:
    """The children of the nodes that were looked at last."""

    def __init__(self) -> None:
        self.families: dict[int, Siblings] = {}
        """By parent; those looked at last come last."""
        self.numbers = 0
        """Size of φ of all of them."""

    def of(self, children: Children, node: int | None, anchors: int) -> Siblings:
        """What is known of a node's children; nothing if ``node`` is ``None`` or they exceed the budget."""
        if node is None:
            return Siblings(children, kept=False)
        siblings = self.families.pop(node, None) or Siblings(children, kept=True)
        if anchors * siblings.prior.size > _MOST_NUMBERS:
            self.numbers -= siblings.whitened.size
            return Siblings(children, kept=False)
        self.families[node] = siblings
        while len(self.families) > (_MOST_FAMILIES if self.numbers <= _MOST_NUMBERS else 1):
            self.numbers -= self.families.pop(next(iter(self.families))).whitened.size
        return siblings

    def learn(self, siblings: Siblings, rows: FloatArray, weights: FloatArray) -> None:
        """:meth:`Siblings.learn`, counted."""
        siblings.learn(rows, weights)
        self.numbers += rows.size if siblings.kept else 0
