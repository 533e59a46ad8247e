"""The size of what a reader has to take in at once: functions, their arguments, classes, modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "src").glob("**/*.py"), *(ROOT / "experiments" / "gallery").glob("**/*.py")])

FUNCTION, CLASS, MODULE = 60, 350, 450
"""Largest numbers of lines; a function's docstring does not count."""
ARGUMENTS, COMPILED_ARGUMENTS = 12, 15
"""Largest numbers of arguments, without ``self``; compiled code takes its arrays one by one."""
OWN_LIMIT = {"Search": 550, "search.py": 600, "DAGSearchSelector": 450}
"""The classes that are documented to the user in full, and the module of the search."""
EXEMPT = {"DAGSearchSelector.__init__"}
"""scikit-learn's contract: every setting of an estimator is an argument of its constructor."""


def definitions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions and classes by their qualified names, and what is within them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inside + node.name, node
            yield from definitions(node, f"{inside}{node.name}.")
        else:
            yield from definitions(node, inside)


def lines(node: ast.AST) -> int:
    """From the definition to its end, without a function's docstring."""
    count = node.end_lineno - node.lineno + 1
    first = node.body[0]
    if not isinstance(node, ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
        count -= first.end_lineno - first.lineno + 1
    return count


def arguments(node: ast.FunctionDef) -> int:
    given = node.args
    named = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    collected = [one for one in (given.vararg, given.kwarg) if one is not None]
    return len(named) + len(collected) - (named[:1] in (["self"], ["cls"]))


def findings(text: str, file: str = "") -> list[str]:
    """What is too large in a module."""
    found = []
    if (count := len(text.splitlines())) > (most := OWN_LIMIT.get(file, MODULE)):
        found.append(f"the module has {count} lines, more than {most}")
    for name, node in definitions(ast.parse(text)):
        is_class = isinstance(node, ast.ClassDef)
        most = OWN_LIMIT.get(name, CLASS) if is_class else FUNCTION
        if (count := lines(node)) > most:
            found.append(f"{name} has {count} lines, more than {most}")
        if is_class or name in EXEMPT:
            continue
        compiled = any("compiled" in ast.unparse(decorator) for decorator in node.decorator_list)
        most = COMPILED_ARGUMENTS if compiled else ARGUMENTS
        if (count := arguments(node)) > most:
            found.append(f"{name} has {count} arguments, more than {most}")
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(ROOT)))
def test_nothing_is_larger_than_a_reader_can_take_in(source):
    own = ROOT / "src" / "dagsearch" / "search.py"
    assert findings(source.read_text(), source.name if source == own else "") == []


def body(count, statement="    pass\n"):
    return statement * count


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f():\n" + body(59), []),
        ("def f():\n" + body(60), ["f has 61 lines, more than 60"]),
        ('def f():\n    """Says\n\n    why."""\n' + body(59), []),
        ("class A:\n    def f(self):\n" + body(60, "        pass\n"), ["A.f has 61 lines, more than 60"]),
        ("class A:\n" + body(349), []),
        ("class A:\n" + body(350), ["A has 351 lines, more than 350"]),
        ("class Search:\n" + body(549), ["the module has 550 lines, more than 450"]),
        (
            "class Search:\n" + body(550),
            ["the module has 551 lines, more than 450", "Search has 551 lines, more than 550"],
        ),
        ("\n" * 451, ["the module has 451 lines, more than 450"]),
        ("def f(a, b, c, d, e, /, f, g, h, i, *, j, k, l): ...", []),
        ("def f(a, b, c, d, e, /, f, g, h, i, *j, k, **l): ...", []),
        ("def f(a, b, c, d, e, /, f, g, h, i, *j, k, l, **m): ...", ["f has 13 arguments, more than 12"]),
        ("class A:\n    def f(self, a, b, c, d, e, f, g, h, i, j, k, l): ...", []),
        ("@compiled\ndef f(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o): ...", []),
        (
            "@compiled()\ndef f(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p): ...",
            ["f has 16 arguments, more than 15"],
        ),
        ("class DAGSearchSelector:\n    def __init__(self, a, b, c, d, e, f, g, h, i, j, k, l, m): ...", []),
    ],
)
def test_what_is_too_large_is_named(text, found):
    assert findings(text) == found
