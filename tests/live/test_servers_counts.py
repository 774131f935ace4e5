"""The servers of the reports, one campaign: our counts are theirs, and one table compares them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from telemark.servers import registry
from telemark.store.documents.run import RunFile
from telemark.store.result_reader import ResultTables
from telemark.verdicts.judge import no_verdict_reason
from tests.support.requirements import ON_CI, require

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.alone, pytest.mark.timeout(900)]

SERVERS = ("loopback", "mosquitto", "rabbitmq", "activemq", "artemis")
EXACT = {  # counts that the server keeps exactly to the end of a run
    "loopback": ("messages_in", "messages_out"),
    "mosquitto": ("messages_in", "messages_out"),
    "rabbitmq": ("messages_in", "messages_out"),
    "activemq": ("messages_in",),
}
PROGRAM = "import sys; from telemark.cli.main import main; main(sys.argv[1:])"
SOURCE = Path(__file__).parents[2] / "src"


def telemark(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, with servers at their full speed: a slow one keeps the engine from its processor."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "JAVA_TOOL_OPTIONS": ""}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800, check=False)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ScalAgent's many-publishers case, QoS 0 and 1, quick, on every server of the reports that is installed."""
    found = {name: registry.make(name).availability() for name in SERVERS}
    here = [name for name in SERVERS if found[name].available]
    absent = [name for name in SERVERS if name not in here]
    require(len(here) > 1 and not (ON_CI and absent), f"not installed: {', '.join(absent)}")
    out = tmp_path_factory.mktemp("runs")
    chosen = [word for name in here for word in ("--server", name)]
    small = ("--size", "quick", "--duration", "2", "--option", "heap=512m")
    done = telemark(
        "run", "scalagent/multi-publisher", *chosen, *small, "--out", str(out), "--campaign", "five", "--no-analyze"
    )
    assert len(list((out / "five").glob("*/run.json"))) == 2 * len(here), done.stderr
    return out / "five"


def runs(campaign: Path) -> list[tuple[Path, RunFile]]:
    return [(path.parent, RunFile.read(path.parent)) for path in sorted(campaign.glob("*/run.json"))]


def last_counters(folder: Path) -> dict[str, float]:
    """Last value of each of the server's own counters."""
    table = ds.dataset(folder / "health").to_table(filter=ds.field("source") == "counters").sort_by("time_ns")
    return {row["metric"]: row["value"] for row in table.to_pylist()}


def test_every_server_completes_both_runs(campaign: Path) -> None:
    """No server fails to start, dies, or keeps devices out."""
    assert {"complete"} == {facts.state for _, facts in runs(campaign)}


def test_message_counts_equal_the_servers_own(campaign: Path) -> None:
    """What devices sent and received is what the server counted, where it counts exactly."""
    for folder, facts in runs(campaign):
        sent = sum(ds.dataset(folder / "senders").to_table()["sent"].to_pylist())
        received = ds.dataset(folder / "deliveries").count_rows()
        ours = {"messages_in": sent, "messages_out": received}
        theirs = last_counters(folder)
        names = EXACT.get(facts.server["name"], ())

        assert sent > 0
        assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}, folder.name


def test_the_run_says_what_the_servers_profile_means(campaign: Path) -> None:
    """A reader can see which server syncs to disk and which does not."""
    for folder, facts in runs(campaign):
        assert facts.server["profile_note"], folder.name
        assert ("fsync" in facts.server["capabilities"]) == (
            facts.server["name"] in ("rabbitmq", "activemq", "artemis")
        )
        assert any((folder / "server").rglob("*")), "the configuration is kept"


def test_one_table_compares_all_servers(campaign: Path) -> None:
    """After the analysis every run is a point, and every point that allows a verdict is in the comparison.

    On a busy host the engine may be too late to allow one: such a run must not be compared.
    """
    done = telemark("analyze", str(campaign))
    assert done.returncode == 0, done.stderr

    tables = ResultTables.open(campaign)
    points = {(row["server"], row["point"]): row for row in tables.table("points").to_pylist()}
    compared = {(row["server"], row["point"]) for row in tables.table("comparison").to_pylist()}

    assert {(facts.server["name"], facts.point) for _, facts in runs(campaign)} == points.keys()
    assert {row["lost"] for row in points.values()} == {0}
    assert compared == {name for name, row in points.items() if no_verdict_reason(row) is None}
