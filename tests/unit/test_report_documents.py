"""Score cards for machines and pull requests: JSON, JUnit, Markdown."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from telemark.report import console, html, json_card, junit, markdown
from telemark.report.build import build_report
from telemark.report.model import Report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "score-card.schema.json"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Pass, fail, no verdict, an unfinished run and a folder that cannot be read."""
    runs = [
        FakeRun(server="mosquitto"),
        FakeRun(server="rabbitmq", lost=12),
        FakeRun(server="slow|<b>`x`", engine_bound=True, headroom=None),
        FakeRun(server="dead", state="failed", reason="died & <gone>\x9b2J"),
        FakeRun(suite="messagesight", scenario="CONNBURST", shape="idle", thresholds=()),
    ]
    folder = make_campaign(tmp_path_factory.mktemp("runs") / "campaign", runs)
    (folder / "009-broken").mkdir()
    (folder / "009-broken" / "run.json").write_text("[]")
    return build_report([folder])


def test_the_json_score_card_keeps_its_published_schema(report: Report) -> None:
    """Programs rely on the schema, so a field cannot change unnoticed."""
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(json.loads(json_card.render(report)), schema)
    assert json_card.render(report).isascii()  # no control characters of a folder reach a terminal


def test_the_schema_names_every_field_of_a_row(report: Report) -> None:
    """An undocumented field is one nobody can rely on."""
    row = json_card.document(report)["campaigns"][0]["rows"][0]
    campaigns = json.loads(SCHEMA.read_text())["properties"]["campaigns"]
    known = campaigns["items"]["properties"]["rows"]["items"]["properties"]

    assert set() == set(row) - set(known)
    assert set() == set(row["values"]) - set(known["values"]["properties"])


def test_every_run_says_which_side_was_the_limit(report: Report) -> None:
    """With the evidence, for programs and in pull requests."""
    rows = json_card.document(report)["campaigns"][0]["rows"]
    limits = {row["server"]: row["bottleneck"] for row in rows}

    assert limits["slow|<b>`x`"].startswith("engine (load generator): ")
    assert all(limits.values())
    assert markdown.render(report).count("bottleneck of ") == len(rows)


def test_a_size_is_shown_only_where_one_was_chosen(tmp_path: Path) -> None:
    """A load from the command line has none; terminal, Markdown and page agree."""
    runs = [FakeRun(suite="adhoc", scenario="load", size=""), FakeRun(size="laptop")]
    report = build_report([make_campaign(tmp_path / "campaign", runs)])

    for text in (console.render(report), markdown.render(report), html.render(report)):
        assert ["size laptop"] == re.findall(r"\bsize (?:laptop|quick|(?=[<)\n]))", text)


def test_connection_cases_show_connection_rates(report: Report) -> None:
    """The value of a case is what its report asked for."""
    row = report.rows[-1]

    assert ("Connection rate", "connect_rate", "connect") == (row.kind, row.headline.name, row.statistics)


def test_junit_counts_failures_and_takes_no_verdict_for_an_error(report: Report) -> None:
    """A CI system must go red for what could not be judged."""
    root = ET.fromstring(junit.render(report))

    assert 1 == int(root.get("failures", "0"))
    # Two thresholds each of the engine-bound and the failed run, the run without thresholds, the unreadable folder.
    assert 6 == int(root.get("errors", "0"))
    assert len(root.findall(".//testcase")) == int(root.get("tests", "0"))


def test_junit_survives_characters_that_xml_forbids(tmp_path: Path) -> None:
    """A control character in a threshold would make the whole file unreadable."""
    run = FakeRun(thresholds=("lost == 0 \x00\x0b",))

    ET.fromstring(junit.render(build_report([make_campaign(tmp_path / "campaign", [run])])))


def test_markdown_has_one_table_row_per_run_and_escapes_names(report: Report) -> None:
    """A pipe or a tag in a server's name must not break the table or the page it is pasted into."""
    text = markdown.render(report)

    assert "slow\\|&lt;b&gt;\\`x\\`" in text
    assert "<b>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line and "AVG ms" not in line]
    assert 5 == len(rows)
