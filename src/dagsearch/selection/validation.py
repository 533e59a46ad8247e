"""The inputs of ``fit``: data, target, folds and metadata."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
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


def routed_metadata(selector: Any, params: Mapping[str, Any]) -> Bunch:
    """The metadata for the estimator, the splitter and the scorer."""
    if get_config()["enable_metadata_routing"]:
        return process_routing(selector, "fit", **params)
    unknown = sorted(set(params) - {"sample_weight", "groups"})
    if unknown:
        raise TypeError(
            f"fit got {unknown[0]!r}: without metadata routing it passes on only sample_weight and groups; "
            "see sklearn.set_config(enable_metadata_routing=True)"
        )
    weights = {name: params[name] for name in ("sample_weight",) if params.get(name) is not None}
    rows = {name: params[name] for name in ("groups",) if params.get(name) is not None}
    return Bunch(estimator=Bunch(fit=weights), splitter=Bunch(split=rows), scorer=Bunch(score={}))
