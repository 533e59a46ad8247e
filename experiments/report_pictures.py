"""Make the pictures of pages and of concepts for the docs: ``python -m experiments.report_pictures``.

It needs Chromium and Playwright, as the tests of the page do.
"""

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.problems.functions import Choose
from experiments.harness.drawing import figure

PICTURES = Path(__file__).resolve().parent.parent / "results" / "report"
# The command of docs/feature-selection.md.
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
    """Stands for the cross-validation of a pipeline."""
    scaler = choose("scaler", ["none", "standard", "robust"])
    if choose("model", ["neighbours", "tree", "linear"]) == "neighbours":
        return 0.9 - 0.02 * abs(choose("k", range(1, 16)) - 7) - 0.1 * (scaler == "none")
    return 0.7 + 0.02 * choose("depth", [2, 4, 8]) + 0.01 * choose("penalty", range(6))


def concepts() -> None:
    """Draw the DAG of picking two of four items, with the words of docs/concepts.md."""
    drawn = figure(9.0, 4.2)
    axes = drawn.subplots()
    places: dict[frozenset[int], tuple[float, float]] = {frozenset(): (0.0, 2.0)}
    places |= {frozenset([i]): (2.0 * i - 3.0, 1.0) for i in range(4)}
    places |= {frozenset(pair): (1.6 * i - 4.0, 0.0) for i, pair in enumerate(combinations(range(4), 2))}
    for state, (x, y) in places.items():
        for below in places:
            if len(below) == len(state) + 1 and state < below:
                axes.plot([x, places[below][0]], [y, places[below][1]], color="0.75", zorder=0)
        told = sorted(state) in ([0, 2], [1, 3])
        axes.text(
            x,
            y,
            "{" + ", ".join(map(str, sorted(state))) + "}",
            ha="center",
            va="center",
            bbox={"boxstyle": "round,pad=0.4", "facecolor": "#D55E00" if told else "white"},
            color="white" if told else "black",
        )
    rng = np.linspace(-3.0, 3.0, 61)
    for (x, width, height), colour in zip(
        ((-2.4, 0.06, 0.32), (2.4, 0.2, 0.16)), ("#D55E00", "#0072B2"), strict=True
    ):
        axes.fill_between(
            x + width * rng, -0.75, -0.75 + height * np.exp(-0.5 * rng**2), color=colour, alpha=0.5
        )
    notes = {
        (0.35, 2.0): "root: the state before any decision",
        (3.55, 1.0): "inner state: g, what random play earns;\nv, what the best play earns",
        (4.65, 0.0): "leaf: a complete\nchoice, evaluated\nfor its reward",
        (-4.55, -0.72): "evaluated:\nlittle is uncertain",
        (3.15, -0.72): "belief about a leaf that was not evaluated",
    }
    for (x, y), note in notes.items():
        axes.text(x, y, note, va="center", fontsize="small", color="0.25")
    axes.text(
        -4.55,
        1.5,
        "{0, 2} is one state,\nwhichever item\ncomes first",
        fontsize="small",
        color="0.25",
        va="center",
    )
    axes.set(xlim=(-4.7, 6.4), ylim=(-0.95, 2.3))
    axes.axis("off")
    drawn.savefig(PICTURES / "concepts.png", dpi=110)


if __name__ == "__main__":
    concepts()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        ds.maximize(pipeline, 60, seed=0).report().write("page.html")
        pictures(Path(folder, "page.html"), {"page": (1100, None)})
        main(["example", "shop"])
        main([*shlex.split(COMMAND), "--out", "report"])
        pictures(Path(folder, "report", "report.html"), PARTS)
