"""The options of ``dagsearch select``, each stated once.

A field of :class:`Request` is an option of the command line, an entry of the request in a stored run, a
setting that the report shows (``label``) and an argument of the code to copy (``load``). Its annotation says
which values are allowed in each of them.
"""

import argparse
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from dagsearch.cli.common import positive as whole_number
from dagsearch.cli.common import seconds as number_of_seconds

AUTO = "auto"
"""The value of ``--k`` and ``--task`` that leaves the answer to the command."""
_LARGE = "how large the table may be; a larger one is refused before it fills the memory"
_WRITTEN = "how the table is written, if detection gets it wrong"


def _sizes(text: str) -> int | tuple[int, int] | str:
    if text == AUTO:
        return text
    least, dash, most = text.partition("-")
    if not dash:
        return whole_number(text)
    if whole_number(least) > whole_number(most):
        raise argparse.ArgumentTypeError(f"must be ascending, got {text!r}")
    return whole_number(least), whole_number(most)


def _folds(text: str) -> int | str:
    if ":" in text or "." in text:  # the import path of a splitter
        return text
    number = whole_number(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, got {text!r}")
    return number


def _separator(text: str) -> str:
    return {"\\t": "\t", "tab": "\t"}.get(text, text)


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = -1.0
    if not 0.0 <= part < 1.0:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return part


class Option(NamedTuple):
    """What the command line, the report and the code to copy need to know of a field of the request."""

    text: str | None
    """Help."""
    read: Callable[[str], Any] | None = None
    """Reads the value on the command line; its text by default."""
    metavar: str | None = None
    """Stands for the value in the help."""
    group: str | None = None
    """Heading in the help, or ``"one of"`` for options of which only one may be given."""
    label: str | None = None
    """Name of the setting in the report; ``None`` if it is not shown."""
    load: str | None = None
    """Argument of ``load_table`` in the code to copy."""


def _column(text: str, label: str | None = None, load: str | None = None) -> Option:
    """An option that names a column, or several."""
    return Option(text, metavar="COLUMN", label=label, load=load)


def _limit(text: str, load: str) -> Option:
    """An option that says how large the table may be."""
    return Option(f"{text} (default: %(default)s)", whole_number, "N", _LARGE, load=load)


Text = str | None
Names = Sequence[str]


@dataclass(frozen=True)
class Request:
    """What ``dagsearch select`` is asked for; a stored run keeps it as JSON."""

    data: Annotated[
        Path,
        Option(
            "table: .csv, .tsv, .xlsx or .parquet, .gz for compressed text; - for standard input",
            Path,
            metavar="DATA",
            label="data",
        ),
    ]
    target: Annotated[str, _column("column to predict", label="target")]
    k: Annotated[
        int | tuple[int, int] | Literal["auto"],
        Option(
            "number of columns to choose, a range such as 3-8, or auto for any number up to 20 "
            "(default: auto)",
            _sizes,
            metavar="K",
            label="features to select",
        ),
    ] = "auto"
    budget: Annotated[
        int, Option("number of subsets to score (default: %(default)s)", whole_number, label="budget")
    ] = 100
    fixed: Annotated[Names, _column("always chosen")] = ()
    forbidden: Annotated[Names, _column("never chosen")] = ()
    groups: Annotated[Names, Option("columns that are chosen together and count as one", metavar="A,B")] = ()
    keep: Annotated[
        Names,
        _column(
            "may be chosen although they look like identifiers, dates or free text, or repeat another column"
        ),
    ] = ()
    task: Annotated[
        Literal["auto", "classification", "regression"], Option(None, label="task", load="task")
    ] = "auto"
    positive: Annotated[
        Text,
        Option(
            "which of two classes counts as positive (default: announced before the search)",
            metavar="CLASS",
            label="positive class",
            load="positive",
        ),
    ] = None
    estimator: Annotated[
        Text,
        Option(
            "name of a scikit-learn estimator, or import path of an estimator class or object (default: "
            "logistic or ridge regression). For a class, columns are imputed, scaled and encoded first",
            metavar="NAME",
            label="estimator",
        ),
    ] = None
    set: Annotated[
        Names, Option("parameters of the estimator, such as n_estimators=300", metavar="NAME=VALUE")
    ] = ()
    scoring: Annotated[
        Text, Option("a scorer's name in scikit-learn (default: accuracy or r2)", label="scoring")
    ] = None
    cv: Annotated[
        int | str,
        Option(
            "number of folds, or module:object of a splitter (default: %(default)s)",
            _folds,
            metavar="FOLDS",
            label="cv",
        ),
    ] = 5
    group_column: Annotated[
        Text, _column("rows with the same value are never split up, such as a patient's", label="groups")
    ] = None
    time_column: Annotated[
        Text, _column("predict later rows from earlier ones; the last rows are held out", label="time")
    ] = None
    weight_column: Annotated[Text, _column("weights of the rows", label="weights", load="weight")] = None
    sep: Annotated[
        Text, Option("what separates columns, such as ';'", _separator, "TEXT", _WRITTEN, load="sep")
    ] = None
    decimal: Annotated[Literal[".", ","] | None, Option("decimal mark", group=_WRITTEN, load="decimal")] = (
        None
    )
    encoding: Annotated[
        Text, Option("encoding, such as latin-1", None, "NAME", _WRITTEN, load="encoding")
    ] = None
    max_bytes: Annotated[int, _limit("size of the file, decompressed", "max_bytes")] = 1_000_000_000
    max_cells: Annotated[int, _limit("rows times columns", "max_cells")] = 100_000_000
    max_columns: Annotated[
        int, _limit("columns; a line of text may have 100 bytes for each", "max_columns")
    ] = 100_000
    seconds: Annotated[float | None, Option("stop after this number of seconds", number_of_seconds)] = None
    patience: Annotated[
        int | None, Option("stop after this number of subsets without a better one", whole_number)
    ] = None
    holdout: Annotated[
        float,
        Option(
            "fraction of the rows to hold out; 0 for none (default: %(default)s)", _part, label="hold-out"
        ),
    ] = 0.25
    jobs: Annotated[
        int | None, Option("number of subsets to score at once (default: 1)", whole_number, group="one of")
    ] = None
    cluster: Annotated[
        Text,
        Option(
            "score on the workers of a Dask scheduler, such as tcp://host:8786",
            metavar="ADDRESS",
            group="one of",
        ),
    ] = None
    storage: Annotated[
        Text,
        Option(
            "store every scored subset in this file or postgresql://…, or continue its run", metavar="RUN"
        ),
    ] = None
    name: Annotated[Text, Option("name of the run, if the database has several", metavar="NAME")] = None
    seed: Annotated[int, Option("random seed (default: %(default)s)", int, label="seed")] = 0
    progress: Annotated[bool, Option("print only the result: no progress")] = True

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Request":
        """The request in the parsed options of ``dagsearch select``."""
        return cls(**{one.name: getattr(options, one.name) for one in fields(cls)})

    @classmethod
    def from_json(cls, noted: Mapping[str, Any]) -> "Request":
        """The request that :meth:`to_json` wrote; raises ``TypeError`` if it is not one."""
        hints = get_type_hints(cls)
        if not isinstance(noted, Mapping) or not set(noted) <= set(hints):
            raise TypeError("this is not a request")
        return cls(**{name: _read(value, hints[name]) for name, value in noted.items()})

    def to_json(self) -> dict[str, Any]:
        """The request in the types of JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return plain

    @property
    def grouped(self) -> list[list[str]]:
        """Names of the columns that are chosen together."""
        rows = [next(csv.reader([text], skipinitialspace=True)) for text in self.groups]
        return [[name.strip() for name in row] for row in rows]  # in quotes if they contain a comma

    @property
    def kept(self) -> list[str]:
        """Columns that may be chosen whatever they look like, because an option names them."""
        return [*self.keep, *self.fixed, *(name for group in self.grouped for name in group)]

    def named(self, use: Literal["label", "load"]) -> dict[str, str]:
        """The names that fields have in the report or in the code to copy, by the names of the fields."""
        found = {name: getattr(option, use) for name, (_, option) in _options().items()}
        return {name: one for name, one in found.items() if one is not None}


def _options() -> dict[str, tuple[Any, Option]]:
    """The type of every field, and what else is known of it."""
    hints = get_type_hints(Request, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}


def _read(value: Any, hint: Any) -> Any:
    """A value of JSON in the type of a field; raises ``TypeError`` if it has another."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for part in parts:
            try:
                return _read(value, part)
            except TypeError:
                continue
    elif origin is Literal and isinstance(value, str) and value in parts:
        return value
    elif origin is tuple and isinstance(value, list) and len(value) == len(parts):
        return tuple(_read(one, part) for one, part in zip(value, parts, strict=True))
    elif origin is Sequence and isinstance(value, list):
        return tuple(_read(one, parts[0]) for one in value)
    elif hint is Path and isinstance(value, str):
        return Path(value)
    elif type(value) is hint or (hint is float and type(value) is int):
        return value
    raise TypeError(f"{value!r} is not of the type {hint}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for every field of the request."""
    options = _options()
    groups: dict[str, Any] = {"one of": parser.add_mutually_exclusive_group()}
    for one in fields(Request):
        kind, option = options[one.name]
        told = {"help": option.text, "type": option.read, "metavar": option.metavar}
        given: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
        where: Any = parser
        if option.group is not None:
            if option.group not in groups:
                groups[option.group] = parser.add_argument_group(option.group)
            where = groups[option.group]
        if one.name == "data":
            where.add_argument(one.name, **given)
        elif kind is bool:
            flag, action = ("--quiet", "store_false") if one.default else (f"--{one.name}", "store_true")
            where.add_argument(flag, dest=one.name, action=action, **given)
        else:
            given |= {"required": True} if one.default is MISSING else {"default": one.default}
            literals = [part for part in (kind, *get_args(kind)) if get_origin(part) is Literal]
            if literals and option.read is None:
                given["choices"] = get_args(literals[0])
            if get_origin(kind) is Sequence:
                given["nargs"] = "+"
            where.add_argument(f"--{one.name.replace('_', '-')}", **given)
