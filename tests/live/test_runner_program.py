"""`telemark run` and `telemark load` as a user starts them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from telemark.store.documents.profile import ProfileFile, read_profile
from telemark.store.documents.run import RunFile
from tests.support.requirements import require_program
from tests.support.telemark_program import TelemarkProgram

pytestmark = pytest.mark.live


def load_arguments(folder: Path, campaign: str, *more: str) -> tuple[str, ...]:
    """A second of ad-hoc load on the built-in server."""
    settings = ("--publishers", "5", "--rate", "200", "--qos", "1", "--duration", "1", "--warmup", "0.2")
    return ("load", "--server", "loopback", *settings, "--out", str(folder), "--campaign", campaign, *more)


def campaign(folder: Path) -> dict[str, object]:
    """The content of campaign.json."""
    content: dict[str, object] = json.loads((folder / "campaign.json").read_text())
    return content


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_load_records_analyzes_and_judges(tmp_path: Path) -> None:
    """The last line gives the verdict and the exit code agrees; no data could only be `no verdict`."""
    with TelemarkProgram(*load_arguments(tmp_path, "c")) as program:
        code = program.wait(280)
        result = program.lines[-1]

    assert result["is"] == "campaign", program.errors
    assert result["state"] == "complete"
    assert code == {"pass": 0, "no verdict": 8}[result["verdict"]] == result["exit_code"]
    assert (tmp_path / "c/results/points").is_dir()


def test_the_busiest_server_thread_is_profiled(tmp_path: Path) -> None:
    """With the stacks that perf found, or the reason why there are none."""
    busy = ("--rate", "5000", "--duration", "3", "--profile-threads", "--no-analyze")
    with TelemarkProgram(*load_arguments(tmp_path, "c", *busy)) as program:
        code = program.wait()
    profile = read_profile(next((tmp_path / "c").glob("*/run.json")).parent)

    assert code == 0, program.errors
    require_program("perf")
    assert isinstance(profile, ProfileFile)
    assert profile.problem is None
    assert profile.samples == sum(stack.samples for stack in profile.stacks) > 0
    assert profile.thread_name


def test_two_campaigns_run_at_once(tmp_path: Path) -> None:
    """Own folders, own ports, own processes."""
    with (
        TelemarkProgram(*load_arguments(tmp_path, "a", "--no-analyze")) as one,
        TelemarkProgram(*load_arguments(tmp_path, "b", "--no-analyze")) as other,
    ):
        codes = one.wait(), other.wait()
    runs = [RunFile.read(next((tmp_path / name).glob("*/run.json")).parent) for name in ("a", "b")]
    ports = {facts.server["endpoints"]["plain"]["port"] for facts in runs}

    assert codes == (0, 0)
    assert len(ports) == 2


def test_an_interrupted_campaign_is_resumed_where_it_stopped(tmp_path: Path) -> None:
    """The finished point is not repeated; the interrupted run makes way for its repetition."""
    arguments = ("run", "scalagent/multi-publisher", "--server", "loopback", "--duration", "1", "--no-analyze")
    where = ("--out", str(tmp_path), "--campaign", "c")
    with TelemarkProgram(*arguments, *where) as program:
        for message in program.messages():
            if message["is"] == "run" and message["number"] == 2:
                break
        program.wait_for_phase("warmup")
        program.child.terminate()
        first = program.wait()
    with TelemarkProgram(*arguments, *where, "--resume") as program:
        second = program.wait()
        again = [line["run"] for line in program.lines if line["is"] == "run"]
    content = campaign(tmp_path / "c")

    assert (first, second) == (130, 0)
    assert [run.partition("-")[0] for run in again] == ["002"]
    assert [run["state"] for run in content["runs"]] == ["complete", "complete"]  # type: ignore[attr-defined]
    assert content["state"] == "complete"
    assert len(list((tmp_path / "c").glob("[0-9]*/run.json"))) == 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="pinning apart needs two CPUs")
def test_server_and_engine_stay_on_the_cpus_they_are_pinned_to(tmp_path: Path) -> None:
    """Really pinned, and recorded."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    pins = ("--pin", f"server={first}", "--pin", f"engine={second}", "--duration", "5", "--no-analyze")
    with TelemarkProgram(*load_arguments(tmp_path, "c"), *pins) as program:
        program.wait_for_phase("measure")
        server = program.children_named("loopback_process")[0].cpu_affinity()
        engine = program.children_named("telemark.runner.engine_process")[0].cpu_affinity()
        code = program.wait()
    facts = RunFile.read(next((tmp_path / "c").glob("*/run.json")).parent)

    lags = [line["totals"]["loop_lag_max_us"] for line in program.lines if line["is"] == "progress"]

    assert code == 0
    assert (server, engine) == ([first], [second])
    assert any(lags)  # the engine's own health is told while it runs
    assert facts.pinning == {"server": (first,), "engine": (second,), "consumer": None}
