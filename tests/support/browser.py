"""A browser for tests of pages; they are skipped where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

try:
    from playwright.sync_api import sync_playwright
except ModuleNotFoundError:
    sync_playwright = None  # type: ignore[assignment]

_CHROMIUM = shutil.which("chromium")
in_browser = pytest.mark.skipif(
    _CHROMIUM is None or sync_playwright is None, reason="needs chromium and playwright"
)


@contextmanager
def running_browser() -> Iterator[Any]:
    """Chromium without a window."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()
