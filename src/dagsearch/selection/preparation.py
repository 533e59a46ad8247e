"""Preparation of a table's columns for an estimator that accepts complete numbers only."""

from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def prepared(model: Any) -> Pipeline:
    """The model after a preparation of its columns.

    Numbers are imputed by their median and scaled, other columns imputed by their most frequent value and
    encoded.
    """
    numeric = make_column_selector(dtype_include=["number", "bool"])
    other = make_column_selector(dtype_exclude=["number", "bool"])
    preparation = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (
            make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
            other,
        ),
    )
    return make_pipeline(preparation, model)


def is_prepared(estimator: Any) -> bool:
    """Whether an estimator was made by :func:`prepared`."""
    steps = getattr(estimator, "steps", [])
    return len(steps) == 2 and isinstance(steps[0][1], ColumnTransformer)
