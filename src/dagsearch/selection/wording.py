"""What a report says in words: its first sentence, and what was asked."""

from collections.abc import Mapping
from typing import Any

from sklearn.utils import get_tags

_METRICS = {
    "r2": "R²",
    "f1": "F1",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "neg_log_loss": "negative log loss",
    "neg_mean_squared_error": "negative mean squared error",
    "neg_root_mean_squared_error": "negative root mean squared error",
    "neg_mean_absolute_error": "negative mean absolute error",
}
# From this inclusion probability on, a feature counts as nearly certain.
_CERTAIN = 0.9


def shown_settings(selector: Any) -> dict[str, Any]:
    """The parameters of a selector that are set, and the task."""
    kinds = {"classifier": "classification", "regressor": "regression"}
    task = kinds.get(str(get_tags(selector.estimator).estimator_type))
    settings = {"task": task, **selector.get_params(deep=False)}
    return {name: value for name, value in settings.items() if value is not None}


def metric_of(settings: Mapping[str, Any]) -> str:
    """The name of the score, for a sentence."""
    name = str(settings.get("scoring") or "score")
    if not name.replace("_", "").isalnum():  # a callable
        return "score"
    return _METRICS.get(name, name.replace("neg_", "negative ").replace("_", " "))


def headline(content: Mapping[str, Any]) -> str:
    """One sentence: what was found, and how certain it is."""
    result, data = content["result"], content["data"]
    count, metric = len(result["features"]), metric_of(content["settings"])
    target = content["settings"].get("target")
    what = f"With {count} of {data['columns']} features"
    if target is not None:
        what += f", predicting {target!r} reaches"
    else:
        what += ", the estimator reaches"
    if result["holdout_score"] is not None:
        found = f"{metric} {_number(result['holdout_score'])} on {data['holdout_rows']} held-out rows"
        everything = next((one for one in content["comparisons"] if one["name"] == "all features"), None)
        if everything is not None and everything["holdout_score"] is not None:
            found += f" (all features: {_number(everything['holdout_score'])})"
    else:
        found = f"a cross-validated {metric} of {_number(result['score'])}, which is too optimistic"
    return f"{what} {found}; {_certainty(content)}."


def _certainty(content: Mapping[str, Any]) -> str:
    """How certain the choice of features is."""
    chances = [feature["inclusion"] for feature in content["features"] if feature["selected"]]
    if any(chance is None for chance in chances) or not chances:
        return "how certain the choice is, is not known"
    certain = sum(chance >= _CERTAIN for chance in chances)
    if certain == len(chances):
        return (
            "the choice is nearly certain" if certain == 1 else "each of them is nearly certain to be needed"
        )
    if certain == 0:
        return "none of them is certain to be needed: other subsets are about as good"
    needed = f"{certain} of them {'is' if certain == 1 else 'are'} nearly certain to be needed"
    rest = len(chances) - certain
    return f"{needed}, the other {'one' if rest == 1 else rest} may be exchanged for others"


def question(content: Mapping[str, Any]) -> str:
    """Task, metric, estimator and data in one line."""
    settings, data = content["settings"], content["data"]
    parts = [
        settings.get("task"),
        f"scored by {metric_of(settings)}",
        settings.get("estimator"),
        f"{data['rows']} rows",
    ]
    return " · ".join(str(part) for part in parts if part)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10.0 else f"{value:.4g}"
