"""The arguments of the selector and of ``fit``: their meaning and their checks."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, _safe_indexing, check_array, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import validate_data

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget
from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.texts import shown
from dagsearch.covariances import Covariance, Relevance, SetKernel, correlation
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.rankings import Rankings, candidates, numeric_table

# With more features, only the most relevant ones are searched: a belief about each would be worth little.
MOST_CANDIDATES = 1000
# Largest number of features that "auto" considers.
_MOST_OPEN = 20
# Number of rows that correlations between features are computed from.
_ALIKE_ROWS = 5000


@dataclass(frozen=True)
class Features:
    """The features of the data."""

    count: int
    """Number of features."""
    names: Sequence[str] | None
    """Their names; ``None`` if the data have none."""

    def labels(self, columns: Iterable[int]) -> tuple[Any, ...]:
        """Names of columns, or their numbers if they have no names."""
        return tuple(int(column) if self.names is None else self.names[column] for column in columns)

    def text(self, columns: Iterable[int]) -> str:
        """Names of the columns of one choice, as text."""
        return " + ".join(map(str, self.labels(columns)))

    def columns(self, argument: str, given: Any) -> list[int]:
        """Column numbers of features that an argument gives by number, name or mask."""
        if given is None:
            return []
        if isinstance(given, (str, Integral)):
            given = [given]
        listed = as_list(argument, given, "features")
        if listed and all(isinstance(feature, (bool, np.bool_)) for feature in listed):
            if len(listed) != self.count:
                raise ValueError(
                    f"{argument}: a mask must have one entry per feature ({self.count}), got {len(listed)}"
                )
            return [int(column) for column in np.flatnonzero(listed)]
        return [self._column(argument, feature) for feature in listed]

    def _column(self, argument: str, feature: Any) -> int:
        if isinstance(feature, Integral):
            if not 0 <= int(feature) < self.count:
                raise ValueError(
                    f"{argument}: there is no feature {feature}: features are numbered 0 to {self.count - 1}"
                )
            return int(feature)
        names = [] if self.names is None else list(self.names)
        if str(feature) not in names:
            hint = did_you_mean(str(feature), names)
            advice = f"; {hint}" if hint else "" if names else ": X has no column names"
            raise ValueError(f"{argument}: there is no feature {feature!r}{advice}")
        return names.index(str(feature))

    def banned(self, excluded: Sequence[int], grouped: Sequence[Sequence[int]]) -> set[int]:
        """Columns that cannot be chosen, because they or a column of their group are excluded."""
        return {*excluded, *(column for group in grouped if set(group) & set(excluded) for column in group)}

    def count_allowed(self, forbidden: Any, groups: Any) -> int:
        """Number of features that are not forbidden, by themselves or by their group."""
        grouped = [self.columns("groups", group) for group in ([] if groups is None else groups)]
        return self.count - len(self.banned(self.columns("forbidden", forbidden), grouped))

    def check_overlaps(
        self, required: Sequence[int], excluded: Sequence[int], grouped: Sequence[Sequence[int]]
    ) -> None:
        """Refuse columns in two groups, and columns that are both fixed and forbidden."""
        counts = Counter(column for group in grouped for column in set(group))
        shared = [column for column, count in counts.items() if count > 1]
        if shared:
            raise ValueError(f"groups must not overlap, but two of them contain {self.labels(shared)[0]!r}")
        whole = {column: group for group in grouped for column in group}
        banned = self.banned(excluded, grouped)
        both = [column for column in required if banned & set(whole.get(column, [column]))]
        if both:
            raise ValueError(
                f"{self.labels(both)[0]!r} is both fixed and forbidden, directly or by its group"
            )


def as_list(argument: str, given: Any, entries: str) -> list[Any]:
    """The entries of an iterable that is not text."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ValueError(f"{argument} must be a sequence of {entries}, got {given!r}")
    return list(given)


def checked_budget(budget: Any) -> int:
    """The number of subsets to score."""
    if not is_budget(budget):
        raise ValueError(
            f"budget must be a positive whole number of subsets, at most {LARGEST_WHOLE}, got {shown(budget)}"
        )
    return int(budget)


def subset_problem(
    features: Features,
    n_features_to_select: Any,
    fixed: Any,
    forbidden: Any,
    groups: Any,
    rankings: Rankings | None = None,
) -> ColumnSubsets:
    """The problem of choosing a subset; it may warn.

    With more than 1,000 features to choose from, only the most relevant ones can be chosen.
    """
    required, excluded = features.columns("fixed", fixed), features.columns("forbidden", forbidden)
    listed = [] if groups is None else as_list("groups", groups, "groups")
    grouped = [features.columns("groups", as_list("groups", group, "groups")) for group in listed]
    features.check_overlaps(required, excluded, grouped)
    # A group is one choice: its first column represents all its columns.
    choice_of = {column: group[0] for group in grouped for column in group}
    held = {choice_of.get(column, column) for column in required}
    banned = {choice_of.get(column, column) for column in excluded}
    choices = {choice_of.get(column, column) for column in range(features.count)} - banned
    if not choices:
        raise ValueError("forbidden: no feature is left to choose; forbid fewer")
    least, most = _size_range(n_features_to_select, len(choices), len(held))
    if rankings is not None and len(choices) > max(MOST_CANDIDATES, most):
        left = max(MOST_CANDIDATES, most) - len(held)
        choices = held | candidates(rankings, sorted(choices - held), left)
    members = {group[0]: group for group in grouped}
    free, fixed_ones = (
        [members.get(column, [column]) for column in sorted(some)] for some in (choices - held, held)
    )
    return ColumnSubsets(features.count, least, most, free, fixed_ones)


class SizeWarning(UserWarning):
    """There are no more features than are to be selected."""


def size_warning(wanted: str, least: int, most: int, choices: int) -> str | None:
    """What is said if there are no more features than are ``wanted``; ``None`` if there are."""
    if most < choices or (least < most == choices) or most == choices == 1:
        return None
    selected = "all of them are selected" if least >= choices else f"at most {choices} are selected"
    return f"{wanted}, but there are {choices} features to choose from: {selected}"


def _size_range(wanted: Any, choices: int, held: int) -> tuple[int, int]:
    """The smallest and the largest number of choices, of which ``held`` are fixed."""
    if wanted is None:
        return (max(1, held, choices // 2),) * 2
    if isinstance(wanted, str) and wanted == "auto":
        return max(1, held), max(held, min(_MOST_OPEN, choices))
    least, most = _wanted_sizes(wanted, choices)
    if not 1 <= least <= most:
        raise ValueError(f"n_features_to_select must be at least 1, and ascending, got {wanted!r}")
    too_many = size_warning(f"n_features_to_select={wanted!r}", least, most, choices)
    if too_many is not None:
        warnings.warn(too_many, SizeWarning, stacklevel=5)  # points to the call of fit
        least, most = min(least, choices), choices
    if most < held:
        raise ValueError(f"n_features_to_select={wanted!r}, but {held} are fixed: select more, or fix fewer")
    return max(least, held), most


def _wanted_sizes(wanted: Any, choices: int) -> tuple[int, int]:
    if isinstance(wanted, Integral) and not isinstance(wanted, bool):
        return int(wanted), int(wanted)
    if isinstance(wanted, Real) and 0.0 < float(wanted) < 1.0:
        return (max(1, int(choices * float(wanted))),) * 2
    if (
        isinstance(wanted, (tuple, list))
        and len(wanted) == 2
        and all(isinstance(size, Integral) for size in wanted)
    ):
        return int(wanted[0]), int(wanted[1])
    raise ValueError(
        "n_features_to_select must be a whole number, a fraction between 0 and 1, a pair (least, most), "
        f"'auto' or None, got {wanted!r}"
    )


def subset_covariance(data: Any, rankings: Rankings | None, problem: ColumnSubsets) -> Covariance:
    """Features are as alike as their correlations, and matter as much as the rankings suggest.

    A group is represented by its most relevant column.
    """
    relevance = np.ones(problem.columns) if rankings is None else rankings.relevance
    best = [max(sorted(one), key=relevance.__getitem__) for one in problem.choices.values()]
    rows = np.sort(np.random.default_rng(0).permutation(int(data.shape[0]))[:_ALIKE_ROWS])
    alike = correlation(numeric_table(_safe_indexing(data, rows), best))
    return SetKernel(Relevance(relevance[best], alike))


# Inputs of fit --------------------------------------------------------------------------------------


def validated_data(selector: Any, data: Any, target: Any) -> tuple[Any, Any]:
    """The data, from which columns can be taken, and the target.

    A data frame is returned unchanged. The selector gets ``n_features_in_`` and ``feature_names_in_``.
    """
    data = _validated_features(selector, data)
    _, target = indexable(data, target)
    if target is None and get_tags(selector).target_tags.required:
        name = type(selector).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    return data, target


def _validated_features(selector: Any, data: Any) -> Any:
    if hasattr(data, "iloc") and data.ndim == 2:
        validate_data(selector, data, skip_check_array=True)
        if len(data) == 0 or data.shape[1] == 0:
            raise ValueError(f"Found array with {len(data)} sample(s) and {data.shape[1]} feature(s).")
        return data
    allow_nan = get_tags(selector).input_tags.allow_nan
    checked = validate_data(
        selector, data, accept_sparse="csc", dtype=None, ensure_all_finite=not allow_nan, ensure_min_samples=2
    )
    if checked.dtype == object:
        with suppress(ValueError):  # the estimator may accept text, but no other objects
            check_array(checked, ensure_all_finite=False)
    return checked


def fold_splits(cv: Any, estimator: Any, data: Any, target: Any, params: Mapping[str, Any]) -> list[Any]:
    """Row numbers for training and for testing, for every fold."""
    splitter = check_cv(cv, target, classifier=is_classifier(estimator))
    splits = list(splitter.split(data, target, **params))
    if not splits:
        raise ValueError("cv gave no folds; an iterator can be used only once: give a list instead")
    return splits


def checked_scorer(estimator: Any, scoring: Any) -> Any:
    """The scorer that the argument ``scoring`` stands for."""
    if isinstance(scoring, (list, tuple, set, dict)):
        raise ValueError(f"scoring must be one score, by name or as a callable, got {scoring!r}")
    if isinstance(scoring, str):
        check_scorer_name("scoring", scoring)
    return check_scoring(estimator, scoring=scoring)


def check_scorer_name(argument: str, name: str) -> None:
    """Raise if scikit-learn has no scorer of this name."""
    if name not in get_scorer_names():
        advice = did_you_mean(name, get_scorer_names(), "see sklearn.metrics.get_scorer_names()")
        raise ValueError(f"{argument}: scikit-learn has no scorer {name!r}; {advice}")


def routed_metadata(selector: Any, scorer: Any, params: Mapping[str, Any]) -> Bunch:
    """The metadata for the estimator, the splitter and the scorer.

    Without metadata routing, weights go to the last step of a pipeline, and to the scorer if it accepts them,
    as in scikit-learn's searches.
    """
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
    """Parameters for fitting and for scoring with weights of the rows; none without weights."""
    if weights is None:
        return {}, {}
    score = {"sample_weight": weights} if _accepts_weights(scorer) else {}
    return {f"{last_step(estimator)}sample_weight": weights}, score


def last_step(estimator: Any) -> str:
    """What the parameters of the step that is fitted with weights begin with."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return prefix


def _accepts_weights(scorer: Any) -> bool:
    if hasattr(scorer, "_accept_sample_weight"):  # since scikit-learn 1.7
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
