"""Make the pictures of the report for docs/tutorial.md: ``python -m experiments.report_pictures``.

It needs Chromium and Playwright, as the tests of the page do.
"""

import contextlib
import shlex
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from dagsearch.cli import main

PICTURES = Path(__file__).resolve().parent.parent / "results" / "report"
# The last command of the tutorial.
COMMAND = (
    "select shop.csv --target left --k auto --scoring roc_auc --forbidden 'closing fee' "
    "--group-column household"
)
PARTS = {
    "headline": (1100, "#headline"),
    "sizes": (700, "#sizes"),
    "importances": (700, "#effects"),
    "phone": (390, "#comparisons"),
}
"""Width of the screen and part of the page, by the picture's name."""


def pictures(page_file: Path) -> None:
    """Draw the parts of a report's page, in light colours."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, part) in PARTS.items():
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
            page = context.new_page()
            page.goto(page_file.as_uri())
            page.locator(part).screenshot(path=PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main(["example", "shop"])
        main([*shlex.split(COMMAND), "--out", "report"])
        pictures(Path(folder, "report", "report.html"))
