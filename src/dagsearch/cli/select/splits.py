"""Folds, and rows to hold out: at random, by groups, or in the order of time."""

from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)

from dagsearch._internal.imports import imported
from dagsearch._internal.typing import IntArray
from dagsearch.tables.read import TableError
from dagsearch.tables.roles import Table


def folds_for(cv: int | str, table: Table, in_time: bool, seed: int) -> Any:
    """The splitter: at an import path, or with a number of folds that respect time, groups and classes."""
    if isinstance(cv, str):
        return _imported(cv)
    if in_time:
        return TimeSeriesSplit(cv)
    if table.groups is not None:
        count = table.groups.nunique()
        if count < cv:
            raise TableError(f"--cv {cv}: the group column has {count} groups only; use fewer folds")
        grouped = StratifiedGroupKFold if table.classification else GroupKFold
        return grouped(cv, shuffle=True, random_state=seed)
    folds = StratifiedKFold if table.classification else KFold
    return folds(cv, shuffle=True, random_state=seed)


def _imported(path: str) -> Any:
    """A splitter by its import path, or what a class or function there returns without arguments."""
    try:
        found = imported(path)
        made = (
            found() if callable(found) and (isinstance(found, type) or not hasattr(found, "split")) else found
        )
    except Exception as error:  # a user's script may fail in any way
        raise TableError(f"--cv {path}: it cannot be imported ({type(error).__name__}: {error})") from error
    if not callable(getattr(made, "split", None)):
        raise TableError(f"--cv {path}: it is no splitter, it has no method split")
    return made


def hold_out(table: Table, fraction: float, in_time: bool, seed: int) -> tuple[Table, Table | None]:
    """Rows to select by, and rows to hold out: the last ones in the order of time, or whole groups."""
    if fraction == 0.0:
        return table, None
    try:
        kept, held = _positions(table, fraction, in_time, seed)
    except ValueError as error:
        raise TableError(f"--holdout {fraction}: {error} Use another fraction, or 0 for none") from error
    return table.rows(kept), table.rows(held)


def _positions(table: Table, fraction: float, in_time: bool, seed: int) -> tuple[IntArray, IntArray]:
    rows = np.arange(len(table.target))
    if in_time:
        first = len(rows) - max(1, round(fraction * len(rows)))
        if first < 2:
            raise ValueError("Too few rows are left.")
        return rows[:first], rows[first:]
    if table.groups is not None:
        by_group = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
        kept, held = next(by_group.split(rows, table.target, table.groups))
        return np.asarray(kept), np.asarray(held)
    stratify = table.target if table.classification and table.target.value_counts().min() > 1 else None
    kept, held = train_test_split(rows, test_size=fraction, random_state=seed, stratify=stratify)
    return np.asarray(kept), np.asarray(held)
