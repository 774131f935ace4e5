"""One point against one server, once: from the plan to a closed run folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from telemark.consumers.contract import BackendConsumers
from telemark.errors import EngineError, ServerError, TelemarkError
from telemark.host.interruption import Interrupted, Interruption
from telemark.host.limits import HostLimits
from telemark.model.audience import Audiences, audiences_of
from telemark.model.plan import RunPlan
from telemark.model.slicing import device_count
from telemark.runner.adapting import with_login, with_share_syntax
from telemark.runner.capability import refuse_unable
from telemark.runner.conductor import Conductor, RunControl, Steering
from telemark.runner.endings import Ending, describe_end
from telemark.runner.expected import expected_deliveries
from telemark.runner.feasible import listeners_of
from telemark.runner.fleet import ENGINE_COMMAND, Fleet
from telemark.runner.hosts import Heard, RunHosts, Sampler, ThisHost, Watched
from telemark.runner.phases import Phase, PhaseMachine
from telemark.runner.pinning import Pinning, describe
from telemark.runner.profile import ThreadProfiler
from telemark.runner.progress import RunListener, RunOutcome, Silence
from telemark.runner.run_record import RunRecord, first_facts, server_facts
from telemark.servers.contract import ConsumerRequest, ServerAdapter, StartRequest, WithCounterLag
from telemark.store.audiences import audience_tables
from telemark.store.documents.run import CalibrationPart
from telemark.store.health_metrics import SERVER

CUT_SHORT_GRACE_S = 2.0  # for engine processes to close their records when a run ends early


@dataclass(frozen=True, slots=True)
class PointJob:
    """What is to be run, and how."""

    plan: RunPlan
    folder: Path  # the run folder, to be made
    campaign: str
    repeat: int = 0
    pins: Pinning = field(default_factory=dict)
    limits: HostLimits = field(default_factory=HostLimits)
    processes: int = 0  # engine processes; 0: as few as the host's limits allow
    threads: int = 1  # reactor threads of each
    calibration: CalibrationPart | None = None
    source_addresses: tuple[str, ...] = ()  # devices connect from these, one after the other
    server_metrics: tuple[str, ...] = ()  # URLs of Prometheus pages of a server that others started, and of its host
    hosts: Callable[[PointJob], RunHosts] | None = None  # where its parts are; None: all here
    allow_connect_failures: bool = False  # go on with the devices that could connect
    engine_command: Sequence[str] = ENGINE_COMMAND
    profile_threads: bool = False  # profile the server's busiest thread
    heard: Heard | None = None  # takes health samples besides the records


def run_point(
    job: PointJob,
    adapter: ServerAdapter,
    *,
    listener: RunListener | None = None,
    interruption: Interruption | None = None,
    steering: Steering | None = None,
) -> RunOutcome:
    """Run one point; the folder is closed whatever happens.

    Args:
        job: what to run.
        adapter: a fresh adapter of the server.
        listener: shows progress.
        interruption: signal handling that is already in force; without, Ctrl-C is handled for this run alone.
        steering: looks at the run about four times a second and may change its rate or end its measuring.

    Returns:
        How it ended. Failures of server, engine and host are outcomes, not exceptions; a plan that needs what the
        server lacks is refused with ConfigError before anything is made.
    """
    refuse_unable(job.plan, adapter)
    if interruption is not None:
        return PointRun(job, adapter, listener or Silence(), interruption, steering).execute()
    with Interruption() as own:
        return PointRun(job, adapter, listener or Silence(), own, steering).execute()


class PointRun:
    """The parts of one run, made one after the other and ended in reverse order."""

    def __init__(
        self,
        job: PointJob,
        adapter: ServerAdapter,
        listener: RunListener,
        interruption: Interruption,
        steering: Steering | None,
    ) -> None:
        self._job = job
        self._plan = job.plan
        self._adapter = adapter
        self._listener = listener
        self._interruption = interruption
        self._steering = steering
        facts = first_facts(job.plan, job.folder.name, job.campaign, job.repeat, describe(job.pins))
        self._record = RunRecord(job.folder, replace(facts, calibration=job.calibration))
        self._machine = PhaseMachine.for_load(job.plan.phases, job.plan.load)
        self._fleet: Fleet | None = None
        self._consumers: BackendConsumers | None = None
        self._sampler: Sampler | None = None
        self._hosts: RunHosts = ThisHost(job)
        self._conductor: Conductor | None = None
        self._profiler = (
            ThreadProfiler(self._busiest_thread, job.plan.phases.measure_s) if job.profile_threads else None
        )

    def execute(self) -> RunOutcome:
        """Play the run and close the folder. Everything outside `allowed` is safe from signals."""
        self._record.open()
        problem: BaseException | None = None
        try:
            with self._interruption.allowed():
                self._play()
        except (Exception, KeyboardInterrupt) as error:
            problem = error
        outcome = self._end(problem)
        if problem is not None and not isinstance(problem, (TelemarkError, Interrupted)):
            raise problem  # a defect of ours: raised only after the folder is closed
        return outcome

    def _play(self) -> None:
        self._hosts = (self._job.hosts or ThisHost)(self._job)
        self._adapter = self._hosts.adapter(self._adapter)
        self._adapter.prepare()
        self._adapter.start(self._start_request())
        self._plan = with_login(self._plan, self._adapter)
        endpoints = self._adapter.endpoints()
        placed = self._hosts.place(self._plan, endpoints)
        engines = [each.plan for each in placed]
        audiences = audiences_of(self._plan, engines)
        self._record.write_tables(audience_tables(audiences))
        self._record.update(server=server_facts(self._adapter, self._plan), processes=len(engines))
        ready = [replace(each, plan=with_share_syntax(each.plan, self._adapter)) for each in placed]
        self._fleet = Fleet(ready, self._hosts.start_engine)
        self._start_sampling([endpoint.port for endpoint in endpoints.values()])
        self._start_consumers()
        self._conduct(audiences)
        self._let_counters_settle()

    def _start_request(self) -> StartRequest:
        plan = self._plan
        return StartRequest(
            directory=self._hosts.server_folder,
            address=self._hosts.address,
            profile=plan.profile,
            listeners=listeners_of(plan),
            devices=device_count(plan),
            options=plan.server_options,
            consumers=ConsumerRequest(plan.consumers.kind, plan.consumers.tls) if plan.consumers else None,
            ha="ha-pair" in plan.needs,
            cpus=tuple(self._job.pins.get("server", ())),
        )

    def _start_sampling(self, ports: list[int]) -> None:
        """The server alone is sampled once before any device connects: its idle memory."""
        watched = Watched(
            adapter=self._adapter,
            engines=lambda: self._fleet.pids() if self._fleet else [],
            consumers=lambda: self._consumers.pids() if self._consumers else [],
            figures=lambda: self._conductor.consumer_figures if self._conductor else {},
            ports=ports,
            heard=self._job.heard,
        )
        self._sampler = self._hosts.sampler(watched, self._record)
        self._sampler.start()

    def _start_consumers(self) -> None:
        if self._plan.consumers is None:
            return
        self._consumers = self._hosts.consumers(self._plan.consumers, self._adapter)
        self._consumers.start()
        self._hosts.pin(self._consumers)

    def _conduct(self, audiences: Audiences) -> None:
        if self._fleet is None or self._sampler is None:
            raise EngineError("a run was conducted before it was prepared")
        self._conductor = Conductor(
            run=self._job.folder.name,
            plan=self._plan,
            fleet=self._fleet,
            adapter=self._adapter,
            sampler=self._sampler,
            hosts=self._hosts,
            expected=expected_deliveries(audiences),
            listener=self._listener,
            machine=self._machine,
            record=self._record,
            consumers=self._consumers,
            steering=self._steer if self._profiler else self._steering,
            allow_connect_failures=self._job.allow_connect_failures or not self._machine.sends,
        )
        with self._interruption.shield():  # a process that is started must be known, or nobody would end it
            self._fleet.start()
        self._conductor.conduct()

    def _steer(self, control: RunControl) -> None:
        if self._profiler is not None and control.progress.phase is Phase.MEASURE:
            self._profiler.start()
        if self._steering is not None:
            self._steering(control)

    def _busiest_thread(self) -> tuple[int, str] | None:
        """Of the server, as the newest sample tells: thread id and name."""
        found = self._sampler.latest(SERVER, "thread_cores") if self._sampler else {}
        if not found:
            return None
        ids, _, name = max(found, key=lambda instance: found[instance]).partition(" ")
        return int(ids.partition("/")[2]), name

    def _let_counters_settle(self) -> None:
        """Some servers renew their counters now and then only: the last ones must count the last message."""
        if isinstance(self._adapter, WithCounterLag):
            time.sleep(self._adapter.counter_lag_s)

    def _end(self, problem: BaseException | None) -> RunOutcome:
        """Stop everything that was started and close the folder: in about four seconds when the run was cut short."""
        end = describe_end(problem)
        self._machine.close(time.monotonic_ns())
        if problem is not None:
            died = end.event != "server_died" or not self._adapter.alive()  # it may have refused us in good health
            self._record.event(end.event if died else "note", end.reason or "")
        unsampled = self._stop_parts(cut_short=problem is not None)
        if unsampled is not None and end.state == "complete":
            end = describe_end(unsampled)
        if self._conductor is not None:
            self._conductor.tell_last()
        if self._profiler is not None:
            with suppress(OSError):  # a full disk ends the run with a reason of its own
                self._profiler.finish().write(self._job.folder)
        end = self._bring_home(end)
        self._record.close(
            end.state,
            end.reason,
            start_ns=self._machine.start_ns,
            phases=dict(self._machine.times),
            rate_changes=tuple(self._conductor.rate_changes) if self._conductor else (),
        )
        return RunOutcome(self._job.folder.name, self._job.folder, end.state, end.reason, end.hint, end.exit_code)

    def _bring_home(self, end: Ending) -> Ending:
        """A run is complete only when all of its records are here."""
        try:
            self._hosts.close(self._record)
        except TelemarkError as error:
            return end if end.state != "complete" else describe_end(error)
        return end

    def _stop_parts(self, *, cut_short: bool) -> TelemarkError | None:
        """Devices first, so that their records are closed; then the watching, the consumers, the server.

        Returns:
            Why health records could not be closed, on a full disk for one: the run lacks them then.
        """
        unsampled: TelemarkError | None = None
        if self._fleet is not None:
            for problem in self._fleet.stop(CUT_SHORT_GRACE_S):
                self._listener.note(problem)
        if self._sampler is not None:
            try:
                self._sampler.stop(wait_s=0.5 if cut_short else 2.0)
            except TelemarkError as error:
                unsampled = error
        if self._consumers is not None:
            self._quietly(self._consumers.stop)
        if cut_short:
            with suppress(ServerError):  # a server that others started is never killed
                self._adapter.kill()  # an orderly stop may take long, and nothing is measured any more
        self._quietly(self._adapter.stop)
        return unsampled

    def _quietly(self, stop: Callable[[], None]) -> None:
        """One part that cannot be stopped must not keep the others from being stopped."""
        try:
            stop()
        except Exception as error:
            self._listener.note(f"while stopping: {error}")
