"""A run carries all of its own: its report needs no catalogue and never changes with one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from telemark.report import html
from telemark.report.build import build_report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_suites import RUNS_OF_SUITE
from tests.support.synthetic_tables import FakeRun

ROOT = Path(__file__).parents[2]
RENDER = """
import sys
from pathlib import Path
from telemark.report import console, html, json_card, junit, markdown
from telemark.report.build import build_report

report = build_report([Path(sys.argv[1])])
for form in (console, html, json_card, junit, markdown):
    print(form.render(report))
"""


def rendered(source: Path, campaign: Path) -> str:
    """Every form of the campaign's report, made by the package at `source`, without the time of its making."""
    done = subprocess.run(
        [sys.executable, "-c", RENDER, str(campaign)],
        env=os.environ | {"PYTHONPATH": str(source)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "NOW", done.stdout)


def test_a_package_without_any_catalogue_makes_the_same_report(tmp_path: Path) -> None:
    """In ten years the catalogue is another one; the run's own words and published values are not."""
    runs = [run for name in ("scalagent", "mq-telemetry") for run in RUNS_OF_SUITE[name][:4]]
    campaign = make_campaign(tmp_path / "campaign", runs)
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "catalog", "*.so", "*.dist-info")
    )

    here = rendered(ROOT / "src", campaign)

    assert here == rendered(tmp_path / "src", campaign)
    assert "section 3.3" in here  # a published value stands beside ours


def test_the_run_chooses_its_headline_and_its_words(tmp_path: Path) -> None:
    """A user's scenario that measures latency gets a latency card, whatever it is called."""
    campaign = make_campaign(tmp_path / "campaign", [FakeRun()])
    path = next(campaign.glob("*/run.json"))
    content = json.loads(path.read_text())
    content["plan"]["case"] = {"title": "Ours", "about": "Own words.", "headline": "latency_p99_us"}
    path.write_text(json.dumps(content))

    row = build_report([campaign]).rows[0]

    assert ("Latency", "latency_p99_us", "Ours") == (row.kind, row.headline.name, row.description)
    assert row.published is None


def test_a_case_of_another_form_is_a_problem_of_its_run(tmp_path: Path) -> None:
    """Run folders are data from strangers: the other runs are shown."""
    campaign = make_campaign(tmp_path / "campaign", [FakeRun(), FakeRun(repeat=1)])
    path = sorted(campaign.glob("*/run.json"))[0]
    content = json.loads(path.read_text())
    content["plan"]["case"] = {"title": "<script>", "published": [{"value": "much"}]}
    path.write_text(json.dumps(content))

    report = build_report([campaign])

    assert 1 == len(report.rows)
    assert "plan.case.published[0].value: expected a number, found 'much'" in report.problems[0].message


def test_what_a_case_leaves_out_has_its_default(tmp_path: Path) -> None:
    """A headline that is no number of `points` is none; texts are cleaned."""
    campaign = make_campaign(tmp_path / "campaign", [FakeRun()])
    path = next(campaign.glob("*/run.json"))
    content = json.loads(path.read_text())
    value = {"value": 3, "metric": "received_rate", "unit": "msg/s"}
    content["plan"]["case"] = {"title": "<script>\u001b[1m", "headline": "server_version", "published": [value]}
    path.write_text(json.dumps(content))

    report = build_report([campaign])

    assert "received_rate" == report.rows[0].headline.name
    assert report.rows[0].published is not None
    assert "<script>\u001b" not in html.render(report)
