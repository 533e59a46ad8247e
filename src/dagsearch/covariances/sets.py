r"""Sets as vectors of inclusion probabilities, compared by inner product and by distance.

==========  =============  =================  =====================================================
symbol      code           shape              meaning
==========  =============  =================  =====================================================
x           row            ``(n,)``           a state's inclusion probabilities
x̄           center         ``(n,)``           mean vector of random leaves
K           metric         ``(n, n)``         similarity of entries, scaled so that random leaves have
                                              (x − x̄)ᵀK(x − x̄) = 1 on average
G           inner          ``(a, b)``         (x − x̄)ᵀK(y − x̄)
u           u              ``(a, b)``         (x − y)ᵀK(x − y) / 2ℓ²
==========  =============  =================  =====================================================

The covariance is bias + linear · G + nonlinear · e^(−u/2): a linear trend, and a smooth remainder.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal import linalg
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import Covariance, Gradient
from dagsearch.covariances.items import BetweenItems, GivenMatrix, Nearness, Relevance
from dagsearch.covariances.parameters import changed, checked_positive, checked_variance
from dagsearch.covariances.rows import Rows, Stacked
from dagsearch.errors import CovarianceError
from dagsearch.problem import Coding, Problem, State
from dagsearch.space import Space

# Sums of four exponents up to this size do not overflow.
_LARGE = 150.0
# Rows are sparse from this number of items on, if at most this share of the entries is not 0.
_MANY, _FEW = 128, 0.2


class SetKernel(Covariance):
    """Subsets as vectors of inclusion probabilities, with a kernel between items.

    A chosen item counts 1, any other item the probability that random play includes it. So g of a partial
    subset is the expected reward of random play from it. Subsets of similar items are similar.

    Parameters
    ----------
    between_items : Nearness, Relevance or matrix, optional
        Similarity between items: :class:`Nearness` for items with positions, :class:`Relevance` for items
        of known relevance, or a positive semi-definite matrix such as
        :func:`dagsearch.covariances.correlation` of a table's columns; by default the identity.
    linear, nonlinear : float
        Variance, over random leaves, of the linear trend and of the remainder; learnt, unless 0.
    length : float
        Length scale of the remainder; random leaves are sqrt(2) apart. Learnt.
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

    reads_codes = True

    def __init__(
        self,
        between_items: Nearness | Relevance | ArrayLike | None = None,
        *,
        linear: float = 0.5,
        nonlinear: float = 0.5,
        length: float = 1.0,
        bias: float = 1.0,
        private: float = 0.02,
    ) -> None:
        between: BetweenItems | None
        if between_items is None or isinstance(between_items, (Nearness, Relevance)):
            between = between_items
        else:
            between = GivenMatrix(between_items)
        self._parts: Sequence[BetweenItems] = [] if between is None else [between]
        self.linear = checked_variance("linear", linear)
        self.nonlinear = checked_variance("nonlinear", nonlinear)
        if self.linear == self.nonlinear == 0.0:
            raise CovarianceError("linear and nonlinear must not both be zero")
        self.length = checked_positive("length", length)
        self.bias, self.private = checked_variance("bias", bias), checked_variance("private", private)
        length_too = {"length": ("length", 0.7)} if self.nonlinear > 0.0 else {}
        variances = {name: (name, 1.0) for name in ("linear", "nonlinear", "private")}
        self._learn(**variances, **length_too)
        # Set by bind: coding, mean of random leaves, and their covariance if there is a matrix.
        self._coding: Coding | None = None
        self._center, self._spread = np.zeros(1), np.zeros((1, 1))
        # K is the matrix, or the identity if there is none, times the scale.
        self._matrix_between: FloatArray | None = None
        self._scale, self._towards = 1.0, np.zeros(1)  # and Kx̄

    def bind(self, problem: Problem | Space) -> "Covariance":
        own = Space.of(problem)
        coding, name = own.coding, type(own.problem).__name__
        if coding is None or coding.layout.kind != "set":
            raise CovarianceError(
                f"SetKernel needs a problem whose leaves are sets; {name} does not declare any. Use "
                "problems.Subsets, or another covariance"
            )
        count = len(coding.layout.categories)
        for rows in [len(between.matrix()) for between in self._parts]:
            if rows != count:
                raise CovarianceError(
                    f"between_items must have one row per item: it has {rows} rows, but {name} has {count} "
                    "items"
                )
        center = coding.inclusion([own.problem.root()])[0]
        centred = coding.inclusion(own.random_leaves) - center
        bound = changed(self, _coding=coding, _center=center)
        if self._parts:
            return changed(bound, _spread=centred.T @ centred / len(centred))._with_parts(self._parts)
        scale = _inverse(float(np.einsum("ij,ij->i", centred, centred).mean()))
        return changed(bound, _scale=scale, _towards=scale * center)

    def represent(self, states: Sequence[State]) -> Rows:
        if self._coding is None:
            raise CovarianceError(
                "SetKernel is not bound to a problem: call SetKernel(...).bind(problem) first"
            )
        return self._coding.inclusion(states)

    def _with_parts(self, parts: Sequence[BetweenItems]) -> Self:
        """The kernel with another K. The mean of xᵀKx over random leaves is Σ K ∘ their covariance."""
        if not parts or self._coding is None:
            return changed(self, _parts=parts)
        matrix = parts[0].matrix()
        scale = _inverse(float(np.vdot(self._spread, matrix)))
        towards = scale * (matrix @ self._center)
        return changed(self, _parts=parts, _matrix_between=matrix, _scale=scale, _towards=towards)

    # Covariances -----------------------------------------------------------------------------------

    def variances(self, rows: Rows) -> FloatArray:
        used = _used(rows)
        return self.bias + self.linear * self._norms(rows[:, used], used) + self.nonlinear

    def prepared(self, rows: Rows) -> Rows:
        """K(x − x̄) of each row, e^(K(x − x̄) / 2ℓ²) for swaps, and three numbers.

        These are (x − x̄)ᵀK(x − x̄), x̄ᵀK(x − x̄) and the largest exponent.
        """
        matrix, used = self._matrix_between, _used(rows)
        if matrix is None:
            smooth = self._scale * (rows - self._center)
        else:
            smooth = self._scale * (rows[:, used] @ matrix[used]) - self._towards
        exponents = smooth / (2.0 * self.length**2)
        largest = np.maximum.reduce(np.abs(exponents), axis=1, initial=0.0)
        norms = np.einsum("ij,ij->i", smooth, rows - self._center)
        factors = np.exp(np.clip(exponents, -_LARGE, _LARGE))
        return Stacked([smooth, factors, np.column_stack([norms, smooth @ self._center, largest])])

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        return self.related(rows, others)[0]

    def related(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        smooth, _, about = others.parts
        used = _used(rows)
        entries = rows[:, used]
        inner = self._product(entries, smooth[:, used].T)
        inner -= about[:, 1]
        norms = self._norms(entries, used)
        u = -2.0 * inner
        u += norms[:, None]
        u += about[:, 0]
        u *= -0.25 / self.length**2
        cross = np.exp(np.minimum(u, 0.0, out=u), out=u)
        cross *= self.nonlinear
        inner *= self.linear
        cross += inner
        cross += self.bias
        return cross, self.bias + self.linear * norms + self.nonlinear

    def _norms(self, entries: FloatArray, used: IntArray) -> FloatArray:
        """(x − x̄)ᵀK(x − x̄) of rows, given their used entries."""
        matrix, towards = self._matrix_between, self._towards
        if matrix is not None and self._center.size >= _MANY:
            squares = squares_between(entries, used, matrix)
        else:
            smooth = entries if matrix is None else self._product(entries, matrix[np.ix_(used, used)])
            squares = np.einsum("ij,ij->i", smooth, entries)
        return np.asarray(self._scale * squares - 2.0 * (entries @ towards[used]) + towards @ self._center)

    def _product(self, entries: FloatArray, table: FloatArray) -> FloatArray:
        if self._center.size >= _MANY and np.count_nonzero(entries) <= _FEW * entries.size:
            return sparse_product(entries, np.ascontiguousarray(table))
        return np.asarray((table.T @ entries.T).T)  # the order in memory that later products want

    # Hyperparameters -------------------------------------------------------------------------------

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        matrix, center = self._matrix_between, np.zeros(rows.shape[1])  # still to subtract from entries
        if self._parts and rows.shape[1] >= _MANY and np.count_nonzero(rows) <= _FEW * rows.size:
            from scipy.sparse import csr_array  # slow to import

            entries, center = csr_array(rows), self._center
        else:
            entries = rows - self._center
        smooth = self._scale * (entries if matrix is None else entries @ matrix)
        towards = smooth @ center
        inner = entries @ smooth.T - towards[:, None] - towards + self._towards @ center
        norms = inner.diagonal()
        u = np.maximum(norms[:, None] + norms - 2.0 * inner, 0.0) / (2.0 * self.length**2)
        fallen = np.exp(-0.5 * u)
        matrix = self.bias + self.linear * inner
        matrix += self.nonlinear * fallen
        matrix[np.diag_indices(len(matrix))] += self.private

        def gradient(weights: FloatArray) -> FloatArray:
            by_u = -0.5 * self.nonlinear * weights
            by_u *= fallen
            own = {
                "linear": self.linear * float(np.vdot(weights, inner)),
                "nonlinear": self.nonlinear * float(np.vdot(weights, fallen)),
                "length": -2.0 * float(np.vdot(by_u, u)),
                "private": self.private * float(weights.trace()),
            }
            return np.array(
                [own[name] for name in self._learnt] + self._by_items(entries, center, weights, by_u)
            )

        return matrix, gradient

    def _by_items(
        self, entries: Any, center: FloatArray, weights: FloatArray, by_u: FloatArray
    ) -> list[float]:
        """Derivatives by the hyperparameters of K; ``by_u`` are the weighted derivatives by u.

        ``center`` is still to be subtracted from ``entries``. With X the centred rows, G = XKXᵀ and
        u = (Gᵢᵢ + Gⱼⱼ − 2Gᵢⱼ) / 2ℓ², so that Σ W ∘ matrix changes by Σ A ∘ dG = Σ XᵀAX ∘ dK. The change of
        K's scale subtracts the mean change over random leaves.
        """
        matrix, scale = self._matrix_between, self._scale
        if matrix is None:
            return []
        by_u = by_u / self.length**2
        by_inner = self.linear * weights - by_u
        by_inner[np.diag_indices(len(by_u))] += by_u.sum(axis=0)
        found = np.ascontiguousarray(entries.T @ (by_inner @ entries))
        across = float(by_inner.sum()) * center - 2.0 * (entries.T @ by_inner.sum(axis=0))
        # In place: there is one entry per pair of items.
        found = linalg.dger(1.0, center, across, a=found.T, overwrite_a=1).T
        change = -scale * float(np.vdot(found, matrix))
        found = linalg.daxpy(self._spread.ravel(), found.ravel(), a=change).reshape(found.shape)
        return [scale * one for one in self._parts[0].gradient(found)]

    def __rmul__(self, factor: float) -> "Covariance":
        """Scale the variances themselves, so that the factor needs no hyperparameter."""
        factor = checked_positive("the factor of a covariance", factor)
        variances = ("linear", "nonlinear", "private", "bias")
        scaled = changed(self, **{name: factor * getattr(self, name) for name in variances})
        learnt = {name: one._replace(median=getattr(scaled, name)) for name, one in self._learnt.items()}
        return changed(scaled, _learnt=learnt)

    # Leaves by their codes -------------------------------------------------------------------------

    def from_codes(self, codes: IntArray) -> Rows:
        return np.asarray(codes == 1, dtype=np.float64)

    def sums_of_swaps(self, codes: IntArray, others: Rows, weights: FloatArray) -> list[FloatArray]:
        r"""Weighted sums of covariances of all leaves one swap away.

        ``codes`` are leaves of one size, ``others`` are ``prepared`` rows with one weight each. Entry (i, j)
        of a leaf's sums, shape ``(chosen, unchosen)``, swaps its i-th chosen item for its j-th unchosen one.
        For a row x whose item i is swapped for j, and another row y,

            ‖x − eᵢ + eⱼ − y‖² = ‖x − y‖² + 2(K(x − y))ⱼ − 2(K(x − y))ᵢ + Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ.

        No term depends on y and both items, so the exponential factors into F(y) A(i, y) B(j, y) C(i, j), and
        the sums are a product of two matrices.
        """
        chosen = codes == 1
        i = np.nonzero(chosen)[1].reshape(len(codes), -1)
        smooth, factors, about = others.parts
        matrix, scale, sharp = self._matrix_between, self._scale, 1.0 / (2.0 * self.length**2)
        own = scale * (chosen if matrix is None else matrix[i].sum(axis=1)) - self._towards
        inner = smooth[:, i].sum(axis=2) - about[:, 1, None]
        apart = np.take_along_axis(own, i, 1).sum(axis=1) - own @ self._center + about[:, 0, None]
        apart -= 2.0 * inner
        # Change of ‖x‖² by each swap; columns of chosen items are dropped at the end.
        sums = scale * (1.0 * (np.arange(own.shape[1]) == i[:, :, None]) if matrix is None else matrix[i])
        half = 0.5 * scale * (np.ones(own.shape[1]) if matrix is None else matrix.diagonal())
        sums -= (own + half)[:, None]
        sums += np.take_along_axis(own - half, i, 1)[:, :, None]
        largest = max(about[:, 2].max(), sharp * max(np.abs(own).max(), 2.0 * half.max()))
        if largest <= _LARGE:
            sums *= sharp
            np.exp(sums, out=sums)
            by_out = (weights[:, None] * np.exp(-0.5 * sharp * apart))[:, :, None] / factors[:, i]
            sums *= (by_out.reshape(len(smooth), -1).T @ factors).reshape(sums.shape)
        else:  # the factors might overflow, unlike their product
            for leaf, out in np.ndindex(i.shape):
                near = smooth - (0.5 * apart[:, leaf] + smooth[:, i[leaf, out]])[:, None]
                sums[leaf, out] = weights @ np.exp(sharp * (near + sums[leaf, out]))
        sums *= self.nonlinear
        trend = self.linear * (weights @ smooth)
        sums += trend
        level = self.bias * weights.sum() + self.linear * (weights @ inner)
        sums += level[:, None, None] - trend[i][:, :, None]
        return [of_leaf[:, ~inside] for of_leaf, inside in zip(sums, chosen, strict=True)]

    def __repr__(self) -> str:
        values = ", ".join(f"{parameter.name}={parameter.value:.3g}" for parameter in self.hyperparameters)
        return f"SetKernel(squared-exponential, {values})"


def _inverse(spread: float) -> float:
    """1 / spread; 0 if there is one leaf only."""
    return 1.0 / spread if spread > 1e-12 else 0.0


def _used(rows: Rows) -> IntArray:
    """Columns with an entry that is not 0."""
    return np.flatnonzero((rows != 0.0).any(axis=0))


@compiled
def squares_between(rows: FloatArray, columns: IntArray, matrix: FloatArray) -> FloatArray:
    """xᵀKx of each row x, most of whose entries are 0, given the columns of K at its entries."""
    found = np.zeros(len(rows))
    for i in range(len(rows)):
        some = np.flatnonzero(rows[i])
        for e in some:
            for f in some:
                found[i] += rows[i, e] * rows[i, f] * matrix[columns[e], columns[f]]
    return found


@compiled
def sparse_product(rows: FloatArray, table: FloatArray) -> FloatArray:
    """Rows, most of whose entries are 0, times a matrix."""
    found = np.zeros((len(rows), table.shape[1]))
    for i in range(len(rows)):
        for entry in np.flatnonzero(rows[i]):
            for j in range(table.shape[1]):
                found[i, j] += rows[i, entry] * table[entry, j]
    return found
