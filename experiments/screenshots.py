"""Chromium without a window, for pictures of pages; it needs Playwright, as the tests of the page do."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import sync_playwright


@contextmanager
def opened(address: str, width: int, height: int = 900) -> Iterator[Any]:
    """A page in light colours, in a window of this size in pixels."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
        page = context.new_page()
        page.goto(address)
        yield page
        browser.close()
