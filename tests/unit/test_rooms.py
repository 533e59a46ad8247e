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

ORDER = (
    ("_internal", "errors"),
    ("problem",),
    ("results",),
    ("space", "forecasts"),
    ("covariances",),
    ("problems", "log"),
    ("posterior",),
    ("data", "values"),
    ("session",),
    ("proposers",),
    ("methods",),
    ("costly",),
    ("search",),
    ("storage",),
    ("run",),
    ("report", "testing", "tables"),
    ("functions",),
    ("baselines",),
    ("games", "selection"),
    ("sklearn",),
    ("cli",),
    ("__init__", "__main__", "py"),
)
"""From the inside out: a room imports only the rooms before it, even inside functions."""
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}


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


def test_arrows_point_one_way():
    assert set(PLACE) == set(ROOMS)
    known = {pair for pair in (found.rooms for found in OWN) if pair[0] != pair[1] and pair[1] != "dagsearch"}
    known = {pair for pair in known if pair[0] != "dagsearch"}  # the package itself connects all rooms
    assert sorted(pair for pair in known if PLACE[pair[1]] >= PLACE[pair[0]]) == []


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
