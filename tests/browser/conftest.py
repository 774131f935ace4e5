"""Headless Chromium for the tests of the pages people read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.requirements import require
from tests.support.waiting import PATIENCE_S

# Without these Chromium, run as root, refuses to start or asks its maker's hosts for updates.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; the system's, nothing is downloaded."""
    program = os.environ.get("TELEMARK_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    require(program, "no Chromium on this host: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page with all it complained about and all it asked for."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Watched]:
    """A fresh page of desktop size whose errors and requests are recorded."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_S * 1000)
    found = Watched(page)
    page.on(
        "console", lambda message: found.errors.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    yield found
    page.close()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: TELEMARK_SCREENSHOTS, so that a person can look at them, or a folder of the test run."""
    folder = Path(os.environ.get("TELEMARK_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
