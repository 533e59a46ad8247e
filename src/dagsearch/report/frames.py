"""The history of a result as rows and as a data frame, with the parts of each leaf as columns."""

import importlib
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

from dagsearch._internal.order import in_order
from dagsearch.results import Evaluation, Result

if TYPE_CHECKING:
    import pandas

_OF_EVALUATIONS = ("step", "reward", "best_reward", "seconds", "known")


def rows_of(result: Result) -> list[dict[str, Any]]:
    """The rows of :meth:`dagsearch.Result.to_dicts`."""
    rows, names = _rows(result)
    return [{name: row.get(name) for name in names} for row in rows]


def frame_of(result: Result) -> "pandas.DataFrame":
    """The data frame of :meth:`dagsearch.Result.to_frame`."""
    try:
        pandas = importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Result.to_frame needs pandas: pip install 'dagsearch[pandas]'") from error
    rows, names = _rows(result)
    frame: Any = pandas.DataFrame(rows, columns=names, dtype=object)
    # As numbers or text; pandas would treat the value None as missing.
    plain = [name for name in names if all(value is not None for value in frame[name])]
    return frame.assign(**frame[plain].infer_objects())  # type: ignore[no-any-return]


def _rows(result: Result) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for every evaluation, without columns that its leaf lacks, and the names of all columns."""
    own = [_parts(evaluation, result.steps) for evaluation in result.history]
    if result.history and all(isinstance(one.leaf, Set) for one in result.history):
        items = in_order(frozenset[Any]().union(*(one.leaf for one in result.history)))
        own = [{str(item): item in one.leaf for item in items} for one in result.history]
    taken = (*_OF_EVALUATIONS, "leaf")
    own = [{f"{name} of the leaf" if name in taken else name: row[name] for name in row} for row in own]
    rows = [
        {name: getattr(one, name) for name in _OF_EVALUATIONS} | parts | {"leaf": one.leaf}
        for one, parts in zip(result.history, own, strict=True)
    ]
    return rows, list(dict.fromkeys([*_OF_EVALUATIONS, *(name for row in own for name in row), "leaf"]))


def _parts(evaluation: Evaluation, steps: bool) -> dict[str, Any]:
    """Named choices by name, tuples by position, other leaves by the decisions that lead there."""
    leaf = evaluation.leaf
    if isinstance(leaf, Mapping) and not steps:
        return {str(name): value for name, value in leaf.items()}
    if isinstance(leaf, tuple) and not steps:
        return {f"position {place}": part for place, part in enumerate(leaf, start=1)}
    decisions = enumerate(evaluation.actions or (), start=1)
    return {f"decision {place}": action for place, action in decisions}
