"""Python code that fits the estimator of a selection on the chosen columns."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dagsearch.cli.select.estimator import constructor
from dagsearch.selection.arguments import last_step
from dagsearch.tables.clean import is_prepared
from dagsearch.tables.read import INPUT

if TYPE_CHECKING:
    from dagsearch.cli.select.task import Request


def code_for(request: "Request", estimator: Any, names: Sequence[str]) -> str:
    """Read the table as the command did, and fit the estimator on the chosen columns."""
    path = "table.csv" if str(request.data) == INPUT else str(request.data)
    weights = ""
    if request.weight_column is not None:
        weights = f", {last_step(estimator)}sample_weight=table.weights"
    source, made = (
        _own(str(request.estimator)) if not is_prepared(estimator) else _class(estimator.steps[1][1])
    )
    return "\n".join(
        [
            f"from dagsearch.tables import load_table{', prepared' if is_prepared(estimator) else ''}",
            source,
            "",
            f"table = load_table({path!r}, {request.target!r}{_options(request)})",
            f"features = {list(names)!r}",
            f"model = {made}.fit(table.features[features], table.target{weights})",
        ]
    )


def _options(request: "Request") -> str:
    """The arguments of ``load_table`` that differ from its defaults."""
    given = {
        "task": None if request.task == "auto" else request.task,
        "positive": request.positive,
        "weight": request.weight_column,
        "keep": [*request.keep, *request.fixed] or None,
        "sep": request.sep,
        "decimal": request.decimal,
        "encoding": request.encoding,
    }
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)


def _own(path: str) -> tuple[str, str]:
    """Import of an estimator object, or of a function that makes it; and how to get the object."""
    module, _, name = path.replace(":", ".").rpartition(".")
    makes = not hasattr(getattr(sys.modules[module], name), "fit")
    return f"from {module} import {name}", f"{name}()" if makes else name


def _class(model: Any) -> tuple[str, str]:
    """Import of the model's class; and how it is made."""
    parts = type(model).__module__.split(".")
    module = ".".join(part for part in parts if not part.startswith("_"))
    return f"from {module} import {type(model).__name__}", f"prepared({constructor(model)})"
