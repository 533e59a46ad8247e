"""What identifies data, an estimator and a scorer, so that only the same ones continue a stored run."""

import functools
import hashlib
import types
from collections.abc import Mapping
from typing import Any

import joblib
import numpy as np

from dagsearch.errors import StorageError

_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes, range, slice, np.generic, np.dtype)
_NAMED = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)


def identity_of(*things: Any) -> str:
    """A digest of parameters, nested ones included.

    Objects count by their class and what they hold, functions by their module and name and by the values they
    are bound to: defaults and closures. Editing a function or the methods of a class does not change the
    digest.

    Raises
    ------
    StorageError
        If something can be told from others only by its place in memory.
    """
    return hashlib.sha256(_described(things).encode()).hexdigest()


def data_digest(data: Any, target: Any, splits: Any, estimator: Any, scoring: Any) -> str:
    """Identifies what scores depend on: two selections with the same digest give a subset the same score."""
    return f"{joblib.hash((data, target, splits))} {identity_of(estimator, scoring)}"


def _described(thing: Any, inside: tuple[int, ...] = ()) -> str:
    """An object as text: equal objects alike, whether they are one object or two."""
    if isinstance(thing, _PLAIN):
        return repr(thing)
    if id(thing) in inside:
        return "itself"
    kind, parts = _parts(thing)
    described = [_described(part, (*inside, id(thing))) for part in parts]
    return f"{kind}({', '.join(sorted(described) if kind == 'set' else described)})"


def _parts(thing: Any) -> tuple[str, list[Any]]:
    """The kind of an object, or its name if that is all of it, and what it consists of."""
    if isinstance(thing, _NAMED):
        return _name(thing), []
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell)]
        return _name(thing), [thing.__defaults__, thing.__kwdefaults__, cells]
    if isinstance(thing, types.MethodType):
        return "method", [thing.__func__, thing.__self__]
    if isinstance(thing, functools.partial):
        return "partial", [thing.func, thing.args, thing.keywords]
    if isinstance(thing, Mapping):
        return "mapping", [list(thing.keys()), list(thing.values())]
    if isinstance(thing, set | frozenset):
        return "set", list(thing)
    if isinstance(thing, list | tuple):
        return type(thing).__name__, list(thing)
    return _name(type(thing)), [_held(thing)]


def _held(thing: Any) -> Any:
    """The parameters of an estimator, the attributes of other objects, or a digest of their pickle."""
    if hasattr(thing, "get_params"):
        return thing.get_params(deep=False)
    reduces = "__reduce__" in {name for base in type(thing).__mro__[:-1] for name in vars(base)}
    if hasattr(thing, "__dict__") and not reduces and not hasattr(thing, "iloc"):
        return vars(thing)
    try:
        return joblib.hash(thing)
    except Exception as error:  # of pickle, in many kinds
        raise StorageError(
            f"storage: {thing!r}, a part of the estimator or the scoring, cannot be told from others of "
            f"its kind ({error}), so a run might mix scores. Use an object that can be pickled, or no "
            "storage"
        ) from error


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or ""
    return f"{module}.{getattr(thing, '__qualname__', None) or getattr(thing, '__name__', repr(thing))}"


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a function that refers to itself before it is bound
        return False
    return True
