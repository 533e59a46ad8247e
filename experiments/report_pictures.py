"""Make the pictures of the report for docs/tutorial.md: ``python -m experiments.report_pictures``.

It needs Chromium and Playwright, as the tests of the page do.
"""

import contextlib
import shlex
import tempfile
from pathlib import Path

from dagsearch.cli import main
from experiments.screenshots import opened

PICTURES = Path(__file__).resolve().parent.parent / "results" / "report"
# The last command of the tutorial.
COMMAND = (
    "select shop.csv --target left --k auto --scoring roc_auc --forbidden 'closing fee' "
    "--group-column household"
)
PARTS = {
    "headline": (1100, "#headline"),
    "warnings": (1100, "#warnings"),
    "sizes": (700, "#sizes"),
    "inclusion": (700, "#inclusion"),
    "phone": (390, "#comparisons"),
}
"""Width of the screen and part of the page, by the picture's name."""


def pictures(page_file: Path) -> None:
    """Draw the parts of a report's page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, (width, part) in PARTS.items():
        with opened(page_file.as_uri(), width) as page:
            page.locator(part).screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main(["example", "shop"])
        main([*shlex.split(COMMAND), "--out", "report", "--quiet"])
        pictures(Path(folder, "report", "report.html"))
