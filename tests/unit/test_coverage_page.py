"""docs/coverage.md: every case, every table and figure of the reports, and where it is shown."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

from telemark.catalog import load
from telemark.report.build import build_report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_suites import RUNS_OF_SUITE

DOCS = Path(__file__).parents[2] / "docs"
REPORTS = ("messagesight", "scalagent", "mq-telemetry", "fanin-jms")
ITEMS: list[dict[str, Any]] = tomllib.loads((DOCS / "reported.toml").read_text())["item"]
PAGE = (DOCS / "coverage.md").read_text()


@pytest.fixture(scope="module")
def titles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Titles of all charts and tables of a report on each suite, by suite and by suite/scenario."""
    root = tmp_path_factory.mktemp("runs")
    found: dict[str, list[str]] = {}
    for name, runs in RUNS_OF_SUITE.items():
        (suite,) = build_report([make_campaign(root / name, runs)]).campaigns[0].suites
        found[name] = [item.title for item in (*suite.charts, *suite.tables)]
        for scenario in suite.scenarios:
            own = [chart for run in scenario.runs for chart in run.charts]
            found[f"{name}/{scenario.name}"] = [item.title for item in (*scenario.charts, *scenario.tables, *own)]
    return found


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["name"][:50])
def test_every_item_is_shown_in_a_report_or_says_why_not(item: dict[str, Any], titles: dict[str, list[str]]) -> None:
    """The titles it names exist in a report over runs of that suite."""
    assert ("shown" in item) != ("why" in item), "either shown or a reason"
    for place in item.get("shown", ()):
        where, title = place.split(": ", 1)
        assert any(title in found for found in titles[where]), place


@pytest.mark.parametrize("suite", REPORTS)
def test_every_published_value_belongs_to_a_listed_table_or_figure(suite: str) -> None:
    """A source that the list does not know would be a row missing from it."""
    known = [source for item in ITEMS if item["report"] == suite for source in item.get("sources", ())]
    sources = {result.source for result in load().suite(suite).published}

    assert {source for source in sources if not any(source.startswith(each) for each in known)} == set()


@pytest.mark.parametrize("suite", REPORTS)
def test_every_case_has_a_row_with_servers_or_a_reason(suite: str) -> None:
    """No row is empty."""
    rows = {cells[1].strip(): cells[3].strip() for line in PAGE.splitlines() if len(cells := line.split("|")) == 5}

    assert [case.name for case in load().suite(suite).scenarios if not rows.get(case.name)] == []


def test_a_server_that_lacks_a_profile_runs_the_points_that_do_not_need_it() -> None:
    """Mosquitto cannot sync each message: the QoS 1 points of ScalAgent at the published size are not for it."""
    specification = importlib.util.spec_from_file_location("report_coverage", DOCS / "report_coverage.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    able, reasons = module.runs_on(load().find("scalagent/multi-publisher"))

    assert "mosquitto (13 of 26 points)" in able
    assert any("fsync" in reason for reason in reasons)
