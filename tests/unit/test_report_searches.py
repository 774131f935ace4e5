"""A search's report agrees with the search: the peak first, and every try by the search's own rule, in every form."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from telemark.campaigns.search import SearchOutcome
from telemark.cli import search
from telemark.report import console, html, json_card, json_schema, junit, markdown
from telemark.report.build import build_report
from telemark.report.model import Report
from telemark.report.searches import answer
from telemark.store.documents.search import (
    BottleneckRecord,
    PeakRecord,
    SearchRecord,
    SummaryRecord,
    TryRecord,
    write_searches,
)
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun

RATES = {8000.0: True, 128_000.0: False, 64_000.0: False, 9000.0: True}
ENGINE_BOUND = 64_000.0
CULPRIT = BottleneckRecord(
    "server", "one thread", ("its busiest thread used 99 % of a core",), "not clear: engine 92 %"
)


def runs() -> list[FakeRun]:
    """One run a try; their own thresholds all pass, as those of a case without a limit on latency do."""
    return [
        FakeRun(
            parameters={"rate": int(rate)}, rate=2000.0, engine_bound=rate == ENGINE_BOUND, thresholds=("lost == 0",)
        )
        for rate in RATES
    ]


def searched(folder: Path, peak: float | None = 9000.0) -> SearchRecord:
    """The search.json of these runs."""
    names = sorted(path.parent.name for path in folder.glob("*/run.json"))
    tries = tuple(
        TryRecord(rate, holds, "ramp", False, () if holds else (f"{rate:.0f} falls behind",), run)
        for (rate, holds), run in zip(RATES.items(), names, strict=True)
    )
    summary = SummaryRecord(1, peak, peak, None, None, 0.0) if peak else None
    record = SearchRecord(
        "scalagent", "multi-publisher", "", "quick", "mosquitto", "messages", ("p99 < 5 ms",),
        (PeakRecord(peak, 8000.0, "confirmed" if peak else "gave up", CULPRIT, tries),), summary,
    )  # fmt: skip
    write_searches(folder, [record])
    return record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_campaign(tmp_path / "campaign", runs())


def verdicts(report: Report) -> dict[str, str]:
    """Verdict by the rate in the point's label."""
    return {row.point.removeprefix("rate="): row.verdict for row in report.rows}


def test_every_form_agrees_on_the_peak_and_on_every_try(folder: Path) -> None:
    """The search printed that 128,000 does not hold: nothing may call it a pass."""
    searched(folder)
    report = build_report([folder])
    document = json_card.document(report)
    suite = ET.fromstring(junit.render(report))

    expected = {"8000": "pass", "128000": "fail", "64000": "no verdict", "9000": "pass"}
    assert expected == verdicts(report)
    assert expected == {row["point"].removeprefix("rate="): row["verdict"] for row in document["campaigns"][0]["rows"]}
    assert {8000.0: "pass", 128_000.0: "fail", 64_000.0: "no verdict", 9000.0: "pass"} == {
        each["rate"]: each["verdict"] for each in document["campaigns"][0]["searches"][0]["tries"]
    }
    assert (1, 1) == (int(suite.get("failures", 0)), int(suite.get("errors", 0)))
    jsonschema.validate(document, json_schema.schema())
    for text in (console.render(report, 80), markdown.render(report), html.render(report), junit.render(report)):
        assert "peak 9,000 msg/s" in text
        assert "128,000 msg/s" in text
        assert "128000 falls behind" in text


def test_the_report_of_a_search_begins_with_its_answer(folder: Path) -> None:
    """Peak, confirmation, bottleneck with its doubt, then the tries, then the card."""
    searched(folder)
    text = " ".join(console.render(build_report([folder]), 100).split())

    order = [
        "PASS campaign", "peak 9,000 msg/s, confirmed by a full-length run", "failed first: server one thread",
        "not clear: engine 92 %", "8,000 msg/s ramp holds", "Throughput scalagent/multi-publisher",
    ]  # fmt: skip
    places = [text.find(part) for part in order]
    assert -1 not in places, dict(zip(order, places, strict=True))
    assert places == sorted(places)


def test_the_verdict_of_a_search_is_whether_it_found_the_peak(folder: Path) -> None:
    """Tries that fail are part of a search; a search without a peak says nothing."""
    searched(folder)
    assert "pass" == build_report([folder]).verdict

    searched(folder, peak=None)
    report = build_report([folder])
    assert "no verdict" == report.verdict
    assert "no peak: gave up; at least 8,000 msg/s" in console.render(report, 100)


def test_the_command_and_the_report_use_the_same_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `telemark search` prints is what its report prints; the next step follows."""
    record = searched(folder)
    names = {name: getattr(record, name) for name in ("suite", "scenario", "point", "server", "size")}
    result = SimpleNamespace(**names, record=lambda: record, interrupted=False)
    search._show(SearchOutcome(folder, (result,)), named=False, as_json=False)  # type: ignore[arg-type]
    said = capsys.readouterr()

    assert [f"  {sentence}" for sentence in answer(record)] == said.out.splitlines()[1:]
    assert f"next: telemark report {folder} -o report.html" in said.err
    assert tuple(answer(record)) == build_report([folder]).campaigns[0].searches[0].answer


def test_the_page_draws_the_tries(folder: Path) -> None:
    """At which rate, and whether it held."""
    searched(folder)
    view = build_report([folder]).campaigns[0]
    chart = next(chart for chart in view.charts if "search for the peak" in chart.title)

    assert {"held": 2, "did not hold": 2} == {line.name: len(line.points) for line in chart.series}
