"""Quick rankings of the columns by relevance for the target, with scikit-learn's own methods.

None of them fits the user's estimator. Their first columns are the first subsets that are scored, and the
belief about single features starts from them.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.feature_selection import f_classif, f_regression
from sklearn.linear_model import lasso_path

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problems.subsets import Subset
from dagsearch.selection.columns import ColumnSubsets

# Rankings that consider columns jointly look at this number of rows, and of columns: the best by the F test.
_MOST_ROWS, _MOST_JOINT = 2000, 1500
# Number of columns that are tested at a time.
_BLOCK = 1000
# Number of classes that the lasso tells apart.
_MOST_CLASSES = 8
# Trees per column, and most trees.
_TREES_PER_COLUMN, _MOST_TREES = 4, 120
# Largest part of the budget for first subsets, and largest number of sizes that each ranking is tried with.
_PART, _MOST_SIZES = 0.3, 4


class Rankings(NamedTuple):
    """Relevance of the columns by each ranking, scaled so that the largest is 1; shape ``(n_features,)``."""

    univariate: FloatArray
    """Share of variance that column and target have in common, by the F test."""
    lasso: FloatArray
    """The penalty at which the column enters the lasso."""
    trees: FloatArray
    """Importance in extremely randomised trees."""

    @property
    def relevance(self) -> FloatArray:
        """The mean of the rankings."""
        return np.asarray(np.mean(self, axis=0))


def rows_that_count(rows: int, fit_params: Mapping[str, Any]) -> IntArray:
    """The numbers of the rows whose weight is not 0."""
    weights = [value for name, value in fit_params.items() if name.endswith("sample_weight")]
    if not weights or weights[0] is None:
        return np.arange(rows)
    return np.flatnonzero(np.asarray(weights[0]) > 0.0)


def ranked(data: Any, target: Any, classification: bool) -> Rankings | None:
    """Rank the columns by relevance for the target; ``None`` without one that can be compared with.

    ``classification`` says whether the target consists of classes.
    """
    aims = _target_columns(target, classification)
    if aims is None:
        return None
    classes = np.asarray(target).astype(str) if classification and np.ndim(target) == 1 else None
    count, rows = int(data.shape[1]), np.sort(np.random.default_rng(0).permutation(len(aims))[:_MOST_ROWS])
    univariate = np.zeros(count)
    for start in range(0, count, _BLOCK):  # the whole table need not fit into memory as numbers
        block = slice(start, min(start + _BLOCK, count))
        table = standardised(numeric_table(data, range(block.start, block.stop)))
        univariate[block] = _univariate(table, aims, classes)
    first = np.argsort(-univariate, kind="stable")[:_MOST_JOINT]
    table, aims = standardised(numeric_table(data, first.tolist())[rows]), aims[rows]

    def spread(found: FloatArray) -> FloatArray:
        whole = np.zeros(count)
        whole[first] = found
        return _scaled(whole)

    forest = _trees(table, aims if classes is None else classes[rows], classes is not None)
    return Rankings(_scaled(univariate), spread(_lasso(table, aims)), spread(forest))


def numeric_table(data: Any, columns: Sequence[int]) -> FloatArray:
    """Some columns as finite numbers: gaps are the column's mean, text is the number of its value."""
    if issparse(data):
        dense = data.tocsc()[:, list(columns)].toarray().astype(np.float64)
        return np.asarray(np.where(np.isfinite(dense), dense, 0.0))
    if hasattr(data, "iloc"):
        frame = data.iloc[:, list(columns)]
        if not all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes):
            return np.column_stack([numbers(frame.iloc[:, place]) for place in range(frame.shape[1])])
        part = frame.to_numpy(dtype=np.float64)  # at once: with 30,000 columns, one by one takes a minute
    else:
        part = np.asarray(data)[:, list(columns)]
    if np.issubdtype(part.dtype, np.number) and np.all(np.isfinite(part)):
        return np.asarray(part, dtype=np.float64)
    return np.column_stack([numbers(column) for column in part.T])


def numbers(column: Any) -> FloatArray:
    """A column of an array or of a data frame as finite numbers."""
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


def standardised(table: FloatArray) -> FloatArray:
    """Columns with mean 0 and deviation 1; those that do not vary become 0."""
    centred = table - table.mean(axis=0)
    deviation = centred.std(axis=0)
    varies = deviation > 1e-12 * np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300)
    return np.asarray(np.where(varies, centred / np.where(varies, deviation, 1.0), 0.0))


def _target_columns(target: Any, classification: bool) -> FloatArray | None:
    """The target as standardised columns: one per class, or per output; ``None`` if it tells nothing."""
    if target is None:
        return None
    values = np.asarray(target)
    if classification and values.ndim == 1:
        names, codes, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
        common = np.argsort(-counts, kind="stable")[: _MOST_CLASSES if len(names) > 2 else 1]
        columns = (codes[:, None] == common).astype(np.float64)
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


def _univariate(table: FloatArray, aims: FloatArray, classes: Any) -> FloatArray:
    """Share of variance in common by the F test, adjusted for its degrees of freedom; largest of the aims."""
    rows = len(table)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns that do not vary
        if classes is not None:
            spent = len(np.unique(classes)) - 1.0
            tests = [f_classif(table, classes)[0]]
        else:
            spent, tests = 1.0, [f_regression(table, aim)[0] for aim in aims.T]
        left = max(rows - 1.0 - spent, 1.0)
        odds = np.max(tests, axis=0) * spent / left
        share = np.where(np.isposinf(odds) | (odds < 0.0), 1.0, odds / (1.0 + odds))
        return np.nan_to_num(np.maximum(1.0 - (1.0 - share) * (rows - 1.0) / left, 0.0))


def _lasso(table: FloatArray, aims: FloatArray) -> FloatArray:
    found = np.zeros(table.shape[1])
    for aim in aims.T:
        penalties, weights, _ = lasso_path(table, aim, eps=0.02, alphas=30, max_iter=300, tol=1e-2)
        entered = np.where(np.abs(weights) > 0.0, penalties, 0.0).max(axis=1)
        last = np.abs(weights[:, -1])  # breaks ties within one step of the penalty
        found = np.maximum(found, entered * (1.0 + 0.01 * last / max(last.max(), 1e-300)))
    return found


def _trees(table: FloatArray, target: Any, classification: bool) -> FloatArray:
    kind = ExtraTreesClassifier if classification else ExtraTreesRegressor
    forest = kind(
        min(_MOST_TREES, 8 + _TREES_PER_COLUMN * table.shape[1]),
        min_samples_leaf=3,
        max_features=min(3 * max(1, int(np.sqrt(table.shape[1]))), table.shape[1]),
        random_state=0,
    )
    single = not classification and target.shape[1] == 1
    return np.asarray(forest.fit(table, target.ravel() if single else target).feature_importances_)


# First subsets --------------------------------------------------------------------------------------


def candidates(rankings: Rankings, choices: Sequence[int], count: int) -> set[int]:
    """The most relevant choices: the first of every ranking, in turns."""
    free = np.array(sorted(choices), dtype=np.int64)
    orders = [free[np.argsort(-scores[free], kind="stable")] for scores in rankings]
    return set(list(dict.fromkeys(np.stack(orders, axis=1).ravel().tolist()))[:count])


def suggestions(rankings: Rankings, problem: ColumnSubsets) -> list[Subset]:
    """What the rankings and their mean would choose, as leaves of the problem; some may be equal.

    The first is the choice of ``SelectKBest``. If several sizes are allowed, the largest, the smallest and
    some in between are tried.
    """
    # The lasso's path ends early where nothing is left to explain; the mean ranking goes on.
    scores = [
        rankings.univariate,
        rankings.lasso + 1e-6 * rankings.relevance,
        rankings.relevance,
        rankings.trees,
    ]
    orders = [_choices_in_order(np.argsort(-one, kind="stable"), problem) for one in scores]
    sizes = _sizes(problem.problem.sizes)
    return [
        frozenset(order[:size]) for size in sizes for order in (orders if size == sizes[0] else orders[1:3])
    ]


def first_subsets(rankings: Rankings, problem: ColumnSubsets, budget: int) -> list[Subset]:
    """The suggestions, each once; a third of the budget at most."""
    return list(dict.fromkeys(suggestions(rankings, problem)))[: max(1, int(_PART * budget))]


def _sizes(allowed: range) -> list[int]:
    """Some of the allowed sizes, evenly spread on a logarithmic scale, the largest first."""
    least = max(allowed[0], 1)
    spread = np.geomspace(least, allowed[-1], min(_MOST_SIZES, allowed[-1] - least + 1))
    return sorted({round(float(size)) for size in spread}, reverse=True)


def _choices_in_order(order: IntArray, problem: ColumnSubsets) -> list[int]:
    """The choices in the order in which their first columns come in a ranking of the columns."""
    owner = {column: name for name, members in problem.choices.items() for column in members}
    return list(dict.fromkeys(owner[column] for column in order.tolist() if column in owner))
