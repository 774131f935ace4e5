"""The registry of columns: everything that shows or judges columns reads it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from telemark.model.columns import POINTS, RECORD_TABLES, RESULT_TABLES
from telemark.verdicts.metrics import COLUMNS, FLAGS, METRICS

ROOT = Path(__file__).parents[2]
TABLES = {**RECORD_TABLES, **RESULT_TABLES}
FAKE = '    _figure("fake_glow", "us", "lower", "how much it glowed", "GLOW", "glow"),\n'

SHOW_EVERYTHING = """
import json, sys
from pathlib import Path
from click.testing import CliRunner
from telemark.cli.sql import command
from telemark.report import console, html, json_card, json_schema, junit, markdown
from telemark.report.build import build_report
from telemark.store.describe import result_tables
from telemark.verdicts import judge
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun

run = FakeRun(figures={"fake_glow": 4321.0}, thresholds=("glow < 5 ms",))
report = build_report([make_campaign(Path(sys.argv[1]) / "campaign", [run])])
print(json.dumps({
    "console": console.render(report, 80), "markdown": markdown.render(report), "json": json_card.document(report),
    "schema": json_schema.schema(), "junit": junit.render(report), "html": html.render(report),
    "help": CliRunner().invoke(command, ["--help"]).output, "reference": result_tables(), "verdict": report.verdict,
}))
"""


def test_a_column_added_in_one_place_appears_everywhere(tmp_path: Path) -> None:
    """One line in the registry: console, Markdown, JSON and its schema, JUnit, HTML, help, reference, thresholds."""
    package = tmp_path / "src" / "telemark"
    shutil.copytree(ROOT / "src" / "telemark", package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    registry = package / "model" / "columns" / "measured.py"
    registry.write_text(registry.read_text().replace("ENGINE: Final = (\n", "ENGINE: Final = (\n" + FAKE))

    shown = json.loads(
        subprocess.run(
            [sys.executable, "-c", SHOW_EVERYTHING, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": f"{tmp_path / 'src'}:{ROOT}"},
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip

    for form in ("console", "markdown", "junit", "html"):
        assert "GLOW" in shown[form], form
        assert "4.32" in shown[form], form
    assert 4321.0 == shown["json"]["campaigns"][0]["rows"][0]["values"]["fake_glow"]
    jsonschema.validate(shown["json"], shown["schema"])
    rows = shown["schema"]["properties"]["campaigns"]["items"]["properties"]["rows"]["items"]
    assert "how much it glowed" in rows["properties"]["values"]["properties"]["fake_glow"]["description"]
    assert "fake_glow" in shown["help"]
    assert "| `fake_glow` | float64 | us | lower | how much it glowed" in shown["reference"]
    assert "pass" == shown["verdict"]


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_named_once_and_explained(name: str) -> None:
    """A doubled column would be written twice; one without words explains nothing."""
    columns = TABLES[name].columns

    assert len(columns) == len({column.name for column in columns})
    assert all(column.meaning for column in columns)


def test_a_short_name_means_one_column() -> None:
    """A threshold must not depend on the order of the registry."""
    shorts = [short for column in COLUMNS.values() for short in column.short]

    assert len(shorts) == len(set(shorts))
    assert len(METRICS) == len(COLUMNS) + len(FLAGS) + len(shorts)


@pytest.mark.parametrize(
    ("better", "columns"),
    [
        ("higher", {"received_rate", "peak_received_rate", "peak_egress_rate", "connect_rate", "connections",
                    "engine_headroom"}),
        (
            None,
            {"repeat", "publishers", "subscribers", "qos", "payload_bytes", "measure_s", "offered_rate", "sent_rate",
             "intended", "sent", "received", "acked", "owed", "host_cores", "host_steal_mean", "server_open_files_max",
             "server_threads_max"},
        ),
    ],
)  # fmt: skip
def test_the_direction_of_every_number(better: str | None, columns: set[str]) -> None:
    """What the plan or the host decides is neither better nor worse; all other numbers are costs or deviations."""
    assert columns == {column.name for column in POINTS.columns if column.is_number and column.better == better}
