"""Sets as vectors of inclusion probabilities; the notation is that of :mod:`dagsearch.covariances.vector`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.items import GivenMatrix, Nearness, Relevance
from dagsearch.covariances.rows import Rows
from dagsearch.covariances.vector import VectorKernel
from dagsearch.errors import CovarianceError
from dagsearch.problem import Capabilities, Families, Inclusion, Problem, State

# With fewer items, dense products are cheaper than splitting rows into a level and entries.
_MANY_ITEMS = 128
# With more items, rows are only about those that can be chosen.
_WIDE = 500
# A number whose exponential is still far from overflowing.
_LARGE = 600.0


@compiled
def _add_items(
    family: IntArray,
    items: IntArray,
    added: FloatArray,
    base: FloatArray,
    own_common: FloatArray,
    smooth_common: FloatArray,
    others: FloatArray,
    diagonal: FloatArray,
    bias: float,
    linear: float,
    trend: FloatArray,
    apart: FloatArray,
) -> FloatArray:
    """Squared norms of children that each add one item to the common row of their family.

    Writes bias + linear · G with the ``prepared`` others to ``trend`` and the squared distances from them to
    ``apart``, both of shape ``(others, children)``.
    """
    own, more = np.empty(family.size), np.empty(family.size)
    # Unsigned, so that the compiled loop does not check for negative indices.
    at, of = items.astype(np.uint64), family.astype(np.uint64)
    for i in range(family.size):
        f, item = of[i], at[i]
        more[i] = added[f]
        own[i] = own_common[f] + added[f] * (2.0 * smooth_common[f, item] + added[f] * diagonal[item])
    for j in range(others.shape[0]):
        row, in_common, norm = others[j], base[j], others[j, diagonal.size]
        for i in range(family.size):
            product = in_common[of[i]] + more[i] * row[at[i]]
            trend[j, i] = bias + linear * product
            apart[j, i] = own[i] + norm - 2.0 * product
    return own


class SetKernel(VectorKernel):
    """Subsets as vectors of inclusion probabilities, with a kernel between items.

    A partial subset is a distribution over its completions: a chosen item counts 1, any other item the
    probability that random play includes it. So g of a partial subset is the expected reward of random play
    from it. Two subsets are alike if their items are.

    Parameters
    ----------
    between_items : Nearness, Relevance or matrix, optional
        How alike items are: :class:`Nearness` for items that have positions, :class:`Relevance` for items
        that are known to matter more or less, or a positive semi-definite matrix such as
        :func:`dagsearch.covariances.correlation` of a table's columns. By default an item is like itself
        only.
    linear, nonlinear : float
        Variance, over random leaves, of the linear trend and of the remainder; learnt, unless 0.
    length : float
        Distance over which the remainder falls off; random leaves are sqrt(2) apart. Learnt.
    shape : str
        One of ``"squared-exponential"``, ``"matern-5/2"``, ``"matern-3/2"``.
    bias : float
        Variance of a constant that all subsets share.
    private : float
        Variance of an independent offset of every subset; learnt, unless 0.

    Examples
    --------
    >>> from dagsearch.problems import Subsets
    >>> problem = Subsets(6, 2, reward=sum)
    >>> kernel = SetKernel(Nearness([[0], [1], [2], [3], [4], [5]])).bind(problem)
    >>> near, far = kernel([frozenset({0, 4})], [frozenset({1, 4}), frozenset({2, 5})])[0]
    >>> bool(near > far)
    True
    """

    def __init__(
        self,
        between_items: Nearness | Relevance | ArrayLike | None = None,
        *,
        linear: float = 0.5,
        nonlinear: float = 0.5,
        length: float = 1.0,
        shape: str = "squared-exponential",
        bias: float = 1.0,
        private: float = 0.02,
    ) -> None:
        between: Nearness | Relevance | GivenMatrix | None
        if between_items is None or isinstance(between_items, (Nearness, Relevance)):
            between = between_items
        else:
            between = GivenMatrix(between_items)
        self._problem: Any = None
        self._kept: IntArray | None = None  # items that rows are about, if they are few; else all
        super().__init__(
            between,
            linear=linear,
            nonlinear=nonlinear,
            length=length,
            shape=shape,
            bias=bias,
            private=private,
        )

    def _bind(self, problem: Problem) -> None:
        inclusion = Capabilities(problem).inclusion
        if inclusion is None:
            raise CovarianceError(
                "SetKernel needs inclusion(states), the probability that random play includes each item, but "
                f"{type(problem).__name__} does not have it. Use problems.Subsets, or another covariance"
            )
        self._problem = problem
        center = np.asarray(inclusion([problem.root()]))[0]
        free = np.flatnonzero((center > 0.0) & (center < 1.0))
        # Items that are in all subsets or in none distinguish no subsets.
        self._kept = free if 0 < free.size < center.size and center.size > _WIDE else None
        if self._between is not None:
            items = len(self._between)
            if self._kept is not None and items == center.size:
                self._between = self._between.restricted(self._kept)
            elif items != (center if self._kept is None else self._kept).size:
                raise CovarianceError(
                    f"between_items must have one row per item: it has {items} rows, but "
                    f"{type(problem).__name__} has {center.size} items"
                )

    def _mean_row(self, problem: Problem, rows: FloatArray) -> FloatArray:
        center = np.asarray(self.represent([problem.root()])[0], dtype=np.float64)
        free = ((center > 0.0) & (center < 1.0)).astype(np.float64)
        self._mask = free if center.size > _MANY_ITEMS else None
        return center

    def represent(self, states: Sequence[State]) -> Rows:
        if self._problem is None:
            raise CovarianceError(
                "SetKernel is not bound to a problem: call SetKernel(...).bind(problem) first"
            )
        rows = np.asarray(self._problem.inclusion(states), dtype=np.float64)
        return rows if self._kept is None else rows[:, self._kept]

    def _inclusion(self, families: Families) -> Inclusion | None:
        """Inclusion probabilities of children, of the items that rows are about."""
        known = families.inclusion
        if known is None or self._kept is None:
            return known
        place = np.zeros(known.common.shape[1], dtype=np.int64)
        place[self._kept] = np.arange(self._kept.size)
        return known._replace(common=known.common[:, self._kept], item=place[known.item])

    def prepared(self, rows: Rows) -> Rows:
        """K(x − x̄), then the squared norm, then e^(K(x − x̄) / 2ℓ²) for :meth:`sums_of_children`."""
        found = super().prepared(rows)
        raised = np.exp(np.minimum(found[:, :-1] / (2.0 * self.length**2), _LARGE))
        return np.concatenate([found, raised], axis=1)

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        known = self._inclusion(families)
        if known is None:
            return super().of_children(families, others, places)
        if not known.single:
            rows = known.common[known.family]
            rows[known.child, known.item] += known.added[known.family[known.child]]
            return self.of_rows(rows if places is None else rows[places], others)
        family, items = known.family, known.item
        if places is not None:
            family, items = family[places], items[places]
        base, smooth_common, own_common = self._compared(known.common, others)
        trend, apart = np.empty((2, len(others), family.size))
        own = _add_items(
            family,
            items,
            known.added,
            base,
            own_common,
            smooth_common,
            others,
            self._diagonal,
            self.bias,
            self.linear,
            trend,
            apart,
        )
        return self._with_remainder(trend, apart).T, self.bias + self.linear * own + self.nonlinear

    def sums_of_children(self, families: Families, others: Rows, weights: FloatArray) -> FloatArray:
        """If all children are leaves that add one item, no exponential for every pair is needed.

        With c common to a family and eᵢ the item, ‖c + eᵢ − y‖² = ‖c + eᵢ‖² + ‖y‖² − 2cᵀKy − 2(Ky)ᵢ. The only
        factor of its exponential that depends on both y and i is that of (Ky)ᵢ. It does not depend on the
        family, and :meth:`prepared` has computed it.
        """
        known = self._inclusion(families)
        if not self._falloff.separable or known is None or not known.single or known.added.min() < 1.0:
            return super().sums_of_children(families, others, weights)
        base, smooth_common, own_common = self._compared(known.common, others)
        items = len(self._center)
        smooth, norms, raised = others[:, :items], others[:, items], others[:, items + 1 :]
        own = own_common[:, None] + 2.0 * smooth_common + self._diagonal
        sharpness = 1.0 / (4.0 * self.length**2)
        # The product is below 1, but its factors may overflow.
        if sharpness * (own.max() + norms.max() + self._diagonal.max()) > _LARGE / 2.0:
            return super().sums_of_children(families, others, weights)
        by_other = np.exp(sharpness * (2.0 * base - norms[:, None])) * weights[:, None]
        sums = self.nonlinear * np.exp(-sharpness * own) * (by_other.T @ raised)
        sums += self.linear * (weights @ smooth)
        sums += (self.bias * weights.sum() + self.linear * (weights @ base))[:, None]
        return np.asarray(sums[known.family, known.item])

    def _compared(self, common: FloatArray, others: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Inner products of others with the families' common rows; these rows smoothed; their norms."""
        centred = common - self._center
        smooth_common = self._smoothed(centred)
        own_common = np.einsum("ij,ij->i", smooth_common, centred)
        return self._inner(others[:, : len(self._center)], centred), smooth_common, own_common

    def __repr__(self) -> str:
        values = ", ".join(f"{parameter.name}={parameter.value:.3g}" for parameter in self.hyperparameters)
        return f"SetKernel({self.shape}, {values})"
