"""What one look at the table says about its columns: rankings by relevance for the target.

None of it fits the user's estimator. The rankings serve twice: their first columns are the first subsets that
are scored, and the belief about single features starts from them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import lasso_path

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import correlation
from dagsearch.selection.columns import ColumnSubsets

# Rankings that consider columns jointly look at this number of rows and of columns, the best one by one.
_MOST_ROWS, _MOST_JOINT = 2000, 1500
# Number of columns that are looked at one by one at a time.
_BLOCK = 1000
# Number of classes that are told apart; the others count as one.
_MOST_CLASSES = 8
# Bins of a column for relevance of any shape, and least number of rows in a bin.
_BINS, _LEAST_IN_BIN = 8, 8
# Trees per column, and most trees.
_TREES_PER_COLUMN, _MOST_TREES = 4, 120
# Most columns that greedy forward selection goes on to.
_MOST_STEPS = 200


class Glance(NamedTuple):
    """Rankings of the columns."""

    table: FloatArray
    """The most relevant columns as standardised numbers, of some rows; shape ``(rows, columns)``."""
    columns: IntArray
    """The numbers of these columns, the most relevant one by itself first."""
    rankings: Mapping[str, FloatArray]
    """Relevance by each ranking, scaled so that the largest is 1; each of shape ``(n_features,)``."""
    ahead: FloatArray
    """Columns in the order of greedy forward selection with a linear model, as falling scores from 1; 0 for
    those not reached; shape ``(n_features,)``."""

    @property
    def relevance(self) -> FloatArray:
        """The mean over the rankings, shape ``(n_features,)``."""
        return np.asarray(np.mean(list(self.rankings.values()), axis=0))


def rows_that_count(rows: int, fit_params: Mapping[str, Any]) -> IntArray:
    """The numbers of the rows whose weight is not 0."""
    weights = [value for name, value in fit_params.items() if name.endswith("sample_weight")]
    if not weights or weights[0] is None:
        return np.arange(rows)
    return np.flatnonzero(np.asarray(weights[0]) > 0.0)


def glance(data: Any, target: Any, classification: bool, most: int) -> Glance | None:
    """Rank the columns by what they say about the target.

    Parameters
    ----------
    data : {ndarray, sparse matrix, data frame} of shape (n_samples, n_features)
        The features.
    target : array-like of shape (n_samples,), (n_samples, n_outputs) or None
        The target.
    classification : bool
        Whether the target consists of classes.
    most : int
        Number of columns at which greedy forward selection stops.

    Returns
    -------
    Glance or None
        ``None`` without a target that could be compared with.
    """
    aims = target_columns(target, classification)
    if aims is None:
        return None
    count = int(data.shape[1])
    alone: dict[str, FloatArray] = {name: np.zeros(count) for name in ("linear", "any shape")}
    for start in range(0, count, _BLOCK):  # the whole table need not fit into memory as numbers
        block = slice(start, min(start + _BLOCK, count))
        table = standardised(numeric_table(data, range(block.start, block.stop)))
        alone["linear"][block] = _linear(table, target, aims, classification)
        alone["any shape"][block] = _any_shape(table, aims)
    rows = np.sort(np.random.default_rng(0).permutation(len(aims))[:_MOST_ROWS])
    first = np.argsort(-np.maximum(*alone.values()), kind="stable")[:_MOST_JOINT]
    some, some_aims = standardised(numeric_table(data, first.tolist())[rows]), standardised(aims[rows])

    def spread(found: FloatArray) -> FloatArray:
        whole = np.zeros(count)
        whole[first] = found
        return _scaled(whole)

    joint: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
        "lasso": _lasso,
        "ridge": _ridge_elimination,
        "trees": lambda x, _: _trees(x, target, rows, classification),
    }
    rankings = {name: _scaled(found) for name, found in alone.items()}
    rankings |= {name: spread(rank(some, some_aims)) for name, rank in joint.items()}
    return Glance(some, first, rankings, spread(_forward(some, some_aims, most)))


def numeric_table(data: Any, columns: Sequence[int]) -> FloatArray:
    """Some columns as finite numbers; see :func:`likeness`."""
    if issparse(data):
        dense = data.tocsc()[:, list(columns)].toarray().astype(np.float64)
        return np.asarray(np.where(np.isfinite(dense), dense, 0.0))
    if hasattr(data, "iloc"):
        return np.column_stack([numbers(data.iloc[:, column]) for column in columns])
    part = np.asarray(data)[:, list(columns)]
    if np.issubdtype(part.dtype, np.number) and np.all(np.isfinite(part)):
        return np.asarray(part, dtype=np.float64)
    return np.column_stack([numbers(column) for column in part.T])


def standardised(table: FloatArray) -> FloatArray:
    """Columns with mean 0 and deviation 1; those that do not vary become 0."""
    centred = table - table.mean(axis=0)
    deviation = centred.std(axis=0)
    varies = deviation > 1e-12 * np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300)
    return np.asarray(np.where(varies, centred / np.where(varies, deviation, 1.0), 0.0))


def target_columns(target: Any, classification: bool) -> FloatArray | None:
    """The target as standardised columns: one per class, or per output; ``None`` if it tells nothing."""
    if target is None:
        return None
    values = np.asarray(target)
    if classification and values.ndim == 1:
        names, codes, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
        common = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
        columns = (codes[:, None] == common).astype(np.float64)
        columns = columns[:, :1] if len(names) == 2 else columns
    else:
        try:
            columns = values.astype(np.float64).reshape(len(values), -1)
        except (TypeError, ValueError):
            return None
    if len(columns) < 4 or not np.all(np.isfinite(columns)):
        return None
    found = standardised(columns)
    return found if np.any(found) else None


def _scaled(found: FloatArray) -> FloatArray:
    clean = np.nan_to_num(np.maximum(found, 0.0), posinf=0.0)
    return np.asarray(clean / max(float(clean.max(initial=0.0)), 1e-300))


def _excess(share: FloatArray, spent: float, rows: int) -> FloatArray:
    """Explained share of the variance, adjusted for the degrees of freedom spent on it."""
    left = max(rows - 1.0 - spent, 1.0)
    return np.asarray(np.maximum(1.0 - (1.0 - np.minimum(share, 1.0)) * (rows - 1.0) / left, 0.0))


def _linear(table: FloatArray, target: Any, aims: FloatArray, classification: bool) -> FloatArray:
    """Adjusted share of variance that a column and the target have in common: the order of an F test.

    With classes, it is the share of the column's variance between the classes; with numbers, the largest
    squared correlation.
    """
    rows = len(table)
    if not classification or np.ndim(target) != 1:
        return np.asarray(_excess(((table.T @ aims) / rows) ** 2, 1.0, rows).max(axis=1))
    _, codes, counts = np.unique(np.asarray(target).astype(str), return_inverse=True, return_counts=True)
    sums = np.zeros((counts.size, table.shape[1]))
    np.add.at(sums, codes, table)
    return _excess((sums**2 / counts[:, None]).sum(axis=0) / rows, counts.size - 1.0, rows)


def _any_shape(table: FloatArray, aims: FloatArray) -> FloatArray:
    """Adjusted share of the target's variance that a column's quantile bins explain, mean over the aims."""
    rows = len(table)
    bins = int(np.clip(rows // _LEAST_IN_BIN, 2, _BINS))
    number = np.zeros(table.shape, dtype=np.int8)
    for cut in np.quantile(table, np.arange(1, bins) / bins, axis=0):
        number += table > cut
    share, used = np.zeros((table.shape[1], aims.shape[1])), np.zeros(table.shape[1])
    for place in range(bins):
        inside = (number == place).astype(np.float64)
        counts = inside.sum(axis=0)
        used += counts > 0
        share += (inside.T @ aims) ** 2 / np.maximum(counts, 1.0)[:, None]
    left = np.maximum(rows - used, 1.0)
    adjusted = 1.0 - (1.0 - np.minimum(share / rows, 1.0)) * ((rows - 1.0) / left)[:, None]
    return np.asarray(np.maximum(adjusted, 0.0).mean(axis=1))


def _lasso(table: FloatArray, aims: FloatArray) -> FloatArray:
    """The penalty at which each column enters the lasso, largest over the aims."""
    found = np.zeros(table.shape[1])
    for aim in aims.T:
        penalties, weights, _ = lasso_path(table, aim, eps=0.02, alphas=30, max_iter=300, tol=1e-2)
        entered = np.abs(weights) > 0.0
        # Ties within one step of the penalty are broken by the weight at its end.
        weight = np.abs(weights[:, -1])
        score = np.where(entered, penalties, 0.0).max(axis=1) * (
            1.0 + 0.01 * weight / max(weight.max(), 1e-300)
        )
        found = np.maximum(found, score)
    return found


def _ridge_elimination(table: FloatArray, aims: FloatArray) -> FloatArray:
    """Recursive elimination: a third of the columns leaves at a time, those with the least ridge weights."""
    kept = np.arange(table.shape[1])
    found = np.zeros(table.shape[1])
    stage = 1.0
    while kept.size > 1:
        weight = np.abs(_ridge_weights(table[:, kept], aims)).max(axis=1)
        share = weight / max(float(weight.max()), 1e-300)
        found[kept] = np.where(weight > 0.0, stage + share / 2.0, 0.0)
        order = np.argsort(-weight, kind="stable")
        kept = np.sort(kept[order[: max(1, min(kept.size - 1, kept.size * 2 // 3))]])
        stage += 1.0
    # The later a column leaves the more it is worth; halved with each stage.
    return np.asarray(np.where(found > 0.0, 0.75 ** (stage - found), 0.0))


def _ridge_weights(table: FloatArray, aims: FloatArray) -> FloatArray:
    rows, columns = table.shape
    penalty = 0.1 * rows
    if columns <= rows:
        return np.asarray(np.linalg.solve(table.T @ table + penalty * np.eye(columns), table.T @ aims))
    return np.asarray(table.T @ np.linalg.solve(table @ table.T + penalty * np.eye(rows), aims))


def _trees(table: FloatArray, target: Any, rows: IntArray, classification: bool) -> FloatArray:
    """Importances in extremely randomised trees."""
    kind = ExtraTreesClassifier if classification else ExtraTreesRegressor
    wide = max(1, int(np.sqrt(table.shape[1])))
    forest = kind(
        min(_MOST_TREES, 8 + _TREES_PER_COLUMN * table.shape[1]),
        min_samples_leaf=3,
        max_features=min(3 * wide, table.shape[1]),
        random_state=0,
    )
    aim = np.asarray(target)[rows]
    return np.asarray(
        forest.fit(table, aim.astype(str) if classification and aim.ndim == 1 else aim).feature_importances_
    )


def _forward(table: FloatArray, aims: FloatArray, most: int) -> FloatArray:
    """Greedy forward selection with a linear model: each step adds what explains most of the rest."""
    left, aim = table.copy(), aims.copy()
    found = np.zeros(table.shape[1])
    norms = (left**2).sum(axis=0)
    start = norms.copy()
    for step in range(min(most, _MOST_STEPS, table.shape[1], len(table) - 2)):
        usable = norms > 1e-6 * np.maximum(start, 1e-300)
        gain = np.where(
            usable & (found == 0.0), ((left.T @ aim) ** 2).sum(axis=1) / np.maximum(norms, 1e-300), -1.0
        )
        best = int(gain.argmax())
        if gain[best] <= 0.0:
            break
        found[best] = 1.0 / (1.0 + step)
        direction = left[:, best] / np.sqrt(norms[best])
        left -= np.outer(direction, direction @ left)
        aim -= np.outer(direction, direction @ aim)
        norms = (left**2).sum(axis=0)
    return found


# Likeness -------------------------------------------------------------------------------------------


def likeness(data: Any) -> FloatArray:
    """Squared correlations between the columns of the data.

    Missing values are replaced by the column's mean and text by the number of its value in sorted order.
    Columns that do not vary are similar to no other column.

    Parameters
    ----------
    data : {ndarray, sparse matrix, data frame} of shape (n_samples, n_features)
        The features.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Similarity of each pair of features, between 0 and 1.
    """
    if issparse(data):
        return _sparse_likeness(data)
    frame = hasattr(data, "iloc")
    columns = [numbers(data.iloc[:, i] if frame else data[:, i]) for i in range(data.shape[1])]
    return correlation(np.column_stack(columns))


def numbers(column: Any) -> FloatArray:
    """A column of an array or of a data frame as finite numbers; see :func:`likeness` for the others."""
    try:
        if hasattr(column, "to_numpy"):  # pandas, where a missing integer cannot be converted to a float
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.unique([str(value) for value in column], return_inverse=True)[1].astype(np.float64)
    finite = np.isfinite(values)
    mean = float(values[finite].mean()) if finite.any() else 0.0
    return np.where(finite, values, mean)


def _sparse_likeness(data: Any) -> FloatArray:
    """The same for sparse data, which stay sparse; missing values count as zero."""
    rows = data.shape[0]
    table = data.astype(np.float64).tocsc()
    table.data[~np.isfinite(table.data)] = 0.0
    mean = np.asarray(table.mean(axis=0)).ravel()
    inner = (table.T @ table).toarray()
    inner -= rows * np.outer(mean, mean)
    sizes = np.sqrt(np.maximum(inner.diagonal(), 0.0))
    varies = sizes > 1e-12 * np.sqrt(rows) * max(float(np.abs(mean).max(initial=0.0)), 1.0)
    inner /= np.where(varies, sizes, np.inf)[:, None]
    inner /= np.where(varies, sizes, np.inf)
    np.square(inner, out=inner)
    np.fill_diagonal(inner, 1.0)
    return np.asarray(inner)


# First subsets --------------------------------------------------------------------------------------


Subset = frozenset[int]

# Columns that are correlated more strongly than this with a chosen one are left out of a thinned ranking.
_ALIKE = 0.7
# Largest part of the budget for first subsets, and largest number of sizes that each ranking is tried with.
_PART, _MOST_SIZES = 0.3, 4


def first_subsets(seen: Glance, problem: ColumnSubsets, budget: int) -> list[Subset]:
    """What rankings of the columns would choose, each subset once.

    The first is what a test of each column by itself would choose (``SelectKBest``). Then come the columns
    that a linear model gathers step by step, the mean of all rankings with strongly correlated columns
    thinned out, and the other rankings. If several sizes are allowed, the largest, the smallest and some in
    between are tried.

    Parameters
    ----------
    seen : Glance
        The rankings.
    problem : ColumnSubsets
        The subsets that may be chosen.
    budget : int
        Number of subsets that will be scored; the first ones take a third of it at most.
    """
    order = {name: np.argsort(-scores, kind="stable") for name, scores in seen.rankings.items()}
    # Forward selection ends early where nothing is left to explain; the mean ranking goes on.
    ahead = np.argsort(-(seen.ahead + 1e-6 * seen.relevance), kind="stable")
    every = np.argsort(-seen.relevance, kind="stable")
    linear = order.pop("linear")
    most = int(problem.sizes[-1])
    orders = [linear, ahead, thinned(every, seen, 2 * most), every, *order.values()]
    found: dict[Subset, None] = {}
    sizes = _sizes(problem.sizes)
    for size in sizes:
        for ranked in orders if size == sizes[0] else orders[1:4]:
            found.setdefault(best_of(ranked, problem, size))
    limit = max(1, int(_PART * budget))
    return list(found)[:limit]


def _sizes(allowed: range) -> list[int]:
    """Some of the allowed sizes, evenly spread on a logarithmic scale, the largest first."""
    least, most = max(allowed[0], 1), max(allowed[-1], 1)
    spread = np.geomspace(least, most, min(_MOST_SIZES, most - least + 1))
    return sorted(
        {round(float(size)) for size in spread if round(size) in allowed} or {allowed[-1]}, reverse=True
    )


def best_of(ranked: IntArray, problem: ColumnSubsets, size: int) -> Subset:
    """The subset of the first ``size`` choices by a ranking of the columns, with what is fixed."""
    owner = {column: members for members in problem.choices.values() for column in members}
    chosen: list[Subset] = []
    for column in ranked.tolist():
        if len(chosen) == size:
            break
        members = owner.get(column)
        if members is not None and members not in chosen:
            chosen.append(members)
    return problem.fixed.union(*chosen)


def thinned(ranked: IntArray, seen: Glance, most: int) -> IntArray:
    """The first ``most`` columns of a ranking without a strongly correlated better one, then the rest."""
    place = np.full(ranked.size, -1, dtype=np.int64)
    place[seen.columns] = np.arange(seen.columns.size)
    table = seen.table
    kept: list[int] = []
    alike: list[int] = []
    for column in ranked.tolist():
        if len(kept) >= most:
            break
        if place[column] < 0:
            alike.append(column)
            continue
        correlations = table[:, place[kept]].T @ table[:, place[column]] / len(table)
        (alike if np.abs(correlations).max(initial=0.0) > _ALIKE else kept).append(column)
    first = [*kept, *alike]
    return np.array([*first, *ranked[~np.isin(ranked, first)].tolist()], dtype=np.int64)
