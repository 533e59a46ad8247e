"""Builds the documentation site into ``site``: ``python -m docs.site``.

Pages of ``docs`` read well on a code host, where links such as ``../results/digits.png`` and
``../examples/roster.py`` lead out of ``docs``. The site is built from copies in ``build/docs`` whose links
stay inside: with the pictures, one page with all examples, and the README of every application in
``experiments/gallery``.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).parents[1]
DOCS, COPIES, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "site"
SHIM = "javascripts/iframe-worker.js"  # the theme would load it from elsewhere
_ROLE = re.compile(r":(?:class|meth|func|attr|data):`([^`]+)`")
_TERM = re.compile(r"^(``.+)\n    (?=\S)", re.MULTILINE)


def main() -> int:
    """Copy what the site is made of, and build it; returns the exit code. Warnings count as errors."""
    copy_pages()
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    code = subprocess.run([*command, "--config-file", str(ROOT / "mkdocs.yml")]).returncode
    for page in SITE.rglob("*.html"):
        own = "../" * (len(page.relative_to(SITE).parts) - 1) + SHIM
        page.write_text(page.read_text().replace("https://unpkg.com/iframe-worker/shim", own))
    return code


def copy_pages() -> None:
    """Write every page with links that stay inside, the pictures and the script, to ``COPIES``."""
    shutil.rmtree(COPIES, ignore_errors=True)
    pages = {page.relative_to(DOCS).as_posix(): page.read_text() for page in DOCS.rglob("*.md")}
    pages |= {"examples.md": _examples(), "command-line.md": _commands()}
    others = {SHIM: DOCS / SHIM}
    others |= {picture.relative_to(ROOT).as_posix(): picture for picture in ROOT.glob("results/**/*.png")}
    for readme in ROOT.glob("experiments/gallery/*/README.md"):
        application = f"gallery/{readme.parent.name}"
        pages[f"{application}/index.md"] = readme.read_text()
    for name, text in pages.items():
        _made(COPIES / name).write_text(_inside(text, name))
    for name, other in others.items():
        shutil.copy(other, _made(COPIES / name))


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _inside(markdown: str, name: str) -> str:
    """A page whose links lead to the copies, where they would leave ``docs``."""
    up = "../" * name.count("/")
    if name.startswith("gallery/"):  # a README, one folder deeper in the repository
        markdown = markdown.replace(f"]({up}../docs/", f"]({up}")
        markdown = re.sub(r"\]\(\.\./(\w+)/README\.md\)", r"](../\1/index.md)", markdown)
    out = re.escape(f"{up}../")
    markdown = re.sub(rf"\]\({out}examples/(\w+)\.py\)", rf"]({up}examples.md#\1)", markdown)
    markdown = re.sub(
        rf"\]\({out}experiments/gallery/(\w+)/README\.md\)", rf"]({up}gallery/\1/index.md)", markdown
    )
    markdown = re.sub(rf"\]\({out}(results/[^)]+\.png)\)", rf"]({up}\1)", markdown)
    return re.sub(rf"\[([^\]]*)\]\({out}[^)]*\)", r"\1", markdown)  # no such page on the site


def _examples() -> str:
    parts = ["# Examples", "Scripts to read from top to bottom and to run; each takes a few seconds."]
    for script in sorted((ROOT / "examples").glob("*.py")):
        code = script.read_text()
        docstring = ast.get_docstring(ast.parse(code)) or script.stem
        title = docstring.splitlines()[0].rstrip(".")
        parts += [f"## {title} {{ #{script.stem} }}", f"`examples/{script.name}`", f"```python\n{code}```"]
    return "\n\n".join(parts)


def _commands() -> str:
    first = _help()
    commands = re.findall(r"^    (\w+)  ", first, re.MULTILINE)
    parts = {"dagsearch": first, **{f"dagsearch {command}": _help(command) for command in commands}}
    return "\n\n".join(
        ["# The command line", *(f"## {name}\n\n```text\n{shown}```" for name, shown in parts.items())]
    )


def _help(*command: str) -> str:
    shown = [sys.executable, "-m", "dagsearch", *command, "--help"]
    wide = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(shown, env=wide, capture_output=True, text=True, check=True).stdout


class PlainMarkdown(griffe.Extension):
    """Docstrings as Markdown: roles and lists of terms; modules have none, their pages introduce them."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through all docstrings once everything is loaded."""
        _translate(pkg)


def _translate(owner: griffe.Object) -> None:
    if owner.docstring is not None:
        if owner.is_module:
            owner.docstring = None
        else:
            text = _ROLE.sub(lambda role: _link(owner, role[1]), owner.docstring.value)
            owner.docstring.value = _TERM.sub(r"\n\1\n\n:   ", text)
    for member in owner.members.values():
        if isinstance(member, griffe.Object):
            _translate(member)


def _link(owner: griffe.Object, name: str) -> str:
    """A link if the name is on a page, otherwise the name alone."""
    try:
        target = name if name.startswith("dagsearch.") else owner.resolve(name)
    except griffe.NameResolutionError:
        return f"`{name}`"
    if target == "dagsearch.search":  # the function; there is a module of this name, too
        target = "dagsearch.functions.search"
    return f'<autoref identifier="{target}" optional><code>{name.removeprefix("dagsearch.")}</code></autoref>'


if __name__ == "__main__":
    sys.exit(main())
