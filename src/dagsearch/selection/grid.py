"""Hyperparameter search over the grids of scikit-learn's ``GridSearchCV``."""

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from functools import partial
from numbers import Integral
from operator import itemgetter
from os import PathLike
from typing import Any, Self, cast

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._split import _yields_constant_splits
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from dagsearch._internal.texts import shown
from dagsearch.errors import StorageError
from dagsearch.problems.choices import Choices
from dagsearch.search import Search
from dagsearch.selection.batches import BatchRun, identity_of
from dagsearch.space.chosen import Chosen
from dagsearch.storage.log import has_begun, without_addresses

Candidate = dict[str, Any]
"""Values by parameter."""
Folds = list[dict[str, Any]]
"""Scikit-learn's record of the fits of one candidate: times and scores, a dictionary for every fold."""

# The choice between several dicts; no parameter has this name.
_DICT = "(dict)"
# Number of random candidates among the first.
_RANDOM = 2


class GridProblem(Choices):
    """The candidates of a parameter grid as one space of named choices.

    With several dicts, the first choice is the dict, and the others depend on it. Numbers and text are
    options themselves, so that the search knows the order and distance of numbers. Other values are options
    by their ``repr``.

    Parameters
    ----------
    grids : sequence of dicts
        Lists of values by parameter.
    digest : str
        Identifies everything that the scores depend on.
    """

    def __init__(self, grids: Sequence[Mapping[str, Sequence[Any]]], digest: str = "") -> None:
        self._digest, several = digest, len(grids) > 1
        self._known: dict[str, dict[str, Hashable]] = {name: {} for grid in grids for name in sorted(grid)}
        self._value: dict[tuple[str, Hashable], Any] = {}
        self.options = [
            {name: tuple(dict.fromkeys(self._option(name, value) for value in grid[name])) for name in grid}
            for grid in grids
        ]
        """The options of every dict."""
        places: dict[str, Any] = {_DICT: range(len(grids))} if several else {}
        for name in self._known:
            places[name] = partial(self._of_dict, name) if several else self.options[0][name]
        super().__init__(places)

    def _option(self, name: str, given: Any) -> Hashable:
        """The option for a value: the value if it is a number or text, else a unique text."""
        known, value = self._known[name], given.item() if isinstance(given, np.generic) else given
        try:
            key = identity_of(value)  # distinguishes 1, 1.0 and True
        except StorageError:
            key = f"object {id(value)}"
        if key not in known:
            option = value if _is_number(value) else _text(value)
            while option in known.values():
                option = f"{option} (another)"
            known[key] = option
            self._value[name, option] = given
        return known[key]

    def _of_dict(self, name: str, chosen: Mapping[str, Any]) -> tuple[Hashable, ...] | None:
        """The options of a parameter in the chosen dict; ``None`` if the dict does not have it."""
        options: dict[str, tuple[Hashable, ...]] = self.options[chosen[_DICT]]
        return options.get(name)

    def candidate(self, leaf: Mapping[str, Hashable]) -> Candidate:
        """The values of a leaf, in the order of ``ParameterGrid``."""
        return {name: self._value[name, leaf[name]] for name in sorted(leaf) if name != _DICT}

    def nearest(self, estimator: Any) -> list[Chosen]:
        """The candidate of every dict that is nearest to the parameters of the estimator and its steps.

        Grids are usually built around them. The candidate that changes fewest parameters comes first.
        """
        present, found = estimator.get_params(), list[tuple[int, Chosen]]()
        for number, grid in enumerate(self.options):
            chosen, changed = dict[str, Any]({_DICT: number} if len(self.options) > 1 else {}), 0
            for name in sorted(grid):  # a step before its parameters
                step, _, parameter = name.rpartition("__")
                own = self._value[step, chosen[step]] if step in chosen else None
                of_step = own.get_params() if isinstance(own, BaseEstimator) else {}
                aim = of_step.get(parameter, present.get(name))
                chosen[name] = _nearest(grid[name], aim)
                changed += aim is not None and chosen[name] not in (aim, _text(aim))
            found.append((changed, self.leaf(chosen)))
        return [leaf for _, leaf in sorted(found, key=itemgetter(0))]

    def identity(self) -> str:
        """A digest of all options and of everything that the scores depend on."""
        return f"{super().identity()} {self._digest}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else without_addresses(shown(value))


def _nearest(options: Sequence[Hashable], aim: Any) -> Hashable:
    """The option for a value, else the nearest number; if the value is not a number, the middle option."""
    numbers = sorted(cast(Any, option) for option in options if _is_number(option))
    if numbers and _is_number(aim):
        return cast(Hashable, min(numbers, key=lambda number: abs(number - aim)))
    if _text(aim) in options:
        return _text(aim)
    return numbers[len(numbers) // 2] if numbers else options[0]


# The run ---------------------------------------------------------------------------------------------


class _SameFolds:
    """A splitter that splits once, so that a random one gives every candidate the same folds."""

    def __init__(self, cv: Any) -> None:
        self._cv, self._splits = cv, list[Any]()

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        self._splits = self._splits or list(self._cv.split(X, y, **params))
        return self._splits


class GridRun(BatchRun[Folds]):
    """Scores the candidates that a search asks for; a failed candidate has no folds.

    ``evaluate`` is scikit-learn's ``evaluate_candidates``, which adds its fits to :attr:`fitted`; ``metric``
    extracts the optimised score from the scores of one fold.
    """

    def __init__(
        self,
        search: Search,
        evaluate: Callable[[list[Candidate]], Any],
        metric: Callable[[Any], float],
        folds: int,
        jobs: int,
    ) -> None:
        self._evaluate, self._metric, self._folds = evaluate, metric, folds
        self._problem = cast(GridProblem, search.problem)
        self.fitted: Folds = []
        """Every fit in this process."""
        self.results: dict[str, Any] = {}
        """``cv_results_``, empty until the search has ended."""
        self._failure: ValueError | None = None  # of the last candidates without any successful fit
        super().__init__(search, math.ceil(jobs / folds))  # smaller batches would leave jobs idle

    def score(self, leaves: list[Any]) -> list[Folds]:
        candidates = [self._problem.candidate(leaf) for leaf in leaves]
        try:
            self._evaluate(candidates)
        except ValueError as error:
            if "fits failed" not in str(error):
                raise
            self._failure = error  # raised only if all other candidates fail, too
            warnings.warn(f"candidates {candidates}: {error}", FitFailedWarning, stacklevel=2)
            return [[] for _ in leaves]
        new = list(map(_plain, self.fitted[-len(leaves) * self._folds :]))
        return [new[place : place + self._folds] for place in range(0, len(new), self._folds)]

    def judged(self, found: Folds) -> tuple[float, None]:
        return float(
            np.mean([self._metric(fold["test_scores"]) for fold in found]) if found else np.nan
        ), None

    def to_note(self, found: Folds) -> dict[str, Any]:
        return {"folds": found}

    def from_note(self, note: Mapping[str, Any]) -> Folds | None:
        return list(map(_plain, note["folds"] or [])) if "folds" in note else None

    def complete(self) -> None:
        """Fit at least one candidate: scikit-learn reads the names of the metrics from a fit."""
        known = [leaf for leaf, folds in self.scored.items() if folds]
        if not self.fitted and known:
            self._evaluate([self._problem.candidate(known[0])])
        if not self.fitted and self._failure is not None:
            raise self._failure

    def rows(self, error_score: Any) -> tuple[list[Candidate], Folds]:
        """All candidates and their fits, in the order reported."""
        failed = dict[str, Any]()
        for key, one in _plain(self.fitted[0]).items():
            score = dict.fromkeys(one, error_score) if isinstance(one, dict) else error_score
            failed[key] = np.nan if key.endswith("time") else score
        fits = [fold for folds in self.scored.values() for fold in folds or [failed] * self._folds]
        return list(map(self._problem.candidate, self.scored)), fits


def _plain(fold: Mapping[str, Any]) -> dict[str, Any]:
    """Times and scores of a fit for JSON, where numbers that are not finite become text."""
    return {
        key: {name: float(score) for name, score in one.items()} if isinstance(one, dict) else float(one)
        for key, one in fold.items()
        if key.endswith(("scores", "time"))
    }


# The estimator ---------------------------------------------------------------------------------------


class DAGSearchCV(BaseSearchCV):  # type: ignore[misc]
    """A drop-in for ``GridSearchCV`` that finds good candidates with a fraction of the fits.

    The first candidates are the nearest ones to the estimator's own parameters, one from every dict, and two
    random ones. After that a Gaussian belief over all candidates, in which similar ones have similar scores,
    decides which candidates to score next. No candidate is scored twice.

    Parameters
    ----------
    estimator : estimator object
        As for ``GridSearchCV``.
    param_grid : dict or list of dicts
        As for ``GridSearchCV``. The candidates of a list of dicts are searched together, as one space in
        which some parameters depend on others. Numbers are compared by value, so list them as numbers.
    n_iter : int, default=60
        Number of candidates to score, including those in ``storage``. If the grid has no more, all of it is
        scored, as in ``GridSearchCV``.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As for ``GridSearchCV``. With several metrics, the search optimises the one that ``refit`` names,
        otherwise the first. Folds and, if there are more jobs than folds, candidates are scored in parallel.
        All candidates are scored on the same folds, even if ``cv`` is random.
    random_state : int, RandomState instance or None, default=None
        Seed of the search.
    storage : path or URL, default=None
        Database that logs every score: the path of an SQLite file, or ``postgresql://…``. If the run exists,
        the search continues and fits no candidate again. The same call in another process joins the run.
    name : str, default=None
        Name of the run in the database; by default the database has one run.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, \
    multimetric_, classes_, n_features_in_, feature_names_in_
        As for ``GridSearchCV``. ``cv_results_`` has the candidates in the order in which they were scored.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> grid = {"C": [0.01, 0.1, 1, 10, 100], "gamma": [0.001, 0.01, 0.1, 1, 10]}
    >>> search = DAGSearchCV(SVC(), grid, n_iter=12, random_state=0).fit(*load_iris(return_X_y=True))
    >>> len(search.cv_results_["params"]), f"{search.best_score_:.2f}"
    (12, '0.98')
    """

    _parameter_constraints = {  # noqa: RUF012
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "storage": [str, PathLike, None],
        "name": [str, None],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        n_iter: int = 60,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        storage: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_grid, self.n_iter, self.random_state = param_grid, n_iter, random_state
        self.storage, self.name = storage, name

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search the grid, and fit the best candidate to all of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,), optional
            The target.
        **params
            Parameters for the estimator, the scorer and the splitter, as for ``GridSearchCV``.
        """
        self._data, self._run = (X, y, params), cast(GridRun | None, None)
        try:
            return cast(Self, super().fit(X, y, **params))
        finally:
            del self._data, self._run

    def __getstate__(self) -> dict[str, Any]:
        """The state for the workers of ``n_jobs``, without the run, which cannot be pickled, and the data."""
        return {name: one for name, one in super().__getstate__().items() if name not in ("_data", "_run")}

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        """Score the candidates that a search of the grid asks for."""
        grid = ParameterGrid(self.param_grid)
        if len(grid) <= (self.n_iter if self.storage is None else 1):
            evaluate_candidates(grid)
            return
        problem = GridProblem(grid.param_grid, "" if self.storage is None else self._digest())
        evaluate = partial(evaluate_candidates, cv=_SameFolds(self._checked_cv_orig))
        with closing(self._search(problem)) as search:
            jobs = int(effective_n_jobs(self.n_jobs))
            self._run = run = GridRun(search, evaluate, self._searched, self.n_splits_, jobs)
            for _ in run.steps(self.n_iter):
                pass
        run.complete()
        candidates, fits = run.rows(self.error_score)
        run.results.update(super()._format_results(candidates, self.n_splits_, fits))

    def _format_results(
        self, candidate_params: Any, n_splits: int, out: Folds, more_results: Any = None
    ) -> dict[str, Any]:
        """``cv_results_``; during a search, the dictionary that is filled at its end."""
        if self._run is None:
            return cast(
                dict[str, Any], super()._format_results(candidate_params, n_splits, out, more_results)
            )
        self._run.fitted = out
        return self._run.results

    def _search(self, problem: GridProblem) -> Search:
        """A new search, or that of a stored run, perhaps with another number of candidates."""
        if self.storage is not None and has_begun(self.storage, self.name):
            return Search.resume(self.storage, problem, name=self.name)
        seed = int(check_random_state(self.random_state).randint(2**31))
        search = Search.default(problem, initial=0, seed=seed, storage=self.storage, name=self.name)
        own, rng = problem.nearest(self.estimator)[: max(1, self.n_iter // 3)], np.random.default_rng(seed)
        others = [search.space.walk(problem.root(), rng)[0] for _ in range(_RANDOM)]
        for leaf in list(dict.fromkeys([*own, *others]))[: self.n_iter]:
            search.data.offered.append(search.propose(leaf))
        return search

    def _searched(self, scores: Any) -> float:
        """The optimised score, from the scores of a fold."""
        if not isinstance(scores, dict):
            return float(scores)
        return float(scores[self.refit] if isinstance(self.refit, str) else next(iter(scores.values())))

    def _digest(self) -> str:
        """Identifies everything that the scores depend on."""
        if not _yields_constant_splits(self._checked_cv_orig):
            raise ValueError(
                "storage needs the same folds in every call: set cv's random_state to an integer"
            )
        settings = self.scoring, self.cv, self.error_score, self.return_train_score
        metric = self.refit if isinstance(self.refit, str) else None
        estimator = clone((self.estimator, self.param_grid), safe=False)
        return identity_of(*self._data, estimator, (*settings, metric))
