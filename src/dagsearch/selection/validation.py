"""The inputs of ``fit``: data, target, folds and metadata."""

from collections.abc import Mapping
from contextlib import suppress
from inspect import signature
from typing import Any

from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, check_array, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import validate_data


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
    return check_scoring(estimator, scoring=scoring)


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
