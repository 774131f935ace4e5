"""Many runs made by one command: every point on every server, repeated, resumable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from telemark.catalog.host import read_limits
from telemark.errors import ConfigError, ExitCode, TelemarkError
from telemark.model.plan import RunPlan
from telemark.model.slicing import HostLimits
from telemark.runner.calibrate.record import Stored, for_run, load_for_runs
from telemark.runner.campaign_file import (
    CampaignFile,
    CampaignRun,
    run_key,
    server_labels,
    unwritable,
    without_credentials,
)
from telemark.runner.capability import describe_missing
from telemark.runner.conductor import Steering
from telemark.runner.facts import host_facts
from telemark.runner.interruption import Interruption
from telemark.runner.pinning import Pinning
from telemark.runner.progress import RunListener, RunOutcome, Silence
from telemark.runner.run_point import PointJob, run_point
from telemark.runner.run_record import utc_now
from telemark.runner.view.live import LiveTrace
from telemark.servers import registry
from telemark.servers.contract import ServerAdapter
from telemark.store.layout import CAMPAIGN_FILE, campaign_name, run_name


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """How a campaign is made; the defaults are those of the command line."""

    repeat: int = 1
    pins: Pinning | None = None
    resume: bool = False
    keep_going: bool = False  # after a failed run
    skip_unable: bool = False  # leave out points a server cannot run, instead of refusing the whole campaign
    processes: int = 0  # engine processes of each run; 0: as few as the host's limits allow
    threads: int = 1
    limits: HostLimits | None = None  # None: this host's
    server_options: Mapping[str, str | int | float | bool] | None = None


@dataclass(frozen=True, slots=True)
class CampaignOutcome:
    """What came of a campaign. Its verdicts are the pipeline's business."""

    campaign: str
    folder: Path
    runs: tuple[RunOutcome, ...]  # made now; not those a resumed campaign already had
    skipped: tuple[str, ...]
    state: str

    @property
    def exit_code(self) -> ExitCode:
        """Of the first run that did not complete; passed when all did."""
        return next((run.exit_code for run in self.runs if run.state != "complete"), ExitCode.PASSED)


@dataclass(frozen=True, slots=True)
class _Cell:
    """One run to be made."""

    plan: RunPlan
    server: str
    repeat: int

    @property
    def key(self) -> str:
        return run_key(self.plan, without_credentials(self.server), self.repeat)


def run_campaign(  # noqa: PLR0913 - keywords, each another decision of the caller
    points: Sequence[RunPlan],
    servers: Sequence[str],
    out: Path,
    *,
    campaign: str | None = None,
    options: CampaignOptions | None = None,
    listener: RunListener | None = None,
    steering: Steering | None = None,
) -> CampaignOutcome:
    """Run every point on every server.

    Args:
        points: what to run.
        servers: names or URLs.
        out: folder of campaigns.
        campaign: its name; made from time and suite when None.
        options: repeats, pinning, resuming and the like.
        listener: shows progress.
        steering: see `run_point`.

    Raises:
        ConfigError: nothing to run, a server lacks capabilities, or the campaign exists and is not to be resumed.
    """
    chosen = options or CampaignOptions()
    cells, skipped = _choose(points, servers, chosen)
    name = campaign or free_name(out, campaign_name(points[0].suite))
    folder = out / name
    fresh = CampaignFile(
        name, started_at=utc_now(), servers=server_labels(servers), planned=len(cells), skipped=skipped
    )
    file = _open_campaign(folder, fresh, resume=chosen.resume)
    maker = _Maker(folder, file, chosen, LiveTrace(folder, listener or Silence()), steering, load_for_runs())
    for sentence in skipped:
        maker.listener.note(f"skipped: {sentence}")
    with Interruption() as interruption:
        return maker.make(cells, interruption)


def free_name(out: Path, base: str) -> str:
    """The name, or with a number when another campaign began in the same second. The folder is made: it is taken."""
    name, number = base, 1
    while True:
        try:
            (out / name).mkdir(parents=True)
            return name
        except FileExistsError:
            number += 1
            name = f"{base}-{number}"
        except OSError as error:
            raise unwritable(out / name, error) from error


def _choose(
    points: Sequence[RunPlan], servers: Sequence[str], options: CampaignOptions
) -> tuple[list[_Cell], tuple[str, ...]]:
    """All runs in order, and what has to be left out. Everything is checked before anything starts.

    Repeats are the outermost loop and servers the innermost: what changes slowly on the host then touches all alike.
    """
    if not points or not servers:
        raise ConfigError("nothing to run: no point or no server was chosen")
    missing: dict[tuple[int, str], str] = {}
    for server in servers:
        adapter = registry.make(server, options.server_options)
        for number, plan in enumerate(points):
            sentence = describe_missing(plan, adapter)
            if sentence:
                missing[number, server] = sentence
    problems = tuple(dict.fromkeys(missing.values()))
    if missing and (not options.skip_unable or len(missing) == len(points) * len(servers)):
        raise ConfigError(
            problems[0] if len(problems) == 1 else f"{len(problems)} points cannot run on the servers chosen",
            hint="`telemark servers` shows what each server can do",
            problems=problems if len(problems) > 1 else (),
        )
    cells = [
        _Cell(plan, server, repeat)
        for repeat in range(options.repeat)
        for number, plan in enumerate(points)
        for server in servers
        if (number, server) not in missing
    ]
    return cells, problems


def _open_campaign(folder: Path, fresh: CampaignFile, *, resume: bool) -> CampaignFile:
    """A new campaign, or the one that is there with what is planned now."""
    if resume:
        return replace(
            CampaignFile.read(folder), state="running", ended_at=None, planned=fresh.planned, skipped=fresh.skipped
        )
    if (folder / CAMPAIGN_FILE).exists():
        raise ConfigError(
            f"campaign {fresh.campaign} exists in {folder.parent}", hint="--resume continues it, --campaign renames"
        )
    return fresh


@dataclass(slots=True)
class _Maker:
    """Makes the runs of one campaign and keeps campaign.json true after each."""

    folder: Path
    file: CampaignFile
    options: CampaignOptions
    listener: RunListener
    steering: Steering | None
    calibration: Stored

    def make(self, cells: Sequence[_Cell], interruption: Interruption) -> CampaignOutcome:
        self.file.write(self.folder)
        outcomes: list[RunOutcome] = []
        done = self.file.finished_keys()
        for number, cell in enumerate(cells, 1):
            if cell.key in done:
                continue
            outcomes.append(self._run(cell, number, len(cells), interruption))
            if interruption.received or (outcomes[-1].state != "complete" and not self.options.keep_going):
                break
        state = self._state(outcomes, interruption)
        self.file = replace(self.file, state=state, ended_at=utc_now())
        self.file.write(self.folder)
        return CampaignOutcome(self.file.campaign, self.folder, tuple(outcomes), self.file.skipped, state)

    def _run(self, cell: _Cell, number: int, total: int, interruption: Interruption) -> RunOutcome:
        adapter = registry.make(cell.server, self.options.server_options)
        run = run_name(self.file.next_number(), adapter.name, cell.plan.scenario, cell.plan.point, cell.repeat)
        entry = CampaignRun(
            cell.key, run, without_credentials(cell.server), cell.plan.suite, cell.plan.scenario, cell.plan.point,
            cell.repeat, "running",
        )  # fmt: skip
        self._note(entry)
        self.listener.run_started(run, adapter.name, cell.plan, number, total)
        outcome = self._play(self._job(cell, run), adapter, interruption)
        self._note(replace(entry, state=outcome.state, reason=outcome.reason))
        self.listener.run_ended(outcome)
        return outcome

    def _play(self, job: PointJob, adapter: ServerAdapter, interruption: Interruption) -> RunOutcome:
        """The run; one that could not even make its folder has failed as well."""
        try:
            return run_point(job, adapter, listener=self.listener, interruption=interruption, steering=self.steering)
        except TelemarkError as error:
            return RunOutcome(job.folder.name, job.folder, "failed", error.message, error.hint, error.exit_code)

    def _job(self, cell: _Cell, run: str) -> PointJob:
        options = self.options
        return PointJob(
            plan=cell.plan,
            folder=self.folder / run,
            campaign=self.file.campaign,
            repeat=cell.repeat,
            pins=options.pins or {},
            limits=options.limits or read_limits(),
            processes=options.processes,
            threads=options.threads,
            calibration=for_run(cell.plan, str(host_facts()["fingerprint"]), self.calibration),
        )

    def _note(self, entry: CampaignRun) -> None:
        self.file = self.file.with_run(entry)
        self.file.write(self.folder)

    def _state(self, outcomes: Sequence[RunOutcome], interruption: Interruption) -> str:
        states: Iterator[str] = (outcome.state for outcome in outcomes)
        if interruption.received:
            return "interrupted"
        return "complete" if all(state == "complete" for state in states) else "failed"
