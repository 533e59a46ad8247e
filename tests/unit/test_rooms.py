"""Which part of the library may import which: read from the source, nothing is run."""

import ast
import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import dagsearch

PACKAGE = Path(dagsearch.__file__).parent
ROOT = Path(__file__).parents[2]
ROOMS = sorted({path.stem if path.is_file() else path.name for path in PACKAGE.iterdir()} - {"__pycache__"})

# From the inside out. A room may import those before it, and those beside it that the table below allows.
OUTER = {"functions", "report", "selection", "tables", "baselines", "games", "cli"}
SHELL = {"search", "costly", "journal", "record", "run", *OUTER}
CENTRE = {"proposers", "pending", "methods", "optimum", "answers", *SHELL}
BELIEFS = {"posterior", "values", "data", *CENTRE}
ABOVE = {
    "problem": {"space", "problems", "covariances", "recorder", "results", *BELIEFS},
    "space": {"problems", "covariances", "recorder", "results", *BELIEFS},
    "covariances": {"problems", "recorder", "results", *BELIEFS},
    "problems": {"recorder", "results", *BELIEFS} - {"games"},  # among which are some
    "posterior": {"problems", "data", *CENTRE},
    "values": {"problems", "recorder", "data", *CENTRE},
    "data": {"problems", "recorder", *CENTRE},
    "pending": {"problems", "recorder", *CENTRE} - {"pending"},
    "proposers": {"problems", "recorder", *CENTRE} - {"proposers"},
    "methods": {"problems", "recorder", "data", "pending", "optimum", "answers", *SHELL},
    "optimum": {"problems", "recorder", "proposers", "methods", "answers", *SHELL},
    "answers": {"problems", "recorder", "methods", *SHELL},
    "recorder": {"posterior", "values", "data", *CENTRE},
    "journal": {"search", "costly", "record", *OUTER},
    "record": {"search", "costly", "run", *OUTER},
    "run": {"search", "costly", "journal", "record", *OUTER},
    "costly": {"functions", "selection", "tables", "baselines", "games", "cli"},
    "search": {"functions", "selection", "tables", "baselines", "games", "cli"},
    "report": {"functions", "search", "selection", "tables", "baselines", "games", "cli"},
    "functions": {"selection", "tables", "baselines", "games", "cli"},
    "baselines": {"functions", "report", "selection", "tables", "games", "cli"},
    "selection": {"tables", "baselines", "games", "cli"},
    "tables": BELIEFS - {"tables"},
    "games": {"functions", "report", "selection", "tables", "cli"},
}
"""For every room those that it must not import, not even inside a function."""


class Import(NamedTuple):
    importer: str
    """Dotted name of the module."""
    imported: str
    """Dotted name of what it imports."""
    at_once: bool
    """Whether it is imported together with the module, rather than inside a function."""

    @property
    def rooms(self):
        return tuple(name.split(".")[1] if "." in name else name for name in self[:2])


def modules():
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        yield name.removesuffix(".__init__"), ast.parse(path.read_text())


def imports():
    """Every import of the library; those for type checkers aside, which are not carried out."""
    for name, tree in modules():
        yield from (Import(name, *found) for found in _imported(tree, at_once=True))


def _imported(node, at_once):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, at_once) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((_target(child.module, alias.name), at_once) for alias in child.names)
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _imported(child, at_once and not isinstance(child, ast.FunctionDef))


def _target(module, name):
    """The submodule of that name, if there is one."""
    path = PACKAGE.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else module


IMPORTS = list(imports())
OWN = [found for found in IMPORTS if found.imported.split(".")[0] == "dagsearch"]


def test_the_library_does_not_know_the_experiments():
    assert len(OWN) > 300
    assert [found for found in IMPORTS if found.imported.startswith("experiments")] == []
    for name, tree in modules():
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        # A docstring may name a command of a clone, never a module of it.
        assert not any(re.search(r"experiments[./]\w", text) for text in texts if isinstance(text, str)), name


def test_the_wheel_holds_the_library_only():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert built == {"packages": ["src/dagsearch"]}
    assert PACKAGE == ROOT / "src" / "dagsearch"


def test_internals_know_nothing_but_problems_and_errors():
    known = {found.rooms[1] for found in OWN if found.rooms[0] == "_internal"}
    assert known <= {"_internal", "problem", "errors"}


@pytest.mark.parametrize("room", ABOVE)
def test_rooms_do_not_import_what_is_above_them(room):
    assert {room, *ABOVE[room]} <= set(ROOMS)
    assert [found for found in OWN if found.rooms[0] == room and found.rooms[1] in ABOVE[room]] == []


def test_every_room_of_the_search_is_in_the_table():
    left_out = set(ROOMS) - set(ABOVE)
    assert left_out == {
        "__init__",
        "__main__",
        "_internal",
        "cli",
        "errors",
        "py",
        "results",
        "sklearn",
        "testing",
    }


def test_solvers_know_no_dag():
    """Only the posterior of a search knows which states there are."""
    dag = {"dagsearch.values.explored", "dagsearch.values.graph", "dagsearch.values.values"}
    importers = {found.importer for found in OWN if found.rooms[0] == "posterior" and found.imported in dag}
    assert importers == {"dagsearch.posterior.posterior"}


def test_only_the_entry_imports_the_command_line():
    importers = {found.rooms[0] for found in OWN if found.rooms[1] == "cli"}
    assert importers == {"cli", "__main__"}


def test_modules_do_not_import_each_other_in_circles():
    graph = {name: set() for name, _ in modules()}
    for found in OWN:
        if found.at_once and found.imported not in ("dagsearch", found.importer):
            graph[found.importer].add(found.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
