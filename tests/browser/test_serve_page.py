"""`telemark serve` in a real browser: list, live run, comparison, report."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from telemark.report.serve import ReportServer, make_server
from telemark.store.documents.live import LiveFile
from tests.browser.conftest import Watched
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two campaigns with repeats."""
    root = tmp_path_factory.mktemp("runs")
    for name, latency in (("first", 800.0), ("second", 1600.0)):
        runs = [FakeRun(repeat=n, seed=n, latency_us=latency * (1 + n / 400)) for n in range(3)]
        make_campaign(root / name, runs)
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ReportServer]:
    """Running while the tests of this file do."""
    made = make_server(folder, 0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def only_from(server: ReportServer, watched: Watched) -> bool:
    """Whether everything was asked of this server."""
    return all(url.startswith((server.url, "data:")) for url in watched.requests)


def test_the_list_leads_to_reports_and_comparisons(watched: Watched, server: ReportServer, screenshots: Path) -> None:
    """Choose two campaigns, press the button, read the verdicts."""
    page = watched.page
    page.goto(server.url)
    page.screenshot(path=screenshots / "serve-list.png")
    page.get_by_label("baseline: first").check()
    page.get_by_label("compared: second").check()
    page.get_by_role("button", name="Compare B with A").click()
    page.wait_for_selector("h1:has-text('Comparison')")
    page.screenshot(path=screenshots / "serve-compare.png")

    row = page.locator("tbody tr", has_text="latency_mean_us")
    assert "worse" in row.inner_text()
    assert [] == watched.errors
    assert only_from(server, watched)


def test_the_report_opens_inside_the_server(watched: Watched, server: ReportServer) -> None:
    """The same self-contained page, with its charts."""
    page = watched.page
    page.goto(server.url)
    page.get_by_role("link", name="report").first.click()
    page.wait_for_selector("table.score-card")
    page.get_by_role("button", name="open all runs").click()
    page.locator(".chart").first.scroll_into_view_if_needed()
    page.wait_for_selector(".chart[data-drawn]")

    assert [] == watched.errors
    assert only_from(server, watched)


def test_a_run_is_shown_while_it_happens_and_the_page_notices_its_end(
    watched: Watched, server: ReportServer, folder: Path, screenshots: Path
) -> None:
    """Numbers and charts follow live.json; when it goes, so does the live part."""
    campaign = folder / "first"
    live = LiveFile("004-x", "mosquitto", "publishers=2000", 4, 5, 7.0, {"connected": 2000, "sent": 10, "received": 9})
    for second in range(20):
        live.add([float(second), "measure", 2000.0, 1990.0, 800.0, 3000.0, 0.3, 15e6, 0.1, 2000, 1])
    live.write(campaign)
    page = watched.page
    page.goto(f"{server.url}campaign/first")
    expect(page.locator("#live-phase")).to_have_text("measure")
    page.wait_for_selector("#live-chart-rate[data-drawn]")
    live.totals["sent"] = 123_456
    live.write(campaign)
    expect(page.locator("#live-sent")).to_have_text("123,456")
    page.screenshot(path=screenshots / "serve-live.png")
    (campaign / "live.json").unlink()
    expect(page.locator("#live")).to_be_hidden()

    assert [] == watched.errors
    assert only_from(server, watched)
