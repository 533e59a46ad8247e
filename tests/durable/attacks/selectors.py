"""A feature selector with a journal on a disk that fails, beside one that never crashes.

What a user does after a crash is to call ``fit`` again, with the same arguments. In the end its findings must
be those of the selector that never crashed.
"""

import gc
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Bunch

from dagsearch.errors import JournalError
from dagsearch.journal.journal import backup_journal, has_begun, read_events
from dagsearch.sklearn import DAGSearchSelector
from tests.durable.attacks.disk import Crash, Disk
from tests.durable.crashes.layer import watched

_COLUMNS, _ROWS = 7, 30
_RNG = np.random.default_rng(0)
# The value of an entry says which column it is from.
_X = _RNG.normal(size=(_ROWS, _COLUMNS)).clip(-4.0, 4.0) + 10.0 * np.arange(_COLUMNS)
_Y = _X[:, 1] - _X[:, 4] + 0.5 * _RNG.normal(size=_ROWS)

BUDGETS = (8, 12, 16)
"""Numbers of subsets; a later fit may raise the number."""
VARIANTS: dict[str, dict[str, Any]] = {
    "selector": {},
    "selector, warm start": {"warm_start": [[0, 1, 2], [3, 4, 5]]},
    "selector, a known score": {"warm_start": {(0, 1, 2): 0.1}},
}
"""Kinds of selector: arguments by name."""


class _Stopped(Exception):
    """An error in a callback."""


class _Least(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares; the columns of every fit are noted in ``fitted``."""

    fitted: ClassVar[list[frozenset[int]]] = []

    def fit(self, data: Any, y: Any) -> "_Least":
        """Fit, and note the columns."""
        self.fitted.append(frozenset(np.round(np.mean(data, axis=0) / 10.0).astype(int).tolist()))
        self.weights_ = np.linalg.lstsq(np.c_[data, np.ones(len(data))], y, rcond=None)[0]
        return self

    def predict(self, data: Any) -> Any:
        """The linear function's values."""
        return np.c_[data, np.ones(len(data))] @ self.weights_


def _fit(
    name: str,
    journal: Path,
    budget: int,
    callback: Callable[[Bunch], None] | None = None,
    factor: float = 1.0,
) -> DAGSearchSelector:
    arguments = {"n_features_to_select": 3, "cv": 2, "random_state": 0, **VARIANTS[name]}
    callbacks = None if callback is None else [callback]
    selector = DAGSearchSelector(_Least(), budget=budget, journal=journal, callbacks=callbacks, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the budgets are small
        return selector.fit(_X * factor, _Y)


def findings(selector: DAGSearchSelector) -> list[str]:
    """What a selector has found, to the last bit, as text because some of it may be unknown (NaN)."""
    history = selector.history_
    found = [np.asarray(history[name]).tolist() for name in ("features", "mean_test_score", "best_score")]
    found += [selector.support_.tolist(), selector.inclusion_probability_.tolist()]
    return [*map(repr, found), repr(selector.score_interval_)]


@cache
def expected(name: str, budgets: tuple[int, ...]) -> list[str]:
    """The findings after fits with these budgets, one after the other, without any crash."""
    with tempfile.TemporaryDirectory() as folder:
        for budget in budgets:
            found = _fit(name, Path(folder, "run.db"), budget)
    return findings(found)


class SelectorWorld:
    """A selector that is attacked.

    Parameters
    ----------
    name : str
        Which one.
    folder : Path
        Empty folder for journals.
    figures : Counter
        Counts what was tried and what went wrong.
    """

    def __init__(self, name: str, folder: Path, figures: Counter[str]) -> None:
        self.name, self.figures, self._folder = name, figures, folder
        self.disk = Disk()
        self.path = folder / "0.db"
        self._copies = 0
        self._budgets: tuple[int, ...] = ()  # of the fits that have ended
        self._budget = 0  # of a fit that was interrupted
        self._confirmed: list[tuple[frozenset[int], float]] = []

    # Operations ------------------------------------------------------------------------------------------

    def fit(self, more: int, callback: Callable[[Bunch], None] | None = None) -> None:
        """Fit with the same budget or a larger one; after an interruption, with the same."""
        budget = self._budget or self._next_budget(more)
        told, fitted = self._told(), len(_Least.fitted)

        def notify(bunch: Bunch) -> None:
            leaf = frozenset(int(label) for label in bunch.features)
            self._confirmed.append((leaf, float(bunch.score)))
            self.figures["rewards told"] += 1
            if callback is not None:
                callback(bunch)

        self.figures["resumes"] += int(bool(told))
        found = self._attempt(lambda: _fit(self.name, self.path, budget, notify))
        self._check_told({leaf for leaf, _ in told}, _Least.fitted[fitted:])
        if found is None:
            self._budget = budget
            return
        self._budget = 0
        self._budgets = (*(b for b in self._budgets if b < budget), budget)
        self.figures["states compared"] += 1
        for one, other in zip(findings(found), expected(self.name, self._budgets), strict=True):
            assert one == other, f"without a crash the selector finds {other}, with crashes {one}"

    def stop(self, more: int, steps: int) -> None:
        """An error in a callback ends a fit."""

        def stop(bunch: Bunch) -> None:
            if bunch.step >= steps:
                raise _Stopped

        self.fit(more, stop)

    def open_twice(self) -> None:
        """During a fit, another one must be refused."""

        def second(bunch: Bunch) -> None:
            try:
                _fit(self.name, self.path, BUDGETS[-1])
            except JournalError:
                return
            raise AssertionError("a second selector was let in")

        self.fit(0, second)

    def other_data(self) -> None:
        """Other data must be refused, and the file must stay as it is."""
        if not self._told():
            return
        before = self.path.read_bytes()
        try:
            _fit(self.name, self.path, BUDGETS[-1], factor=2.0)
        except JournalError:
            assert self.path.read_bytes() == before, "the journal of other data was changed"
            return
        raise AssertionError("other data were accepted")

    def copy(self, by_backup: bool) -> None:
        """Move to a copy of the file."""
        if not (self.path.exists() and has_begun(self.path)):
            return
        self._copies += 1
        copy = self._folder / f"{self._copies}.db"
        if by_backup:
            backup_journal(self.path, copy)
        else:
            shutil.copyfile(self.path, copy)
        self.path.unlink()
        self.path = copy
        self.disk.restart(self.path, self.figures)

    def end(self) -> None:
        """Fit until it ends, and twice more."""
        for _ in range(4):
            self.fit(1)

    # How -------------------------------------------------------------------------------------------------

    def _next_budget(self, more: int) -> int:
        place = BUDGETS.index(self._budgets[-1]) + more if self._budgets else more
        return BUDGETS[min(place, len(BUDGETS) - 1)]

    def _attempt(self, fit: Callable[[], DAGSearchSelector]) -> DAGSearchSelector | None:
        """What a fit returns; ``None`` if a fault or a callback interrupted it."""
        found, error = None, None
        try:
            with watched(self.disk):
                found = fit()
        except (Crash, JournalError, _Stopped) as raised:
            error = raised.with_traceback(None)  # which would keep the file of the dead process open
        fault = self.disk.fired
        if fault is not None and fault.end in ("full", "broken") and self.disk.operations_since > 0:
            # The last operation may fail unnoticed: it is the sync when the file is closed, after all events.
            assert isinstance(error, JournalError), f"a write failed, and the selector ended with {error!r}"
        elif fault is None and isinstance(error, JournalError):
            raise error
        if isinstance(error, Crash):
            gc.collect()
        if self.path.exists():
            self.disk.restart(self.path, self.figures)
        return found if fault is None else None

    def _told(self) -> list[tuple[frozenset[int], float]]:
        """The rewards in the file."""
        if not (self.path.exists() and has_begun(self.path)):
            return []
        tells = [event.content for event in read_events(self.path) if event.kind == "tell"]
        return [(frozenset(content["leaf"]), content["reward"]) for content in tells]

    def _check_told(self, told: set[frozenset[int]], fitted: Sequence[frozenset[int]]) -> None:
        """All that was reported is in the file, and nothing that was there has been scored again."""
        lost = (Counter(set(self._confirmed)) - Counter(self._told())).total()
        self.figures["rewards lost"] += lost
        assert lost == 0, f"rewards lost: {lost}"
        again = sum(columns in told for columns in fitted)
        self.figures["repeated beyond pending"] += again
        assert again == 0, f"repeated beyond pending: {again}"
