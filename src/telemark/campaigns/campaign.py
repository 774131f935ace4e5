"""Many runs made by one command: every point on every server, repeated, resumable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from telemark.bed.bed import Bed, open_bed
from telemark.bed.bed_file import BedFile
from telemark.bed.run_hosts import hosts_of
from telemark.campaigns.analysis_place import AnalysisPlace, choose_place
from telemark.errors import ConfigError, ExitCode, TelemarkError
from telemark.host.facts import host_facts
from telemark.host.interruption import Interruption
from telemark.host.limits import HostLimits, read_limits
from telemark.model.plan import RunPlan
from telemark.model.slicing import Place
from telemark.runner.calibrate.record import Stored, for_run, load_for_runs
from telemark.runner.capability import describe_missing
from telemark.runner.conductor import Steering
from telemark.runner.control import ControlSocket
from telemark.runner.feasible import refuse_impossible
from telemark.runner.monitor import Monitor
from telemark.runner.pinning import Pinning
from telemark.runner.progress import RunListener, RunOutcome, Silence
from telemark.runner.run_point import PointJob, run_point
from telemark.runner.run_record import utc_now
from telemark.runner.view.live import LiveTrace
from telemark.servers import registry
from telemark.servers.contract import ServerAdapter
from telemark.servers.options import Option, recorded
from telemark.store.atomic import make_folder
from telemark.store.documents.calibration import calibration_path
from telemark.store.documents.campaign import (
    CAMPAIGN_FILE,
    CampaignFile,
    CampaignRun,
    no_campaign,
    run_key,
    server_labels,
    unwritable,
    without_credentials,
)
from telemark.store.layout import campaign_name, is_url, run_name
from telemark.store.lock import locked


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
    server_options: Mapping[str, Option] | None = None
    source_addresses: tuple[str, ...] = ()  # devices connect from these, one after the other
    server_metrics: tuple[str, ...] = ()  # URLs of Prometheus pages of a server that others started, and of its host
    bed: BedFile | None = None  # the hosts of every run; None: this one
    opened: Bed | None = None  # the same, opened by the caller for several campaigns
    profile_threads: bool = False  # profile the server's busiest thread in each run
    rate_control: bool = True  # `telemark rate` may change runs that are under way
    monitor: Monitor | None = None  # passes on what is seen while runs are under way


@dataclass(frozen=True, slots=True)
class CampaignOutcome:
    """How a campaign ended. Verdicts come later, from the report."""

    campaign: str
    folder: Path
    runs: tuple[RunOutcome, ...]  # made now; not those a resumed campaign already had
    skipped: tuple[str, ...]
    state: str
    analysis: AnalysisPlace | None = None  # where to analyse it; None: on this host

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
    options: Mapping[str, Option]  # of the server's adapter

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
    out = local_folder(out)
    cells, skipped = _choose(points, servers, chosen)
    name = campaign or free_name(out, campaign_name(points[0].suite))
    folder = out / name
    fresh = CampaignFile(
        name, started_at=utc_now(), servers=server_labels(servers), planned=len(cells), skipped=skipped
    )
    with ExitStack() as held, Interruption() as interruption:
        _hold(folder, held, resume=chosen.resume)
        file = _open_campaign(folder, fresh, resume=chosen.resume)
        trace: RunListener = LiveTrace(folder, listener or Silence())
        watched = chosen.monitor.watch(trace) if chosen.monitor else trace
        if chosen.rate_control:
            steering = _controlled(folder, held, steering, watched)
        maker = _Maker(folder, file, chosen, watched, steering)
        for sentence in skipped:
            maker.listener.note(f"skipped: {sentence}")
        maker.bed = chosen.opened
        if maker.bed is None and chosen.bed is not None:
            maker.bed = held.enter_context(open_bed(chosen.bed, name, maker.listener.note))
        maker.calibration = stored_calibration(maker.bed)
        outcome = maker.make(cells, interruption)
        if maker.bed is None or chosen.opened is not None:  # a bed that goes on measuring is not to be disturbed
            return outcome
        return replace(outcome, analysis=choose_place(maker.bed, folder))


def local_folder(out: Path) -> Path:
    """The folder that `--out` names, by its path or as `file:///...`.

    Raises:
        ConfigError: it lies in a store that runs cannot be written to.
    """
    text = str(out)  # a Path keeps one slash of `file:///`
    if not is_url(text):
        return out
    if text.startswith("file:/"):
        return Path(text.removeprefix("file:"))
    raise ConfigError(
        f"--out {text}: runs are written to a folder or a file:/// URL",
        hint="copy the campaign there afterwards; `telemark analyze URL` reads every store that Spark can",
    )


def place_fingerprint(bed: Bed | None) -> str:
    """Of the hosts that runs are made on."""
    return bed.fingerprint if bed else str(host_facts()["fingerprint"])


def stored_calibration(bed: Bed | None) -> Stored:
    """The calibration of a bed, or of this host."""
    return load_for_runs(calibration_path(bed.fingerprint if bed else None))


def _hold(folder: Path, held: ExitStack, *, resume: bool) -> None:
    """Take the campaign's folder for this process alone; it is made for a new campaign."""
    if resume and not folder.is_dir():
        raise no_campaign(folder)
    try:
        make_folder(folder)
        held.enter_context(locked(folder))
    except OSError as error:
        raise unwritable(folder, error) from error


def _controlled(folder: Path, held: ExitStack, steering: Steering | None, listener: RunListener) -> Steering | None:
    """Runs that obey `telemark rate`. A file system without sockets is no reason not to run."""
    try:
        return held.enter_context(ControlSocket(folder, steering)).steer
    except OSError as error:
        listener.note(f"`telemark rate` cannot reach this campaign: {error.strerror}")
        return steering


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
    given = registry.share_options(servers, options.server_options or {})
    settings: dict[str, dict[str, Option]] = {}
    place = Place(limits=options.limits or read_limits(), source_addresses=options.source_addresses)
    for server in servers:
        adapter = registry.make(server, given[server])
        settings[server] = recorded(adapter.options, given[server]) if given[server] else {}
        for number, plan in enumerate(points):
            sentence = describe_missing(plan, adapter)
            if sentence:
                missing[number, server] = sentence
            elif options.bed is None:  # what hosts of a bed allow is known when they have answered
                refuse_impossible(plan, adapter, [place], processes=options.processes)
    problems = tuple(dict.fromkeys(missing.values()))
    if missing and (not options.skip_unable or len(missing) == len(points) * len(servers)):
        raise ConfigError(
            problems[0] if len(problems) == 1 else f"{len(problems)} points cannot run on the servers chosen",
            hint="`telemark servers` shows what each server can do",
            problems=problems if len(problems) > 1 else (),
        )
    cells = [
        _Cell(_with_options(plan, settings[server]), server, repeat, given[server])
        for repeat in range(options.repeat)
        for number, plan in enumerate(points)
        for server in servers
        if (number, server) not in missing
    ]
    return cells, problems


def _with_options(plan: RunPlan, options: Mapping[str, Option]) -> RunPlan:
    """The plan with what the user set for the server: `compare` and `--resume` must see it."""
    return replace(plan, server_options=plan.server_options | dict(options)) if options else plan


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
    """Makes the runs of one campaign and updates campaign.json after each."""

    folder: Path
    file: CampaignFile
    options: CampaignOptions
    listener: RunListener
    steering: Steering | None
    calibration: Stored = field(default_factory=Stored)
    bed: Bed | None = None  # None: this host

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
        adapter = registry.make(cell.server, cell.options)
        run = run_name(self.file.next_number(), adapter.name, cell.plan.scenario, cell.plan.point, cell.repeat)
        self._put_aside(cell.key)
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

    def _put_aside(self, key: str) -> None:
        """A run that was cut short makes way for its repetition: its folder is kept under a name readers pass over."""
        for old in [run for run in self.file.runs if run.key == key]:
            folder = self.folder / old.run
            if folder.is_dir():
                folder.rename(folder.with_name(f"_replaced-{old.run}"))
            self.file = replace(self.file, runs=tuple(run for run in self.file.runs if run is not old))

    def _play(self, job: PointJob, adapter: ServerAdapter, interruption: Interruption) -> RunOutcome:
        """Run it; a run that could not make its folder counts as failed."""
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
            source_addresses=options.source_addresses,
            server_metrics=options.server_metrics,
            hosts=hosts_of(self.bed) if self.bed else None,
            profile_threads=options.profile_threads,
            heard=options.monitor.health if options.monitor else None,
            calibration=for_run(cell.plan, place_fingerprint(self.bed), self.calibration),
        )

    def _note(self, entry: CampaignRun) -> None:
        self.file = self.file.with_run(entry)
        self.file.write(self.folder)

    def _state(self, outcomes: Sequence[RunOutcome], interruption: Interruption) -> str:
        states: Iterator[str] = (outcome.state for outcome in outcomes)
        if interruption.received:
            return "interrupted"
        return "complete" if all(state == "complete" for state in states) else "failed"
