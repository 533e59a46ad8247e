"""The history of a result as rows and as a data frame: what each leaf consists of, by column."""

import importlib
import math
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final

from dagsearch._internal.order import in_order
from dagsearch.results import Evaluation, Result

if TYPE_CHECKING:
    import pandas

ABSENT: Final = object()
"""Where a leaf does not make a choice, or has no such position; a choice that is made may be ``None``."""
_OF_EVALUATIONS = ("step", "reward", "best_reward", "seconds", "known")


def rows_of(result: Result) -> list[dict[str, Any]]:
    """What :meth:`dagsearch.Result.to_dicts` returns."""
    return [
        {name: None if value is ABSENT else value for name, value in row.items()} for row in _rows(result)
    ]


def _rows(result: Result) -> list[dict[str, Any]]:
    """The same, with ``ABSENT`` where a leaf has no such choice or position."""
    rows = list[dict[str, Any]]()
    for evaluation, leaf in zip(result.history, columns_of(result), strict=True):
        row = {name: getattr(evaluation, name) for name in _OF_EVALUATIONS}
        own = {f"{name} of the leaf" if name in (*row, "leaf") else name: leaf[name] for name in leaf}
        rows.append({**row, **own, "leaf": evaluation.leaf})
    return rows


def frame_of(result: Result) -> "pandas.DataFrame":
    """What :meth:`dagsearch.Result.to_frame` returns."""
    try:
        pandas = importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Result.to_frame needs pandas: pip install 'dagsearch[pandas]'") from error
    rows = _rows(result)
    names = list(rows[0]) if rows else [*_OF_EVALUATIONS, "leaf"]
    columns = {name: [row[name] for row in rows] for name in names}
    return pandas.DataFrame({name: _series(pandas, columns[name]) for name in names})  # type: ignore[no-any-return]


def _series(pandas: Any, values: Sequence[Any]) -> Any:
    """A column of a data frame; one of objects if ``None`` is a value, which pandas would take as missing."""
    if any(value is None for value in values):
        return pandas.Series([math.nan if value is ABSENT else value for value in values], dtype=object)
    return [None if value is ABSENT else value for value in values]


def columns_of(result: Result, latest: int | None = None) -> list[dict[str, Any]]:
    """What each evaluated leaf consists of, by column, or the ``latest``; every leaf has all columns."""
    history = result.history if latest is None else result.history[-latest:]
    if result.steps:
        return _with_all_columns([_decisions(one) for one in history])
    leaves = [one.leaf for one in history]
    if leaves and all(isinstance(leaf, Set) for leaf in leaves):
        items = in_order(frozenset[Any]().union(*leaves))
        return [{str(item): item in leaf for item in items} for leaf in leaves]
    return _with_all_columns([_parts(one) for one in history])


def _with_all_columns(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names = list(dict.fromkeys(name for parts in found for name in parts))
    return [{name: parts.get(name, ABSENT) for name in names} for parts in found]


def _parts(evaluation: Evaluation) -> dict[str, Any]:
    """Named choices as they are, tuples by position, other leaves by the decisions that lead there."""
    leaf = evaluation.leaf
    if isinstance(leaf, Mapping):
        return {str(name): value for name, value in leaf.items()}
    if isinstance(leaf, tuple):
        return {f"position {place}": part for place, part in enumerate(leaf, start=1)}
    return _decisions(evaluation)


def _decisions(evaluation: Evaluation) -> dict[str, Any]:
    decisions = enumerate(evaluation.actions or (), start=1)
    return {f"decision {place}": action for place, action in decisions}
