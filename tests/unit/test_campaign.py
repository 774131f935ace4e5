"""Campaigns: order, failure, resuming. The runs themselves are stand-ins."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.campaigns import CampaignOptions, run_campaign
from telemark.campaigns import campaign as campaign_module
from telemark.errors import ConfigError, DataError, ExitCode
from telemark.model.plan import Group, Idle, Phases, RunPlan
from telemark.runner.progress import RunOutcome
from telemark.runner.run_point import PointJob
from telemark.store.documents.campaign import CampaignFile, run_key, without_credentials
from tests.support.fake_server import FakeServer


def plan(point: str, needs: frozenset[str] = frozenset()) -> RunPlan:
    """A point that is never played."""
    return RunPlan("s", "c", point, "quick", 1, {"n": point}, (Group("g", 1),), Idle(), Phases(), needs=needs)


class Runs:
    """Stands in for `run_point`: makes the folder and gives the next outcome."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, str, int]] = []
        self.plans: list[RunPlan] = []
        self.states: list[str] = []
        monkeypatch.setattr(campaign_module, "run_point", self.run)
        monkeypatch.setattr(campaign_module.registry, "make", self.adapter)

    @staticmethod
    def adapter(name: str, _options: object = None) -> FakeServer:
        server = FakeServer()
        server.name = "remote" if "://" in name else name
        return server

    def run(self, job: PointJob, adapter: FakeServer, **_: object) -> RunOutcome:
        self.made.append((job.plan.point, adapter.name, job.repeat))
        self.plans.append(job.plan)
        job.folder.mkdir()
        state = self.states.pop(0) if self.states else "complete"
        code = ExitCode.PASSED if state == "complete" else ExitCode.SERVER_FAILED
        return RunOutcome(job.folder.name, job.folder, state, None, None, code)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs that are only noted."""
    return Runs(monkeypatch)


def test_runs_are_written_to_folders_and_file_urls_only(runs: Runs, tmp_path: Path) -> None:
    """A URL is no relative folder with a strange name."""
    made = run_campaign([plan("a")], ["x"], Path(f"file://{tmp_path}/runs"), campaign="c")

    assert made.folder == tmp_path / "runs/c"
    with pytest.raises(ConfigError, match="--out hdfs:/h/x"):
        run_campaign([plan("a")], ["x"], Path("hdfs://h/x"), campaign="c")


def test_repeats_go_around_points_and_points_around_servers(tmp_path: Path, runs: Runs) -> None:
    """What changes slowly on the host touches all servers alike."""
    outcome = run_campaign(
        [plan("a"), plan("b")], ["x", "y"], tmp_path, campaign="c", options=CampaignOptions(repeat=2)
    )

    assert outcome.state == "complete"
    assert runs.made == [
        ("a", "x", 0), ("a", "y", 0), ("b", "x", 0), ("b", "y", 0),
        ("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("b", "y", 1),
    ]  # fmt: skip
    assert [run.run for run in outcome.runs][:2] == ["000-x-c-a", "001-y-c-a"]


def test_a_resumed_campaign_repeats_only_what_is_not_finished(tmp_path: Path, runs: Runs) -> None:
    """The run that failed is made again in a new folder; the finished one is not touched."""
    runs.states = ["complete", "failed"]
    points = [plan("a"), plan("b"), plan("c")]
    first = run_campaign(points, ["x"], tmp_path, campaign="c")
    stopped_after = list(runs.made)
    second = run_campaign(points, ["x"], tmp_path, campaign="c", options=CampaignOptions(resume=True))

    assert first.state == "failed"
    assert first.exit_code == ExitCode.SERVER_FAILED
    assert [point for point, _, _ in stopped_after] == ["a", "b"]
    assert [point for point, _, _ in runs.made[2:]] == ["b", "c"]
    assert [run.run for run in second.runs] == ["002-x-c-b", "003-x-c-c"]
    assert [run.run for run in CampaignFile.read(tmp_path / "c").runs] == ["000-x-c-a", "002-x-c-b", "003-x-c-c"]
    assert [path.name for path in (tmp_path / "c").glob("*b")] == ["_replaced-001-x-c-b", "002-x-c-b"]
    assert CampaignFile.read(tmp_path / "c").state == "complete"


def test_keep_going_makes_the_other_runs_too(tmp_path: Path, runs: Runs) -> None:
    """One failed server does not end a comparison, and the campaign still says that it failed."""
    runs.states = ["failed"]
    outcome = run_campaign([plan("a")], ["x", "y"], tmp_path, campaign="c", options=CampaignOptions(keep_going=True))

    assert [run.state for run in outcome.runs] == ["failed", "complete"]
    assert outcome.state == "failed"


def test_a_campaign_that_exists_is_not_begun_again(tmp_path: Path, runs: Runs) -> None:
    """Neither is one that does not exist resumed."""
    run_campaign([plan("a")], ["x"], tmp_path, campaign="c")
    with pytest.raises(ConfigError, match="exists"):
        run_campaign([plan("a")], ["x"], tmp_path, campaign="c")
    with pytest.raises(ConfigError, match="no campaign to resume"):
        run_campaign([plan("a")], ["x"], tmp_path, campaign="d", options=CampaignOptions(resume=True))


@pytest.mark.parametrize("name", ["../outside", "abc", "/000-x", "000-x/../../outside"])
def test_a_strangers_campaign_cannot_make_resume_touch_other_folders(tmp_path: Path, runs: Runs, name: str) -> None:
    """Names that no campaign of ours writes are refused before anything is renamed."""
    runs.states = ["failed"]
    run_campaign([plan("a")], ["x"], tmp_path, campaign="c")
    (tmp_path / "outside").mkdir()
    file = tmp_path / "c" / "campaign.json"
    file.write_text(file.read_text().replace("000-x-c-a", name))

    with pytest.raises(DataError, match="not the name of a run folder"):
        run_campaign([plan("a")], ["x"], tmp_path, campaign="c", options=CampaignOptions(resume=True))
    assert (tmp_path / "outside").is_dir()


HOLDER = """
import sys, time
from pathlib import Path
from telemark.store.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_two_processes_do_not_share_a_campaign(tmp_path: Path, runs: Runs) -> None:
    """The second is told who holds it; a holder that was killed holds nothing."""
    run_campaign([plan("a")], ["x"], tmp_path, campaign="c")
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "c")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ConfigError, match=rf"in use by process {holder.pid} on .* since 20") as caught:
            run_campaign([plan("b")], ["x"], tmp_path, campaign="c", options=CampaignOptions(resume=True))
        holder.kill()
    run_campaign([plan("b")], ["x"], tmp_path, campaign="c", options=CampaignOptions(resume=True))

    assert "--campaign" in (caught.value.hint or "")
    assert ["a", "b"] == [point for point, _, _ in runs.made]


def test_points_a_server_cannot_run_are_refused_or_left_out_with_a_word(tmp_path: Path, runs: Runs) -> None:
    """One case is refused; a whole suite runs without it and says so."""
    points = [plan("a"), plan("b", frozenset({"jms"}))]
    with pytest.raises(ConfigError, match="lacks JMS consumers"):
        run_campaign(points, ["x"], tmp_path, campaign="strict")
    outcome = run_campaign(points, ["x"], tmp_path, campaign="c", options=CampaignOptions(skip_unable=True))

    assert [point for point, _, _ in runs.made] == ["a"]
    assert outcome.skipped == ("s/c on x: the server lacks JMS consumers (jms)",)
    assert not (tmp_path / "strict").exists()


def test_no_password_of_a_url_reaches_the_disk(tmp_path: Path, runs: Runs) -> None:
    """Neither in campaign.json nor in the key of a run."""
    run_campaign([plan("a")], ["mqtt://user:hunter2@host:1883"], tmp_path, campaign="c")
    text = (tmp_path / "c/campaign.json").read_text()

    assert "hunter2" not in text
    assert json.loads(text)["servers"] == ["mqtt://host:1883"]
    assert without_credentials("mosquitto") == "mosquitto"


def test_options_of_a_server_are_part_of_the_plan_and_its_key(tmp_path: Path, runs: Runs) -> None:
    """A resumed campaign with another value makes its runs again."""
    with_five, with_six = ({"max_queued_messages": value, "port": 1883} for value in (5, 6))
    run_campaign([plan("a")], ["x"], tmp_path, campaign="c", options=CampaignOptions(server_options=with_five))
    for options in (with_five, with_six):
        resumed = CampaignOptions(server_options=options, resume=True)
        run_campaign([plan("a")], ["x"], tmp_path, campaign="c", options=resumed)

    assert 2 == len(runs.made)
    assert [{"max_queued_messages": 5}, {"max_queued_messages": 6}] == [each.server_options for each in runs.plans]
    with pytest.raises(ConfigError, match="option hepa is not known"):
        run_campaign([plan("a")], ["x"], tmp_path, options=CampaignOptions(server_options={"hepa": 1}))


def test_any_change_of_a_plan_makes_another_key() -> None:
    """Resuming with other parameters runs the points again."""
    one = plan("a")

    assert run_key(one, "x", 0) == run_key(plan("a"), "x", 0)
    assert (
        len({run_key(one, "x", 0), run_key(one, "y", 0), run_key(one, "x", 1), run_key(replace(one, seed=2), "x", 0)})
        == 4
    )
