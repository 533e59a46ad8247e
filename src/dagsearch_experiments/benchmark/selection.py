"""``dagsearch benchmark selection``: our selector and those of other packages, on tables of scikit-learn.

All choose the same number of features and are judged by the same cross-validated score on the same folds.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problems import Subsets
from dagsearch.selection import SubsetScorer
from dagsearch.sklearn import DAGSearchSelector
from dagsearch_experiments.drawing import figure
from dagsearch_experiments.peers import (
    Peer,
    Trial,
    best_rewards,
    floating_selection,
    genetic_algorithm,
    hill_climbing,
    import_peer,
    sklearn_forward_selection,
)
from dagsearch_experiments.runner import Outcome, Row, curves, recorded_steps, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "DAGSearchSelector"
FOLDS = 5
BUDGET = 300


@dataclass(frozen=True)
class Task:
    """A table, an estimator, and the number ``k`` of features to choose."""

    data: FloatArray
    target: IntArray
    estimator: Any
    ranker: Any
    """An estimator with importances of features, for methods that need one."""
    k: int
    seed: int

    def splits(self) -> list[tuple[IntArray, IntArray]]:
        """The folds of this round."""
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        return list(folds.split(self.data, self.target))

    def problem(self) -> Subsets:
        """The subsets and their scores, for peers."""
        scoring = check_scoring(self.estimator, scoring="accuracy")
        score = SubsetScorer(self.estimator, scoring, self.data, self.target, self.splits(), {}, {})

        def accuracy(subset: frozenset[int]) -> float:
            scored = score(sorted(subset))
            # Discriminant analysis refuses pixels that are always black; peers cannot handle NaN.
            return 0.0 if scored.failure is not None else scored.mean

        return Subsets(self.data.shape[1], self.k, reward=accuracy)


def _table(load: Callable[..., Any], k: int, model: Any, seed: int) -> Task:
    data, target = load(return_X_y=True)
    estimator = make_pipeline(StandardScaler(), model)
    return Task(data, target, estimator, LogisticRegression(max_iter=1000), k, seed)


def _madelon(seed: int, features: int = 500) -> Task:
    data, target = make_classification(
        n_samples=600, n_features=features, n_informative=5, n_redundant=15, random_state=seed
    )
    forest = RandomForestClassifier(100, random_state=seed)
    return Task(data, target, KNeighborsClassifier(), forest, 5, seed)


TASKS: dict[str, Callable[[int], Task]] = {
    "breast_cancer, 5 of 30": partial(_table, load_breast_cancer, 5, LogisticRegression()),
    "wine, 4 of 13": partial(_table, load_wine, 4, LogisticRegression()),
    "digits, 10 of 64": partial(_table, load_digits, 10, LinearDiscriminantAnalysis()),
    "Madelon-like, 5 of 500": _madelon,
}


# Methods ------------------------------------------------------------------------------------------


def _ours(task: Task, budget: int, seed: int) -> list[Trial]:
    selector = DAGSearchSelector(
        task.estimator,
        n_features_to_select=task.k,
        budget=budget,
        scoring="accuracy",
        cv=task.splits(),
        random_state=seed,
    ).fit(task.data, task.target)
    return [
        Trial(frozenset(features), float(score), True, 0.0)
        for features, score in zip(
            selector.history_["features"], selector.history_["mean_test_score"], strict=True
        )
    ]


def _one_answer(task: Task, columns: Sequence[int]) -> list[Trial]:
    problem = task.problem()
    return [Trial(frozenset(columns), problem.reward(frozenset(columns)), True, 0.0)]


def _k_best(task: Task) -> tuple[list[Trial], int]:
    chosen = SelectKBest(k=task.k).fit(task.data, task.target).get_support(indices=True)
    return _one_answer(task, chosen.tolist()), 0


def _rfe(task: Task) -> tuple[list[Trial], int]:
    data = StandardScaler().fit_transform(task.data)
    step = 1 if data.shape[1] < 100 else 10
    selector = RFE(task.ranker, n_features_to_select=task.k, step=step).fit(data, task.target)
    fits = int(np.ceil((data.shape[1] - task.k) / step)) + 1
    return _one_answer(task, selector.get_support(indices=True).tolist()), fits


def _boruta(task: Task) -> tuple[list[Trial], int]:
    boruta = import_peer("boruta")
    forest = RandomForestClassifier(n_jobs=1, max_depth=5, random_state=task.seed)
    selector = boruta.BorutaPy(forest, n_estimators=100, max_iter=30, random_state=task.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector.fit(task.data, task.target)
    # Boruta decides which features matter at all: the most important of those ranked first are taken.
    strength = np.nan_to_num(selector.importance_history_[1:]).mean(axis=0)
    order = np.lexsort((-strength, selector.ranking_))
    return _one_answer(task, order[: task.k].tolist()), len(selector.importance_history_) - 1


SEARCHES: dict[str, Peer] = {"hill climbing": hill_climbing, "genetic algorithm": genetic_algorithm}
"""Methods that have an answer at any time and improve it."""
GREEDY: dict[str, Peer] = {
    "SequentialFeatureSelector": sklearn_forward_selection,
    "floating selection (mlxtend)": floating_selection,
}
"""Methods that have an answer only at the end, after scoring smaller subsets."""
RANKINGS: dict[str, Callable[[Task], tuple[list[Trial], int]]] = {
    "SelectKBest": _k_best,
    "RFE": _rfe,
    "Boruta": _boruta,
}
"""Methods that rank features without scoring subsets; they return their answer and the number of fits."""
METHODS = (OURS, *SEARCHES, *GREEDY, *RANKINGS)


# The benchmark ------------------------------------------------------------------------------------


def run(quick: bool, jobs: int, progress: bool) -> Outcome:
    """All methods on all tables."""
    rounds, budget = (1, 25) if quick else (3, BUDGET)
    names = list(TASKS)[1:2] if quick else list(TASKS)
    # Longest tasks first, so that no process has a long one left at the end.
    tasks = [
        (method, name, number, budget)
        for name in names[::-1]
        for method in METHODS[::-1]
        for number in range(rounds)
    ]
    rows = [*_overhead(20 if quick else 100), *run_rounds(_one, tasks, jobs, progress)]
    about = {"rounds": rounds, "budget": budget, "folds": FOLDS, "seconds_of": "all of a method's run"}
    return Outcome("selection", rows, about, {"selection": draw(rows)})


def _overhead(budget: int) -> list[Row]:
    """Milliseconds per subset: of the selector without scoring, and of scoring."""
    data, target = make_classification(1000, 50, n_informative=10, random_state=0)
    estimator = LogisticRegression()
    DAGSearchSelector(estimator, n_features_to_select=10, budget=12).fit(data, target)  # compiles
    scoring = check_scoring(estimator)
    folds = list(StratifiedKFold(FOLDS).split(data, target))
    score = SubsetScorer(estimator, scoring, data, target, folds, {}, {})
    selector = DAGSearchSelector(estimator, n_features_to_select=10, budget=budget, random_state=0)
    whole = [score(range(50)).seconds for _ in range(20)]
    began = time.perf_counter()
    selector.fit(data, target)
    own = time.perf_counter() - began - sum(selector.history_["score_time"])
    measured = {"own ms": own / budget, "5-fold logistic regression ms": float(np.median(whole))}
    return [Row(OURS, f"overhead, {what}", 0, budget, 1e3 * value) for what, value in measured.items()]


def _one(method: str, name: str, number: int, budget: int) -> list[Row]:
    task = TASKS[name](number)
    began = time.perf_counter()
    if method in RANKINGS:
        trials, fits = RANKINGS[method](task)
        fits += FOLDS
    else:
        if method == OURS:
            trials = _ours(task, budget, number)
        elif method in SEARCHES:
            trials = SEARCHES[method](task.problem(), budget, number)
        else:
            trials = GREEDY[method](task.problem(), 10_000, number)
        fits = FOLDS * len(trials)
    seconds = time.perf_counter() - began
    best = best_rewards(trials)
    ends = {"end": float(best[-1]), "fits": float(fits), "seconds": seconds}
    # At step 0: greedy methods end at different steps in different rounds.
    rows = [Row(method, f"{name}, {what}", number, 0, value) for what, value in ends.items()]
    if method == OURS or method in SEARCHES:
        # A method that proposes nothing new keeps its answer.
        steps = recorded_steps(budget, 1.1)
        rows += [Row(method, name, number, step, float(best[min(step, len(best)) - 1])) for step in steps]
    return rows


def draw(rows: Sequence[Row]) -> "Figure":
    """Best score against scored subsets, one panel per table; methods with one answer as a point."""
    found = curves(rows)
    names = [name for name in TASKS if (OURS, name) in found]
    across = min(2, len(names))
    down = (len(names) + 1) // 2
    drawn = figure(5.5 * across, 3.8 * down)
    panels = np.atleast_1d(drawn.subplots(down, across)).ravel()
    for panel, name in zip(panels, names, strict=False):
        ends = [float(found[method, f"{name}, end"].mean[0]) for method in METHODS]
        for number, (method, end) in enumerate(zip(METHODS, ends, strict=True)):
            style: dict[str, Any] = {"color": f"C{number}", "label": method}
            if (method, name) in found:
                curve = found[method, name]
                panel.plot(curve.steps, curve.mean, linewidth=2.4 if method == OURS else 1.2, **style)
            else:
                subsets = found[method, f"{name}, fits"].mean[0] / FOLDS
                panel.plot([subsets], [end], marker="sD^vo"[number % 5], linestyle="", **style)
        panel.set(title=name, xlabel="subsets scored, or a fifth of the fits", ylabel="best accuracy so far")
        panel.set(xscale="log", ylim=(min(ends) - 0.02, max(ends) + 0.005))
    panels[0].legend(fontsize="x-small", loc="lower right")
    return drawn
