"""Checked arguments of the selector and of ``fit``, and the first subsets that the table suggests."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, _safe_indexing, check_array, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import validate_data

from dagsearch._internal.checks import check
from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, Relevance, SetKernel, correlation
from dagsearch.problems.subsets import Subset
from dagsearch.run.runner import checked_budget
from dagsearch.selection.batches import identity_of
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import Suggest
from dagsearch.selection.rankings import numeric_table, ranked, suggestions
from dagsearch.selection.scoring import SubsetScorer, weights_of

# Largest part of the budget for first subsets.
_PART = 0.3
# With more features, only the most relevant ones are searched: there is too little data to learn about each.
MOST_CANDIDATES = 1000
# Largest number of features that "auto" considers.
_MOST_OPEN = 20
# Number of rows from which correlations between features are computed.
_ALIKE_ROWS = 5000


@dataclass(frozen=True)
class Features:
    """The features of the data."""

    count: int
    """Number of features."""
    names: Sequence[str] | None
    """Their names; ``None`` if the data has none."""

    def labels(self, columns: Iterable[int]) -> tuple[Any, ...]:
        """Names of columns, or their numbers if there are no names."""
        return tuple(int(column) if self.names is None else self.names[column] for column in columns)

    def texts(self, columns: Iterable[int]) -> list[str]:
        """The same as text."""
        return list(map(str, self.labels(columns)))

    def columns(self, argument: str, given: Any) -> list[int]:
        """Column numbers of the features in an argument: numbers, names or a mask."""
        given = [given] if isinstance(given, (str, Integral)) else given
        listed = _listed(argument, given, "features")
        if listed and all(isinstance(feature, (bool, np.bool_)) for feature in listed):
            if len(listed) != self.count:
                raise ValueError(
                    f"{argument}: a mask must have one entry per feature ({self.count}), got {len(listed)}"
                )
            return [int(column) for column in np.flatnonzero(listed)]
        return [self._column(argument, feature) for feature in listed]

    def _column(self, argument: str, feature: Any) -> int:
        known = range(self.count) if isinstance(feature, Integral) else list(self.names or ())
        key = int(feature) if isinstance(feature, Integral) else str(feature)
        if key in known:
            return known.index(key)  # type: ignore[arg-type]
        advice = f": features are numbered 0 to {self.count - 1}"
        if not isinstance(feature, Integral):
            hint = did_you_mean(str(feature), known)  # type: ignore[arg-type]
            advice = f"; {hint}" if hint else "" if known else ": X has no column names"
        raise ValueError(f"{argument}: there is no feature {feature!r}{advice}")


def _listed(argument: str, given: Any, entries: str) -> list[Any]:
    """The entries of an iterable that is not text; an empty list for ``None``."""
    if given is not None and (isinstance(given, (str, bytes)) or not isinstance(given, Iterable)):
        raise ValueError(f"{argument} must be a sequence of {entries}, got {given!r}")
    return [] if given is None else list(given)


def subset_problem(
    features: Features,
    n_features_to_select: Any,
    fixed: Any,
    forbidden: Any,
    groups: Any,
    relevance: FloatArray | None,
) -> tuple[ColumnSubsets, ColumnSubsets]:
    """The problems of choosing a subset of all candidates, and of those to search; may warn.

    With more than 1,000 candidates, only the most relevant ones are searched.
    """
    listed = [_listed("groups", group, "groups") for group in _listed("groups", groups, "groups")]
    grouped = [set(features.columns("groups", group)) for group in listed]
    counts = Counter(column for group in grouped for column in group)
    shared = [column for column, count in counts.items() if count > 1]
    if shared:
        raise ValueError(f"groups must not overlap, but two of them contain {features.labels(shared)[0]!r}")
    # A group is one choice, like a column without a group.
    whole = {column: tuple(sorted(group)) for group in grouped for column in group}
    held, banned = (
        {whole.get(column, (column,)) for column in features.columns(argument, given)}
        for argument, given in (("fixed", fixed), ("forbidden", forbidden))
    )
    if both := held & banned:
        label = features.labels(min(both))[0]
        raise ValueError(f"{label!r} is both fixed and forbidden, directly or by its group")
    choices = {whole.get(column, (column,)) for column in range(features.count)} - banned
    if not choices:
        raise ValueError("forbidden: no feature is left to choose; forbid fewer")
    least, most = _size_range(n_features_to_select, len(choices), len(held))
    free, allowed = sorted(choices - held), sum(map(len, choices))
    every = ColumnSubsets(features.count, least, most, free, sorted(held), allowed)
    if relevance is None or len(choices) <= max(MOST_CANDIDATES, most):
        return every, every
    free.sort(key=lambda one: -max(relevance[column] for column in one))
    searched = sorted(free[: max(MOST_CANDIDATES, most) - len(held)])
    return every, ColumnSubsets(features.count, least, most, searched, sorted(held), allowed)


def _size_range(wanted: Any, choices: int, held: int) -> tuple[int, int]:
    """The smallest and the largest number of choices, including ``held`` fixed ones."""
    if wanted is None:
        return (max(1, held, choices // 2),) * 2
    if isinstance(wanted, str) and wanted == "auto":
        return max(1, held), max(held, min(_MOST_OPEN, choices))
    least, most = _wanted_sizes(wanted, choices)
    if not 1 <= least <= most:
        raise ValueError(f"n_features_to_select must be at least 1 and ascending, got {wanted!r}")
    if most > choices or 1 < least == choices:
        selected = "all of them are selected" if least >= choices else f"at most {choices} are selected"
        message = f"n_features_to_select={wanted!r}, but there are {choices} features to choose from"
        warnings.warn(f"{message}: {selected}", stacklevel=5)  # points to the call of fit
        least, most = min(least, choices), choices
    if most < held:
        raise ValueError(f"n_features_to_select={wanted!r}, but {held} are fixed: select more, or fix fewer")
    return max(least, held), most


def _wanted_sizes(wanted: Any, choices: int) -> tuple[int, int]:
    if isinstance(wanted, Real) and not isinstance(wanted, Integral) and 0.0 < float(wanted) < 1.0:
        wanted = max(1, int(choices * float(wanted)))
    sizes = wanted if isinstance(wanted, (tuple, list)) else (wanted, wanted)
    if len(sizes) == 2 and all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes):
        return int(sizes[0]), int(sizes[1])
    raise ValueError(
        "n_features_to_select must be a whole number, a fraction between 0 and 1, a pair (least, most), "
        f"'auto' or None, got {wanted!r}"
    )


def subset_covariance(data: Any, relevance: FloatArray | None, problem: ColumnSubsets) -> Covariance:
    """A covariance with features as similar as they correlate and as important as the ranking suggests.

    A group is represented by its most relevant column.
    """
    relevance = np.ones(problem.columns) if relevance is None else relevance
    best = [max(sorted(one), key=relevance.__getitem__) for one in problem.choices.values()]
    rows = np.sort(np.random.default_rng(0).permutation(int(data.shape[0]))[:_ALIKE_ROWS])
    alike = correlation(numeric_table(_safe_indexing(data, rows), best))
    return SetKernel(Relevance(relevance[best], alike))


# Inputs of fit --------------------------------------------------------------------------------------


def validated_data(selector: Any, data: Any, target: Any) -> tuple[Any, Any]:
    """The data with selectable columns, and the target.

    A data frame is returned unchanged. The selector gets ``n_features_in_`` and ``feature_names_in_``.
    """
    tags = get_tags(selector)
    if hasattr(data, "iloc") and data.ndim == 2:
        validate_data(selector, data, skip_check_array=True)
        if len(data) == 0 or data.shape[1] == 0:
            raise ValueError(f"Found array with {len(data)} sample(s) and {data.shape[1]} feature(s).")
    else:
        finite = {"ensure_all_finite": not tags.input_tags.allow_nan, "ensure_min_samples": 2}
        data = validate_data(selector, data, accept_sparse="csc", dtype=None, **finite)
        if data.dtype == object:
            with suppress(ValueError):  # the estimator may accept text, but no other objects
                check_array(data, ensure_all_finite=False)
    _, target = indexable(data, target)
    if target is None and tags.target_tags.required:
        name = type(selector).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    return data, target


def checked_scorer(estimator: Any, scoring: Any) -> Any:
    """The scorer named by the argument ``scoring``."""
    if isinstance(scoring, (list, tuple, set, dict)):
        raise ValueError(f"scoring must be one score, by name or as a callable, got {scoring!r}")
    if isinstance(scoring, str):
        check_scorer_name("scoring", scoring)
    return check_scoring(estimator, scoring=scoring)


def check_scorer_name(argument: str, name: str) -> None:
    """Raise if scikit-learn has no scorer with this name."""
    if name not in get_scorer_names():
        advice = did_you_mean(name, get_scorer_names(), "see sklearn.metrics.get_scorer_names()")
        raise ValueError(f"{argument}: scikit-learn has no scorer {name!r}; {advice}")


def routed_metadata(selector: Any, scorer: Any, params: Mapping[str, Any]) -> Bunch:
    """The metadata for the estimator, the splitter and the scorer, as in scikit-learn's searches."""
    if get_config()["enable_metadata_routing"]:
        return process_routing(selector, "fit", **params)
    unknown = sorted(set(params) - {"sample_weight", "groups"})
    if unknown:
        raise TypeError(
            f"fit got {unknown[0]!r}: without metadata routing it passes on only sample_weight and groups; "
            "see sklearn.set_config(enable_metadata_routing=True)"
        )
    fit, score = weight_params(selector.estimator, scorer, params.get("sample_weight"))
    split = {} if params.get("groups") is None else {"groups": params["groups"]}
    return Bunch(estimator=Bunch(fit=fit), splitter=Bunch(split=split), scorer=Bunch(score=score))


def weight_params(estimator: Any, scorer: Any, weights: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters for fitting and for scoring with weights of the rows; empty without weights.

    The last step of a pipeline gets them, and the scorer if it accepts them.
    """
    if weights is None:
        return {}, {}
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    if hasattr(scorer, "_accept_sample_weight"):  # since scikit-learn 1.7
        accepts = scorer._accept_sample_weight()
    else:
        accepts = "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
    return {f"{prefix}sample_weight": weights}, {"sample_weight": weights} if accepts else {}


def folds_of(splitter: Any, *data: Any, **params: Any) -> list[tuple[IntArray, IntArray]]:
    """The row numbers of every fold; raises with advice if there are none, or too few rows for them."""
    try:
        splits = list(splitter.split(*data, **params))
    except ValueError as error:
        advice = "; use fewer folds, or more rows" if "greater than" in str(error) else ""
        raise ValueError(f"cv: {str(error).rstrip('.')}{advice}") from error
    if not splits:
        raise ValueError("cv gave no folds; an iterator can be used only once: give a list instead")
    return splits


# The plan of fit -------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """A selection that is ready to begin: all arguments are checked, and nothing has been scored."""

    features: Features
    problem: ColumnSubsets
    score: SubsetScorer
    covariance: Covariance
    """The prior covariance of subsets."""
    suggest: Suggest
    """The choice of a ranking by some rows."""
    first: Sequence[Subset]
    """First subsets: the choice of a ranking by all rows."""
    budget: int
    """Number of subsets to score."""
    digest: str | None
    """Identifies everything that scores depend on; ``None`` without storage."""


def plan_of(selector: Any, data: Any, target: Any, params: Mapping[str, Any]) -> Plan:
    """Check all arguments of ``fit``; must be called directly by ``fit``, because it may warn."""
    estimator, budget = selector.estimator, checked_budget(selector.budget)
    check(hasattr(estimator, "fit"), "estimator", "an estimator with a method fit", estimator)
    data, target = validated_data(selector, data, target)
    scoring = checked_scorer(estimator, selector.scoring)
    routed = routed_metadata(selector, scoring, params)
    splitter = check_cv(selector.cv, target, classifier=is_classifier(estimator))
    splits = folds_of(splitter, data, target, **routed.splitter.split)
    fitting, judging = routed.estimator.fit, routed.scorer.score
    features, rows = selector._features(), int(data.shape[0])
    weights = weights_of(fitting)
    if weights is not None and np.shape(weights) != (rows,):
        raise ValueError(f"sample_weight must have one entry per row ({rows}), got {np.shape(weights)}")
    counted = np.arange(rows) if weights is None else np.flatnonzero(np.asarray(weights) > 0.0)

    def ranked_by(some: IntArray) -> FloatArray | None:
        some = np.intersect1d(some, counted)
        aim = None if target is None else _safe_indexing(target, some)
        return ranked(_safe_indexing(data, some), aim, is_classifier(estimator))

    def suggest(some: IntArray) -> Sequence[tuple[int, ...]] | None:
        # From all candidates: the rows of a fold must have no part in choosing the ones to search.
        found = ranked_by(some)
        return None if found is None else [every.columns_of(leaf) for leaf in suggestions(found, every)]

    relevance = ranked_by(np.arange(rows))
    limits = selector.n_features_to_select, selector.fixed, selector.forbidden, selector.groups
    every, problem = subset_problem(features, *limits, relevance)
    columns = sorted(problem.fixed), list(problem.choices.values())
    depends_on = (target, fitting, columns), splits, clone(estimator, safe=False), selector.scoring
    return Plan(
        features,
        problem,
        SubsetScorer(clone(estimator), scoring, data, target, splits, fitting, judging, selector._silent),
        subset_covariance(data, relevance, problem),
        suggest,
        [] if relevance is None else suggestions(relevance, problem)[: max(1, int(_PART * budget))],
        budget,
        None if selector.storage is None else identity_of(data, *depends_on),
    )
