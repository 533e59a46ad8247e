"""``python -m experiments benchmark selection``: our selector and others, on twelve tables.

Every method selects on the same rows, with the same folds, and is scored on the same held-out rows.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge, lasso_path
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.selection import SubsetScorer
from dagsearch.selection.rankings import numeric_table, standardised
from dagsearch.sklearn import DAGSearchSelector
from experiments.benchmarks.selection_tables import TASKS, Task
from experiments.harness.curves import curves
from experiments.harness.drawing import panels
from experiments.harness.markdown import table
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, Row, kept, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "DAGSearchSelector"
FOLDS, BUDGET = 5, 100
# Fraction of the rows that is held out.
_HELD_OUT = 0.3
# If there are more columns, forward selection chooses from this number of top columns by univariate score.
_MOST_GREEDY = 60


class Round(NamedTuple):
    """One split of a table."""

    data: Any
    """Features of the rows for selection."""
    target: Any
    unseen: Any
    """Features of the held-out rows."""
    unseen_target: Any
    task: Task
    """The table."""
    seed: int

    @property
    def splits(self) -> list[tuple[IntArray, IntArray]]:
        """The folds."""
        kind = StratifiedKFold if self.task.classification else KFold
        return list(kind(FOLDS, shuffle=True, random_state=self.seed).split(self.data, self.target))

    @property
    def numbers(self) -> FloatArray:
        """The features as standardised numbers, for methods that need them."""
        return standardised(numeric_table(self.data, range(self.data.shape[1])))

    @property
    def scoring(self) -> Any:
        """The score of a fitted estimator."""
        return check_scoring(self.task.estimator)

    def scorer(self) -> SubsetScorer:
        """Scores columns on the folds."""
        return SubsetScorer(self.task.estimator, self.scoring, self.data, self.target, self.splits, {}, {})

    def fitted(self, columns: Sequence[int]) -> Any:
        """The estimator, fitted to some columns."""
        return clone(self.task.estimator).fit(_safe_indexing(self.data, list(columns), axis=1), self.target)

    def judged(self, columns: Sequence[int]) -> float:
        """Score of columns on rows that took no part in the selection: fresh ones, or those held out."""
        data, target = (self.unseen, self.unseen_target) if self.task.fresh is None else self.task.fresh
        return float(self.scoring(self.fitted(columns), _safe_indexing(data, list(columns), axis=1), target))


def split_of(task: Task, number: int, held_out: float = _HELD_OUT) -> Round:
    """A split of a table; ``held_out`` is the fraction or the number of held-out rows."""
    rows = np.arange(len(task.target))
    stratify = task.target if task.classification else None
    train, test = train_test_split(rows, test_size=held_out, random_state=number, stratify=stratify)
    data, unseen = (_safe_indexing(task.data, some) for some in (train, test))
    target, unseen_target = (_safe_indexing(task.target, some) for some in (train, test))
    return Round(data, target, unseen, unseen_target, task, number)


# Methods: each returns the chosen columns and the number of fits --------------------------------------

Answer = tuple[Sequence[int], int]


def selected(part: Round, k: int | str, budget: int) -> tuple[DAGSearchSelector, int]:
    """A fitted selector, and the number of its fits in addition to the subsets'."""
    settings: dict[str, Any] = {"n_features_to_select": k, "cv": part.splits, "random_state": part.seed}
    selector = DAGSearchSelector(part.task.estimator, budget=budget, **settings).fit(part.data, part.target)
    return selector, 0 if selector._run.repeated is None else selector._run.repeated.fits


def _ours(part: Round, budget: int) -> Answer:
    selector, extra = selected(part, part.task.k, budget)
    fits = FOLDS * len(selector.history_["features"]) + extra
    return np.flatnonzero(selector.support_).tolist(), fits


def ranked_by_test(part: Round) -> list[int]:
    """The columns by univariate score, the best first."""
    test = f_classif if part.task.classification else f_regression
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # constant columns
        strength = SelectKBest(test, k="all").fit(part.numbers, part.target).scores_
    order: list[int] = np.argsort(-np.nan_to_num(strength), kind="stable").tolist()
    return order


def _rfe(part: Round, budget: int) -> Answer:
    model = LogisticRegression(max_iter=300) if part.task.classification else Ridge()
    width = part.numbers.shape[1]
    selector = RFE(model, n_features_to_select=part.task.k, step=1 if width < 100 else 0.1)
    selector.fit(part.numbers, part.target)
    fits = width - part.task.k if width < 100 else 2 * int(np.log(width / part.task.k) / 0.1)
    return selector.get_support(indices=True).tolist(), fits


def _l1(part: Round, budget: int) -> Answer:
    """The columns that enter the lasso first, for any class."""
    target = np.asarray(part.target)
    aims = target[:, None] == np.unique(target) if part.task.classification else target[:, None]
    entered = np.zeros(part.data.shape[1])
    for aim in standardised(aims.astype(np.float64)).T:
        penalties, weights, _ = lasso_path(part.numbers, aim, eps=0.02, alphas=30, max_iter=300, tol=1e-2)
        last = 1.0 + 1e-3 * np.abs(weights[:, -1])  # breaks ties
        entered = np.maximum(entered, np.where(weights != 0.0, penalties, 0.0).max(axis=1) * last)
    return np.argsort(-entered, kind="stable")[: part.task.k].tolist(), 1


def _boruta(part: Round, budget: int) -> Answer:
    boruta = import_peer("boruta")
    kind = RandomForestClassifier if part.task.classification else RandomForestRegressor
    forest = kind(n_jobs=1, max_depth=5, random_state=part.seed)
    selector = boruta.BorutaPy(forest, n_estimators=100, max_iter=30, random_state=part.seed)
    selector.fit(part.numbers, np.asarray(part.target))
    # Boruta decides which features matter at all: choose the most important ones of its top rank.
    strength = np.nan_to_num(selector.importance_history_[1:]).mean(axis=0)
    order = np.lexsort((-strength, selector.ranking_))
    return order[: part.task.k].tolist(), len(selector.importance_history_) - 1


def _mrmr(part: Round, budget: int) -> Answer:
    mrmr, data, target = import_peer("mrmr"), pd.DataFrame(part.numbers), pd.Series(part.target)
    choose = mrmr.mrmr_classif if part.task.classification else mrmr.mrmr_regression
    return [int(one) for one in choose(data, target, part.task.k, show_progress=False, n_jobs=1)], 0


def _searched(part: Round, draws: Iterable[Sequence[int]]) -> Answer:
    """The best of some subsets, after scoring all of them."""
    score, scored = part.scorer(), dict[frozenset[int], float]()
    for columns in draws:
        if frozenset(columns) not in scored:
            found = score(columns)
            scored[frozenset(columns)] = -math.inf if found.failure is not None else found.mean
    best, _ = max(scored.items(), key=lambda one: one[1])
    return sorted(best), FOLDS * len(scored)


def _random(part: Round, budget: int) -> Answer:
    rng, width = np.random.default_rng(part.seed), part.data.shape[1]
    return _searched(part, (rng.choice(width, part.task.k, replace=False).tolist() for _ in range(budget)))


def _forward(part: Round, budget: int) -> Answer:
    """Add the best column until there are k, like scikit-learn's SequentialFeatureSelector."""
    columns = ranked_by_test(part)[: max(_MOST_GREEDY, 2 * part.task.k)]
    chosen, fits = list[int](), 0
    for _ in range(part.task.k):
        found, spent = _searched(part, ([*chosen, one] for one in columns if one not in chosen))
        chosen, fits = list(found), fits + spent
    return chosen, fits


METHODS: dict[str, Callable[[Round, int], Answer]] = {
    OURS: _ours,
    "SelectKBest": lambda part, budget: (ranked_by_test(part)[: part.task.k], 0),
    "RFE": _rfe,
    "L1": _l1,
    "mRMR": _mrmr,
    "Boruta": _boruta,
    "forward selection": _forward,
    "random search": _random,
    "all columns": lambda part, budget: (range(part.data.shape[1]), 0),
}


# The benchmark ------------------------------------------------------------------------------------


def run(quick: bool, jobs: int, methods: Sequence[str] = (), keep: Path | None = None) -> Outcome:
    """All methods on all tables, or only some; the others' results may come from the folder ``keep``."""
    budget = 15 if quick else BUDGET
    names = list(TASKS)[1:2] if quick else list(TASKS)
    splits = {name: 1 if quick else TASKS[name]().splits for name in names}
    # Longest tasks first, so that no process starts a long one at the end.
    tasks = [
        (method, name, number, budget)
        for method in list(METHODS)[::-1]
        if not methods or method in methods
        for name in names[::-1]
        for number in range(splits[name])
    ]
    for package in ("boruta", "mrmr"):
        import_peer(package)  # now, before hours of other methods
    rows = run_rounds(_one, tasks, jobs)
    about = {"splits": splits, "budget": budget, "folds": FOLDS, "held_out": _HELD_OUT}
    about["methods"] = list(methods or METHODS)
    if keep is not None:
        earlier, source = kept(keep, "selection", lambda row: row.method in set(METHODS) - set(methods))
        rows, about = rows + earlier, about | source
    return Outcome("selection", rows, about, {"selection": draw(rows)})


def _one(method: str, name: str, number: int, budget: int) -> list[Row]:
    part = split_of(TASKS[name](), number)
    began = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):  # not converged, with many columns
        columns, fits = METHODS[method](part, budget)
    seconds = time.perf_counter() - began
    found = {
        "held out": part.judged(columns),
        "cross-validated": part.scorer()(columns).mean,
        "fits": float(fits),
        "seconds": seconds,
    }
    return [Row(method, f"{name}, {what}", number, 0, value) for what, value in found.items()]


def standings(rows: Sequence[Row]) -> str:
    """The number of tables where ours is ahead, level or behind; level is within one standard error."""
    found, counts, behind_on = curves(rows), list[list[str]](), set[str]()
    for method in [method for method in METHODS if method != OURS]:
        results = {
            name: (found[OURS, f"{name}, held out"], found[method, f"{name}, held out"]) for name in TASKS
        }
        gaps = {name: ours.less(other, 0) for name, (ours, other) in results.items()}
        behind = {name for name, gap in gaps.items() if gap.value < -gap.error}
        ahead = sum(gap.value > gap.error for gap in gaps.values())
        counts.append([method, str(ahead), str(len(TASKS) - ahead - len(behind)), str(len(behind))])
        behind_on |= behind
    never = len(TASKS) - len(behind_on)
    counts.append([f"tables where no method is ahead of ours: {never} of {len(TASKS)}", "", "", ""])
    return table(["against", "ours ahead", "level", "ours behind"], counts)


def draw(rows: Sequence[Row]) -> "Figure":
    """Held-out score of every method with its standard error, one panel per table."""
    found = curves(rows)
    names = [name for name in TASKS if (OURS, f"{name}, held out") in found]
    drawn, places = panels(len(names), 3)
    for panel, name in zip(places, names, strict=True):
        methods = [method for method in METHODS if (method, f"{name}, held out") in found]
        for place, method in enumerate(methods):
            curve = found[method, f"{name}, held out"]
            colour = "C0" if method == OURS else "0.5"
            panel.errorbar([curve.mean[0]], [place], xerr=[curve.error[0]], fmt="o", color=colour)
        panel.set_yticks(range(len(methods)), methods, fontsize="x-small")
        panel.invert_yaxis()
        panel.set_title(name, fontsize="small")
    return drawn
