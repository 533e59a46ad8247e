"""An honest estimate of what a selection achieves: all of it is repeated inside outer folds."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.typing import FloatArray
from dagsearch.data import REACH
from dagsearch.selection.bounds import score_bounds, within
from dagsearch.selection.confirm import standard_error
from dagsearch.selection.quiet import quiet
from dagsearch.selection.validation import routed_metadata


class HonestScore(NamedTuple):
    """The score of the whole selection on rows that it has not seen, by nested cross-validation."""

    score: float
    """Mean score over the outer folds."""
    interval: tuple[float, float]
    """Its central 90% interval."""
    scores: FloatArray
    """Score on each outer fold, shape ``(n_folds,)``."""
    frequency: FloatArray
    """Share of the outer folds in which each feature was selected, shape ``(n_features,)``."""
    stability: float
    """Mean overlap (intersection over union) of the features selected in two outer folds."""
    baseline: float | None
    """Mean score of predictions that use no feature; ``None`` if there is none to compare with."""

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types, without the frequencies."""
        kept = {name: value for name, value in self._asdict().items() if name != "frequency"}
        return {**kept, "interval": list(self.interval), "scores": self.scores.tolist()}


def nested_score(selector: Any, data: Any, target: Any, cv: Any, params: Mapping[str, Any]) -> HonestScore:
    """Repeat a selection inside every outer fold, and score it on the fold's test rows.

    Parameters
    ----------
    selector : DAGSearchSelector
        Its settings are used; it stays as it is.
    data, target
        All rows.
    cv : int, cross-validation generator or iterable
        The outer folds.
    params : mapping
        As in ``fit``. Values with one entry per row are cut to the fold's rows.
    """
    estimator, scorer = selector.estimator, check_scoring(selector.estimator, scoring=selector.scoring)
    routed = routed_metadata(selector, scorer, params)
    groups = {} if params.get("groups") is None else {"groups": params["groups"]}
    splits = list(check_cv(cv, target, classifier=is_classifier(estimator)).split(data, target, **groups))
    scores, supports, dull = [], [], []
    for train, test in splits:

        def of(rows: Any, of_rows: Mapping[str, Any]) -> dict[str, Any]:
            return dict(_check_method_params(data, params=of_rows, indices=rows))

        inner = clone(selector).set_params(journal=None, callbacks=None, verbose=0)
        inner._silent = selector._silent
        seen = _safe_indexing(data, train), _safe_indexing(target, train)
        inner.fit(*seen, **of(train, params))
        supports.append(inner.support_)
        columns = np.flatnonzero(inner.support_).tolist()
        unseen = _safe_indexing(data, test), _safe_indexing(target, test)
        known, new = (_safe_indexing(part[0], columns, axis=1) for part in (seen, unseen))
        with quiet() if selector._silent else nullcontext():
            fitted = clone(estimator).fit(known, seen[1], **of(train, routed.estimator.fit))
            scores.append(float(scorer(fitted, new, unseen[1], **of(test, routed.scorer.score))))
        dull.append(baseline_score(estimator, scorer, seen, unseen))
    return _summary(np.array(scores), np.array(supports), dull, score_bounds(scorer, estimator))


def _summary(
    scores: FloatArray, supports: Any, dull: list[float | None], bounds: tuple[float, float]
) -> HonestScore:
    mean, reach = float(scores.mean()), REACH * standard_error(scores, len(scores))
    pairs = [(a, b) for i, a in enumerate(supports) for b in supports[:i]]
    overlaps = [float((a & b).sum() / (a | b).sum()) for a, b in pairs]
    known = [score for score in dull if score is not None]
    return HonestScore(
        mean,
        within((mean - reach, mean + reach), bounds, mean),
        scores,
        supports.mean(axis=0),
        float(np.mean(overlaps)) if overlaps else 1.0,
        float(np.mean(known)) if len(known) == len(dull) else None,
    )


def baseline_score(
    estimator: Any, scorer: Any, seen: tuple[Any, Any], unseen: tuple[Any, Any]
) -> float | None:
    """Score on ``unseen`` rows of predictions that use no feature; ``None`` if the score does not allow it.

    The commonest class, or the mean of the target, of the rows that are ``seen`` is predicted.
    """
    dummy = DummyClassifier(strategy="prior") if is_classifier(estimator) else DummyRegressor()
    try:
        score = float(
            scorer(dummy.fit(np.zeros((len(seen[1]), 1)), seen[1]), np.zeros((len(unseen[1]), 1)), unseen[1])
        )
    except Exception:  # the scorer is the user's, and may need what a dummy does not have
        return None
    return score if np.isfinite(score) else None
