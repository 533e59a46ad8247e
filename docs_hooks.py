"""Hooks for MkDocs, so that the pages read well both on a site and on a code host.

Links such as ``../results/digits.png`` and ``../examples/ask_tell.py`` lead out of ``docs``. The site gets
copies of the pictures, one page with all examples, and the README of every application in
``experiments/gallery``.
"""

import ast
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
_ROLE = re.compile(r":(?:class|meth|func|attr|data):`([^`]+)`")
_TERM = re.compile(r"^(``.+)\n    (?=\S)", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the applications of the gallery, whatever there are."""
    (gallery,) = (entry["Gallery"] for entry in config.nav or () if "Gallery" in entry)
    gallery += [f"gallery/{readme.parent.name}/index.md" for readme in _applications()]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pictures, the page of examples and the applications of the gallery."""
    for picture in sorted((ROOT / "results").rglob("*.png")):
        name = picture.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(picture)))
    files.append(File.generated(config, "examples.md", content=_examples()))
    for readme in _applications():
        folder = f"gallery/{readme.parent.name}"
        files.append(File.generated(config, f"{folder}/index.md", abs_src_path=str(readme)))
        for picture in sorted(readme.parent.glob("*.png")):
            files.append(File.generated(config, f"{folder}/{picture.name}", abs_src_path=str(picture)))
    return files


def _applications() -> list[Path]:
    return sorted((ROOT / "experiments" / "gallery").glob("*/README.md"))


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Redirect links that leave ``docs`` to the files that :func:`on_files` has added."""
    up = "../" * page.file.src_uri.count("/")
    if page.file.src_uri.startswith("gallery/"):  # a README, one folder deeper in the repository
        markdown = markdown.replace(f"]({up}../docs/", f"]({up}")
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
