"""Folders of the first format, made by version 0.1.0: read, upgraded and reported as then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from telemark.report.build import build_report
from telemark.store.bounds import local_bounds
from telemark.store.documents.campaign import CampaignFile
from telemark.store.documents.run import RunFile, parse_run
from telemark.store.documents.search import read_searches
from telemark.store.integrity import check
from telemark.store.layout import find_runs
from telemark.store.reader import read_records

DATA = Path(__file__).parents[1] / "data" / "format-1"
CAMPAIGNS = sorted(path.name for path in DATA.iterdir())


@pytest.fixture
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy: what is checked in must not change."""
    return Path(shutil.copytree(DATA / request.param, tmp_path / request.param))


@pytest.mark.parametrize(
    ("name", "shape", "fields", "headline", "deliveries"),
    [
        ("load-loopback", "paced", {"rate", "arrivals"}, "received_rate", 2000),
        ("scalagent-mosquitto", "batched", {"batch", "period_ms", "partitions"}, "received_rate", 2500),
        ("connburst-mosquitto", "idle", set(), "connect_rate", 0),
        ("search-loopback", "steps", {"steps"}, "received_rate", 450),
    ],
)
def test_runs_are_lifted_to_the_present_format(
    name: str, shape: str, fields: set[str], headline: str, deliveries: int
) -> None:
    """The load has its shape's fields only, and there is a case; the records are as they were."""
    (run,) = find_runs([DATA / name]).runs
    load = run.facts.plan["load"]

    assert 2 == run.facts.format
    assert shape == load["shape"]
    assert {"shape", "limit", "max_lateness_s"} | fields == set(load)
    assert headline == run.facts.plan["case"]["headline"]
    assert ("connect" if shape == "idle" else "latency") == run.facts.plan["case"]["statistics"]
    assert (
        deliveries <= read_records(Path(run.folder), "deliveries").num_rows == local_bounds(Path(run.folder)).deliveries
    )
    assert run.facts.files is None
    assert check(Path(run.folder), run.facts) is None


def test_consumers_of_the_first_format_were_all_jms() -> None:
    """The kind is named since."""
    document = json.loads(next(DATA.glob("load-loopback/*/run.json")).read_text())
    document["plan"]["consumers"] = {"count": 2, "topic": "t"}

    found = parse_run(json.dumps(document), "run.json")

    assert isinstance(found, RunFile)
    assert {"kind": "jms", "count": 2, "topic": "t"} == found.plan["consumers"]


@pytest.mark.parametrize("campaign", CAMPAIGNS, indirect=True)
def test_campaigns_are_read_and_reported(campaign: Path) -> None:
    """Without results every run is there and says that it was not analysed."""
    report = build_report([campaign])

    assert () == report.problems
    assert 1 == len(report.rows)
    assert 1 == len(CampaignFile.read(campaign).finished_keys())


def test_the_answers_of_a_search_are_read() -> None:
    """Peak, tries and rule."""
    (search,) = read_searches(DATA / "search-loopback")  # type: ignore[misc]

    assert (60.0, 5) == (search.peaks[0].rate, len(search.peaks[0].tries))
    assert "lost == 0" == search.rule[0]
