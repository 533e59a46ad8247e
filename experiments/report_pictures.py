"""Make the pictures of pages for the docs: ``python -m experiments.report_pictures``.

It needs Chromium and Playwright, like the tests of the page.
"""

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import sync_playwright

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.problems.functions import Choose

PICTURES = Path(__file__).resolve().parent.parent / "results" / "report"
# The command of docs/feature-selection.md.
COMMAND = (
    "select shop.csv --target left --k auto --scoring roc_auc --forbidden 'closing fee' "
    "--group-column household"
)
PARTS = {"headline": (1100, "#headline"), "sizes": (700, "#sizes"), "importances": (700, "#effects")}
"""Width of the screen and part of the page, by the picture's name."""


def pictures(page_file: Path, parts: Mapping[str, tuple[int, str | None]]) -> None:
    """Draw parts of a page, or its first screen, in light colours."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, part) in parts.items():
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
            page = context.new_page()
            page.goto(page_file.as_uri())
            (page.locator(part) if part else page).screenshot(path=PICTURES / f"{name}.png")
        browser.close()


def pipeline(choose: Choose) -> float:
    """A stand-in for the cross-validation of a pipeline."""
    scaler = choose("scaler", ["none", "standard", "robust"])
    if choose("model", ["neighbours", "tree", "linear"]) == "neighbours":
        return 0.9 - 0.02 * abs(choose("k", range(1, 16)) - 7) - 0.1 * (scaler == "none")
    return 0.7 + 0.02 * choose("depth", [2, 4, 8]) + 0.01 * choose("penalty", range(6))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        ds.maximize(pipeline, 60, seed=0).report().write("page.html")
        pictures(Path(folder, "page.html"), {"page": (1100, None)})
        main(["example", "shop"])
        main([*shlex.split(COMMAND), "--out", "report"])
        pictures(Path(folder, "report", "report.html"), PARTS)
