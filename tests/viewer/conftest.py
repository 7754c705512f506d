"""A browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.driver import CHROMIUM, DRIVER, LACKING, Browser, browser


@pytest.fixture(scope="package")
def window() -> Iterator[Browser]:
    """A window; skips the test where there is no Chromium."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(LACKING)
    with browser() as found:
        yield found
