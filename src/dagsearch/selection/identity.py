"""What identifies data, an estimator and a scorer, so that only the same ones continue a stored run."""

import functools
import hashlib
import types
from collections.abc import Iterable, Mapping
from typing import Any

import joblib
import numpy as np

from dagsearch.errors import StorageError

# Functions of these packages are identified by their name: their code changes with the version.
_NAMED = ("builtins", "numpy", "pandas", "scipy", "sklearn")
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes, range, slice, np.generic, np.dtype)


def identity_of(*things: Any) -> str:
    """A digest of parameters, nested ones included, and of the code of functions among them.

    Objects count by their class and what they hold, functions by their code, defaults, closure and the global
    values they use. Classes count by name: editing the methods of a class does not change the digest.

    Raises
    ------
    StorageError
        If something can be told from others only by its place in memory.
    """
    return _digest(_Describer().described(things))


def data_digest(data: Any, target: Any, splits: Any, estimator: Any, scoring: Any) -> str:
    """Identifies what scores depend on: two selections with the same digest give a subset the same score."""
    return f"{joblib.hash((data, target, splits))} {identity_of(estimator, scoring)}"


class _Describer:
    """Describes objects by text: equal objects alike, whether they are one object or two."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}
        self._kept: list[Any] = []  # described objects stay alive, so that no other gets their id

    def described(self, thing: Any) -> Any:
        """The object itself as text if it is plain, otherwise a digest of what it consists of."""
        if isinstance(thing, _PLAIN):
            return repr(thing)
        if id(thing) not in self._known:
            self._known[id(thing)] = "itself"  # in what it refers to
            self._kept.append(thing)
            self._known[id(thing)] = _digest(self._parts(thing))
        return self._known[id(thing)]

    def _parts(self, thing: Any) -> Any:
        if isinstance(thing, types.ModuleType | type | types.BuiltinFunctionType | np.ufunc):
            return "named", _name(thing)
        if isinstance(thing, types.FunctionType):
            return self._function(thing)
        if isinstance(thing, types.CodeType):
            constants = self._all(constant for constant in thing.co_consts)
            return "code", thing.co_code, thing.co_names, thing.co_varnames, constants
        if isinstance(thing, types.MethodType):
            return "method", self.described(thing.__func__), self.described(thing.__self__)
        if isinstance(thing, functools.partial):
            return "partial", self._all([thing.func, thing.args, thing.keywords])
        if isinstance(thing, Mapping):
            return "mapping", self._all(thing.keys()), self._all(thing.values())
        if isinstance(thing, set | frozenset):
            return "set", sorted(map(repr, self._all(thing)))
        if isinstance(thing, list | tuple):
            return type(thing).__name__, self._all(thing)
        return self._object(thing)

    def _all(self, things: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(self.described(thing) for thing in things)

    def _function(self, function: types.FunctionType) -> Any:
        if function.__module__ and function.__module__.partition(".")[0] in _NAMED:
            return "named", _name(function)
        code = function.__code__
        inside = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        used = [function.__globals__[name] for name in _names_in(code) if name in function.__globals__]
        return "function", self._all([code, function.__defaults__, function.__kwdefaults__, inside, used])

    def _object(self, thing: Any) -> Any:
        """By the parameters of an estimator, the attributes of other objects, or their pickle."""
        kind = _name(type(thing))
        if hasattr(thing, "get_params"):
            return kind, self.described(thing.get_params(deep=False))
        reduces = "__reduce__" in {name for base in type(thing).__mro__[:-1] for name in vars(base)}
        if hasattr(thing, "__dict__") and not reduces and not hasattr(thing, "iloc"):
            return kind, self.described(vars(thing))
        try:
            return kind, joblib.hash(thing)
        except Exception as error:  # of pickle, in many kinds
            raise StorageError(
                f"storage: {thing!r}, a part of the estimator or the scoring, cannot be told from others of "
                f"its kind ({error}), so a run might mix scores. Use an object that can be pickled, or no "
                "storage"
            ) from error


def _digest(parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or ""
    return f"{module}.{getattr(thing, '__qualname__', None) or getattr(thing, '__name__', repr(thing))}"


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a function that refers to itself before it is bound
        return False
    return True


def _names_in(code: types.CodeType) -> list[str]:
    """Global names that a function uses, those of functions inside it included."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return sorted({*code.co_names, *(name for one in inner for name in _names_in(one))})
