"""``python -m experiments benchmark selection``: our selector and those of other packages, on twelve tables.

Every method selects on the same rows, with the same folds, and is judged by the rows that were held out.
"""

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.selection import SubsetScorer
from dagsearch.selection.rankings import numeric_table, ranked, standardised
from dagsearch.sklearn import DAGSearchSelector
from experiments.benchmarks.selection_tables import TASKS
from experiments.benchmarks.subset_peers import (
    Peer,
    floating_selection,
    random_subsets,
    sklearn_forward_selection,
)
from experiments.harness.drawing import figure
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, Row, curves, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)

OURS = "DAGSearchSelector"
FOLDS, BUDGET = 5, 100
# Part of the rows that is held out.
_HELD_OUT = 0.3
# Forward and floating selection choose from this number of columns, the best one by one, if there are more.
_MOST_GREEDY = 60


class Round(NamedTuple):
    """One split of a table."""

    data: Any
    """Features of the rows to select by."""
    target: Any
    unseen: Any
    """Features of the held-out rows."""
    unseen_target: Any
    estimator: Any
    k: int
    classification: bool
    seed: int
    fresh: tuple[Any, Any] | None
    """Many more rows and their target, where there are any."""

    @property
    def splits(self) -> list[tuple[IntArray, IntArray]]:
        """The folds."""
        kind = StratifiedKFold if self.classification else KFold
        return list(kind(FOLDS, shuffle=True, random_state=self.seed).split(self.data, self.target))

    @property
    def numbers(self) -> FloatArray:
        """The features as standardised numbers, for methods that need them."""
        return standardised(numeric_table(self.data, range(self.data.shape[1])))

    def scorer(self) -> SubsetScorer:
        """Scores columns on the folds."""
        scoring = check_scoring(self.estimator)
        return SubsetScorer(self.estimator, scoring, self.data, self.target, self.splits, {}, {})

    def judged(self, columns: Sequence[int]) -> float:
        """Score of columns on rows that took no part in the selection: fresh ones, or those held out."""
        chosen = list(columns)
        fitted = clone(self.estimator).fit(_safe_indexing(self.data, chosen, axis=1), self.target)
        data, target = (self.unseen, self.unseen_target) if self.fresh is None else self.fresh
        return float(check_scoring(self.estimator)(fitted, _safe_indexing(data, chosen, axis=1), target))


def _round(name: str, number: int) -> Round:
    task = TASKS[name]()
    rows = np.arange(len(task.target))
    stratify = task.target if task.classification else None
    train, test = train_test_split(rows, test_size=_HELD_OUT, random_state=number, stratify=stratify)
    return Round(
        _safe_indexing(task.data, train),
        _safe_indexing(task.target, train),
        _safe_indexing(task.data, test),
        _safe_indexing(task.target, test),
        task.estimator,
        task.k,
        task.classification,
        number,
        task.fresh,
    )


# Methods: each returns the chosen columns and the number of fits it took ------------------------------

Answer = tuple[Sequence[int], int]


def _ours(part: Round, budget: int) -> Answer:
    kind = StratifiedKFold if part.classification else KFold
    folds = kind(FOLDS, shuffle=True, random_state=part.seed)
    settings: dict[str, Any] = {"n_features_to_select": part.k, "cv": folds, "random_state": part.seed}
    selector = DAGSearchSelector(part.estimator, budget=budget, **settings).fit(part.data, part.target)
    extra = 0 if selector._run.repeated is None else selector._run.repeated.fits
    fits = FOLDS * len(selector.history_["features"]) + extra
    return np.flatnonzero(selector.support_).tolist(), fits


def _k_best(part: Round, budget: int) -> Answer:
    return _ranked_by_test(part)[: part.k], 0


def _ranked_by_test(part: Round) -> list[int]:
    test = f_classif if part.classification else f_regression
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # columns that do not vary
        strength = SelectKBest(test, k="all").fit(part.numbers, part.target).scores_
    order: list[int] = np.argsort(-np.nan_to_num(strength), kind="stable").tolist()
    return order


def _rfe(part: Round, budget: int) -> Answer:
    model = LogisticRegression(max_iter=300) if part.classification else Ridge()
    width = part.numbers.shape[1]
    selector = RFE(model, n_features_to_select=part.k, step=1 if width < 100 else 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged, with many columns
        selector.fit(part.numbers, part.target)
    fits = width - part.k if width < 100 else 2 * int(np.log(width / part.k) / 0.1)
    return selector.get_support(indices=True).tolist(), fits


def _l1(part: Round, budget: int) -> Answer:
    rankings = ranked(part.data, part.target, part.classification)
    assert rankings is not None
    return np.argsort(-rankings.lasso, kind="stable")[: part.k].tolist(), 1


def _boruta(part: Round, budget: int) -> Answer:
    boruta = import_peer("boruta")
    kind = RandomForestClassifier if part.classification else RandomForestRegressor
    forest = kind(n_jobs=1, max_depth=5, random_state=part.seed)
    selector = boruta.BorutaPy(forest, n_estimators=100, max_iter=30, random_state=part.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector.fit(part.numbers, np.asarray(part.target))
    # Boruta decides which features matter at all: the most important of those ranked first are taken.
    strength = np.nan_to_num(selector.importance_history_[1:]).mean(axis=0)
    order = np.lexsort((-strength, selector.ranking_))
    return order[: part.k].tolist(), len(selector.importance_history_) - 1


def _mrmr(part: Round, budget: int) -> Answer:
    import pandas as pd

    mrmr = import_peer("mrmr")
    choose = mrmr.mrmr_classif if part.classification else mrmr.mrmr_regression
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose(
            pd.DataFrame(part.numbers), pd.Series(part.target), part.k, show_progress=False, n_jobs=1
        )
    return [int(column) for column in found], 0


def _searched(search: Peer, part: Round, columns: Sequence[int], budget: int) -> Answer:
    """The best of the subsets that a search has scored."""
    score = part.scorer()

    def reward(chosen: IntArray) -> float:
        scored = score([columns[place] for place in chosen])
        return -1.0 if scored.failure is not None else scored.mean

    evaluate = Evaluations(reward, budget, key=lambda chosen: frozenset(chosen.tolist()))
    with suppress(BudgetSpent):
        search(evaluate, len(columns), part.k, part.seed)
    known = zip(evaluate.rewards, evaluate.points, strict=True)
    _, best = max((one for one in known if len(one[1]) == part.k), key=lambda one: one[0])
    return [columns[place] for place in sorted(best.tolist())], FOLDS * len(evaluate.points)


def _random(part: Round, budget: int) -> Answer:
    return _searched(random_subsets, part, range(part.data.shape[1]), budget)


def _greedy(search: Peer) -> Callable[[Round, int], Answer]:
    def choose(part: Round, budget: int) -> Answer:
        columns = sorted(_ranked_by_test(part)[: max(_MOST_GREEDY, 2 * part.k)])
        return _searched(search, part, columns, 100_000)

    return choose


def _all(part: Round, budget: int) -> Answer:
    return range(part.data.shape[1]), 0


METHODS: dict[str, Callable[[Round, int], Answer]] = {
    OURS: _ours,
    "SelectKBest": _k_best,
    "RFE": _rfe,
    "L1": _l1,
    "mRMR": _mrmr,
    "Boruta": _boruta,
    "forward selection": _greedy(sklearn_forward_selection),
    "floating selection": _greedy(floating_selection),
    "random search": _random,
    "all columns": _all,
}


# The benchmark ------------------------------------------------------------------------------------


def run(quick: bool, jobs: int, progress: bool = True) -> Outcome:
    """All methods on all tables."""
    budget = 15 if quick else BUDGET
    names = list(TASKS)[1:2] if quick else list(TASKS)
    splits = {name: 1 if quick else TASKS[name]().splits for name in names}
    methods, missing = _installed()
    # Longest tasks first, so that no process has a long one left at the end.
    tasks = [
        (method, name, number, budget)
        for method in methods[::-1]
        for name in names[::-1]
        for number in range(splits[name])
    ]
    rows = [*_overhead(20 if quick else 100), *run_rounds(_one, tasks, jobs, progress)]
    about = {"splits": splits, "budget": budget, "folds": FOLDS, "held_out": _HELD_OUT, "missing": missing}
    return Outcome("selection", rows, about, {"selection": draw(rows)})


def _installed() -> tuple[list[str], list[str]]:
    """The methods whose packages are installed, and the others."""
    packages = {"Boruta": "boruta", "mRMR": "mrmr", "floating selection": "mlxtend"}
    missing = []
    for method, package in packages.items():
        try:
            import_peer(package)
        except ModuleNotFoundError as error:
            logger.warning("%s is left out: %s", method, error)
            missing.append(method)
    return [method for method in METHODS if method not in missing], missing


def _overhead(budget: int) -> list[Row]:
    """Milliseconds per subset: of the selector without scoring, and of scoring."""
    data, target = make_classification(1000, 50, n_informative=10, random_state=0)
    estimator = LogisticRegression()
    settings: dict[str, Any] = {"n_features_to_select": 10, "random_state": 0}
    DAGSearchSelector(estimator, budget=12, **settings).fit(data, target)  # compiles
    folds = list(StratifiedKFold(FOLDS).split(data, target))
    score = SubsetScorer(estimator, check_scoring(estimator), data, target, folds, {}, {})
    whole = [score(range(50)).seconds for _ in range(20)]
    selector = DAGSearchSelector(estimator, budget=budget, **settings)
    began = time.perf_counter()
    selector.fit(data, target)
    own = time.perf_counter() - began - sum(selector.history_["score_time"])
    measured = {"own ms": own / budget, "5-fold logistic regression ms": float(np.median(whole))}
    return [Row(OURS, f"overhead, {what}", 0, budget, 1e3 * value) for what, value in measured.items()]


def _one(method: str, name: str, number: int, budget: int) -> list[Row]:
    part = _round(name, number)
    began = time.perf_counter()
    columns, fits = METHODS[method](part, budget)
    seconds = time.perf_counter() - began
    found = {
        "held out": part.judged(columns),
        "cross-validated": part.scorer()(columns).mean,
        "fits": float(fits),
        "seconds": seconds,
    }
    return [Row(method, f"{name}, {what}", number, 0, value) for what, value in found.items()]


class Standing(NamedTuple):
    """Our selector against another method on a table, on held-out rows."""

    ahead: float
    """Mean difference of the scores over the splits."""
    error: float
    """Its standard error."""

    @property
    def behind(self) -> bool:
        """Whether ours is behind by more than one standard error."""
        return self.ahead < -self.error


def standings(rows: Sequence[Row]) -> dict[tuple[str, str], Standing]:
    """Ours against every other method, by method and table."""
    found = curves(rows)
    compared = {}
    for name in TASKS:
        setting = f"{name}, held out"
        if (OURS, setting) not in found:
            continue
        ours = found[OURS, setting].values[:, 0]
        for method in METHODS:
            if method != OURS and (method, setting) in found:
                difference = ours - found[method, setting].values[:, 0]
                spread = float(difference.std(ddof=1)) if len(difference) > 1 else 0.0
                compared[method, name] = Standing(float(difference.mean()), spread / len(difference) ** 0.5)
    return compared


def draw(rows: Sequence[Row]) -> "Figure":
    """Held-out score of every method with its standard error, one panel per table."""
    found = curves(rows)
    names = [name for name in TASKS if (OURS, f"{name}, held out") in found]
    across = min(3, len(names))
    down = -(-len(names) // across)
    drawn = figure(4.6 * across, 3.0 * down)
    panels = np.atleast_1d(drawn.subplots(down, across)).ravel()
    for panel, name in zip(panels, names, strict=False):
        methods = [method for method in METHODS if (method, f"{name}, held out") in found]
        for place, method in enumerate(methods):
            curve = found[method, f"{name}, held out"]
            colour = "C0" if method == OURS else "0.5"
            panel.errorbar([curve.mean[0]], [place], xerr=[curve.error[0]], fmt="o", color=colour)
        panel.set_yticks(range(len(methods)), methods, fontsize="x-small")
        panel.invert_yaxis()
        panel.set_title(name, fontsize="small")
    for panel in panels[len(names) :]:
        panel.remove()
    return drawn
