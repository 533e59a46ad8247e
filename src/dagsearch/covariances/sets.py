"""Sets as vectors of inclusion probabilities; the notation is that of :mod:`dagsearch.covariances.vector`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import Covariance
from dagsearch.covariances.items import BetweenItems, GivenMatrix, Nearness, Relevance
from dagsearch.covariances.parameters import changed
from dagsearch.covariances.rows import Rows
from dagsearch.covariances.vector import VectorKernel, squared_exponential
from dagsearch.errors import CovarianceError
from dagsearch.problem import Problem, State
from dagsearch.space import Space

# With more items, rows are only about those that can be chosen.
_WIDE = 500
# Exponents up to this size, four of which are added, do not overflow.
_LARGE = 150.0
# Of at least the first number of items, rows with at most the second share of entries are taken as sparse.
_MANY, _FEW = 128, 0.1


class _Members(NamedTuple):
    """How codes of leaves, 1 for every choice that is made, become rows of inclusion probabilities."""

    fixed: FloatArray
    """The row of the items that belong to all subsets, shape ``(items,)``."""
    item: IntArray
    """The items of all choices."""
    place: IntArray
    """The place in the codes of the choice that each of them belongs to."""

    @classmethod
    def of(cls, own: Space, leaves: Sequence[State], rows: FloatArray) -> "_Members | None":
        """Those of a problem that has codes and ``choices``, given the rows of random leaves."""
        choices = getattr(own.problem, "choices", None)
        if own.codes is None or not isinstance(choices, Mapping):
            return None
        codes = own.codes(leaves)
        pairs = [(item, place) for place, items in enumerate(choices.values()) for item in sorted(items)]
        if not pairs or codes.shape[1] != len(choices):
            return None
        found = cls((rows == 1.0).all(axis=0).astype(np.float64), *np.array(pairs).T)
        # That codes are about choices is a guess, so it is checked.
        return found if np.array_equal(found.rows(codes), rows) else None

    def rows(self, codes: IntArray) -> FloatArray:
        """Rows of leaves, shape ``(leaves, items)``."""
        rows = np.tile(self.fixed, (len(codes), 1))
        rows[:, self.item] = codes[:, self.place]
        return rows


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
        between: BetweenItems | None
        if between_items is None or isinstance(between_items, (Nearness, Relevance)):
            between = between_items
        else:
            between = GivenMatrix(between_items)
        self._problem: Any = None
        self._kept: IntArray = np.empty(0, dtype=np.int64)  # items that rows are about
        self._members: _Members | None = None  # how codes become rows, if that is known
        super().__init__(between, linear, nonlinear, length, shape, bias, private)

    def bind(self, problem: Problem | Space) -> "Covariance":
        own = Space.of(problem)
        problem = own.problem
        if own.inclusion is None:
            raise CovarianceError(
                "SetKernel needs inclusion(states), the probability that random play includes each item, but "
                f"{type(problem).__name__} does not have it. Use problems.Subsets, or another covariance"
            )
        center = np.asarray(own.inclusion([problem.root()]), dtype=np.float64)[0]
        free = np.flatnonzero((center > 0.0) & (center < 1.0))
        # Items that are in all subsets or in none distinguish no subsets.
        kept = free if 0 < free.size < center.size and center.size > _WIDE else np.arange(center.size)
        between = self._between_of(kept, center.size, type(problem).__name__)
        bound = changed(self, _problem=problem, _kept=kept, _between=between)
        leaves = own.random_leaves
        rows = np.asarray(own.inclusion(leaves), dtype=np.float64)
        bound = changed(bound, _members=_Members.of(own, leaves, rows))
        return bound._scaled_by(rows[:, kept], center[kept])

    def _between_of(self, kept: IntArray, count: int, name: str) -> BetweenItems | None:
        """How alike the items are that rows are about; ``name`` is that of the problem."""
        between = self._between
        if between is None or len(between) == kept.size:
            return between
        if len(between) == count:
            return between.restricted(kept)
        raise CovarianceError(
            f"between_items must have one row per item: it has {len(between)} rows, but {name} has {count} "
            "items"
        )

    def represent(self, states: Sequence[State]) -> Rows:
        if self._problem is None:
            raise CovarianceError(
                "SetKernel is not bound to a problem: call SetKernel(...).bind(problem) first"
            )
        return np.asarray(self._problem.inclusion(states), dtype=np.float64)[:, self._kept]

    def _entries(self, rows: Rows) -> tuple[Any, FloatArray]:
        dense = self._kept.size < _MANY or np.count_nonzero(rows) > _FEW * np.size(rows)
        if dense or self._between is None:
            return super()._entries(rows)
        from scipy.sparse import csr_array  # slow to import

        return csr_array(rows), self._center

    # Leaves by their codes -------------------------------------------------------------------------

    @property
    def reads_codes(self) -> bool:
        return self._members is not None

    rates_swaps = reads_codes

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        if self._members is None:
            return super().of_leaves(codes, others)
        return self.of_rows(self._members.rows(codes)[:, self._kept], others)

    def sums_of_swaps(self, codes: IntArray, others: Rows, weights: FloatArray) -> FloatArray:
        r"""If the shape is an exponential, it need not be computed for every pair of a swap and another leaf.

        With a row x whose item i is exchanged for j, and y another row,

            ‖x − eᵢ + eⱼ − y‖² = ‖x − y‖² + 2(K(x − y))ⱼ − 2(K(x − y))ᵢ + Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ.

        No term depends on y and on both items, so that the exponential has the factors F(y), A(i, y), B(j, y)
        and C(i, j), and the sums are a product of two matrices.
        """
        sums, members = None, self._members
        if members and members.item.size == codes.size and self._falloff is squared_exponential:
            item = np.searchsorted(self._kept, members.item)  # column of each choice
            row = members.rows(codes[None])[0, self._kept]
            sums = self._sums_by_factors(row, item[codes == 1], item[codes != 1], others, weights)
        return super().sums_of_swaps(codes, others, weights) if sums is None else sums

    def _sums_by_factors(
        self, row: FloatArray, i: IntArray, j: IntArray, others: Rows, weights: FloatArray
    ) -> FloatArray | None:
        """:meth:`sums_of_swaps` of items i for items j, by factors; ``None`` if these might overflow."""
        smooth, norms = others[:, :-1], others[:, -1]
        centred = row - self._center
        own = self._metric.times(centred)
        inner = smooth @ centred
        apart = float(own @ centred) + norms - 2.0 * inner
        # Of K(x − y) at the items, and of K between them.
        out, into = own[i] - smooth[:, i], own[j] - smooth[:, j]
        between = self._metric.between(i, j)
        half = 0.5 * self._metric.diagonal(len(own))
        sharp = 1.0 / (2.0 * self.length**2)
        largest = max(np.abs(out).max(initial=0.0), np.abs(into).max(initial=0.0), 2.0 * half.max())
        if sharp * largest > _LARGE:
            return None
        by_out = np.exp(sharp * (out - half[i])) * (weights * np.exp(-0.5 * sharp * apart))[:, None]
        by_into = np.exp(-sharp * (into + half[j]))
        sums = self.nonlinear * np.exp(sharp * between) * (by_out.T @ by_into)
        sums += self.bias * weights.sum() + self.linear * float(weights @ inner)
        trend = self.linear * (weights @ smooth)
        return np.asarray(sums + trend[j] - trend[i][:, None])

    def __repr__(self) -> str:
        values = ", ".join(f"{parameter.name}={parameter.value:.3g}" for parameter in self.hyperparameters)
        return f"SetKernel({self.shape}, {values})"
