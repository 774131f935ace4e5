"""One point against one server, once: from the plan to a closed run folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from telemark.catalog.audience import AudienceTables, audience_tables
from telemark.consumers.contract import BackendConsumers
from telemark.consumers.jms import JmsApplication
from telemark.errors import ConfigError, EngineError, ServerError, TelemarkError
from telemark.model.plan import RunPlan
from telemark.model.slicing import HostLimits, device_count, slice_plan
from telemark.runner.capability import refuse_unable
from telemark.runner.conductor import Conductor, Steering
from telemark.runner.debts import count_debts
from telemark.runner.endings import describe_end
from telemark.runner.fleet import ENGINE_COMMAND, Fleet
from telemark.runner.health import HealthSampler
from telemark.runner.health.sources import run_sources
from telemark.runner.interruption import Interrupted, Interruption
from telemark.runner.phases import PhaseMachine
from telemark.runner.pinning import Pinning, describe, pin_process
from telemark.runner.progress import RunListener, RunOutcome, Silence
from telemark.runner.run_record import RunRecord, first_facts, server_facts
from telemark.servers.contract import Listener, ServerAdapter, StartRequest, WithCounterLag, WithLogin
from telemark.store.layout import SERVER_FOLDER

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
    calibration: Mapping[str, Any] | None = None
    allow_connect_failures: bool = False  # go on with the devices that could connect
    engine_command: Sequence[str] = ENGINE_COMMAND


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
        self._sampler: HealthSampler | None = None
        self._conductor: Conductor | None = None

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
            raise problem  # a fault of ours: the folder is closed, now the world may know
        return outcome

    def _play(self) -> None:
        self._adapter.prepare()
        self._adapter.start(self._start_request())
        self._plan = with_login(self._plan, self._adapter)
        endpoints = self._adapter.endpoints()
        engines = slice_plan(
            self._plan,
            endpoints,
            run=self._job.folder.name,
            limits=self._job.limits,
            processes=self._job.processes,
            threads=self._job.threads,
        )
        tables = audience_tables(self._plan, engines)
        self._record.write_tables(
            {"streams": tables.streams, "subscriptions": tables.subscriptions, "audiences": tables.audiences}
        )
        self._record.update(server=server_facts(self._adapter, self._plan), processes=len(engines))
        self._fleet = Fleet(
            engines, self._job.folder, cpus=self._job.pins.get("engine", ()), command=self._job.engine_command
        )
        self._start_sampling([endpoint.port for endpoint in endpoints.values()])
        self._start_consumers()
        self._conduct(tables)
        self._let_counters_settle()

    def _start_request(self) -> StartRequest:
        plan = self._plan
        listeners = tuple(Listener(each.name, each.security, each.socket_buffer) for each in plan.listeners)
        return StartRequest(
            directory=(self._job.folder / SERVER_FOLDER).absolute(),
            profile=plan.profile,
            listeners=listeners or tuple(Listener(name) for name in plan.with_endpoint_names()),
            devices=device_count(plan),
            options=plan.server_options,
            jms=plan.consumers is not None,
            jms_tls=plan.consumers is not None and plan.consumers.tls,
            ha="ha-pair" in plan.needs,
            cpus=tuple(self._job.pins.get("server", ())),
        )

    def _start_sampling(self, ports: list[int]) -> None:
        """The server alone is sampled once before any device connects: its idle memory."""
        sources = run_sources(
            server=self._adapter.pids,
            engine=lambda: self._fleet.pids() if self._fleet else [],
            consumer=lambda: self._consumers.pids() if self._consumers else [],
            figures=lambda: self._conductor.consumer_figures if self._conductor else {},
            ports=ports,
        )
        self._sampler = HealthSampler(sources, self._record.health, counters=self._adapter.counters)
        self._sampler.start()

    def _start_consumers(self) -> None:
        if self._plan.consumers is None:
            return
        access = self._adapter.jms()
        if access is None:
            raise ConfigError(f"server {self._adapter.name} gives no way for JMS consumers to reach it")
        self._consumers = JmsApplication(self._plan.consumers, access, self._job.folder)
        self._consumers.start()
        for pid in self._consumers.pids():
            pin_process(pid, self._job.pins.get("consumer", ()))

    def _conduct(self, tables: AudienceTables) -> None:
        if self._fleet is None or self._sampler is None:
            raise EngineError("a run was conducted before it was prepared")
        self._conductor = Conductor(
            run=self._job.folder.name,
            plan=self._plan,
            fleet=self._fleet,
            adapter=self._adapter,
            sampler=self._sampler,
            debts=count_debts(self._plan, tables),
            listener=self._listener,
            machine=self._machine,
            consumers=self._consumers,
            steering=self._steering,
            allow_connect_failures=self._job.allow_connect_failures or not self._machine.sends,
        )
        with self._interruption.shield():  # a process that is started must be known, or nobody would end it
            self._fleet.start()
        self._conductor.conduct()

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
        self._stop_parts(cut_short=problem is not None)
        self._record.close(end.state, end.reason, start_ns=self._machine.start_ns, phases=dict(self._machine.times))
        return RunOutcome(self._job.folder.name, self._job.folder, end.state, end.reason, end.hint, end.exit_code)

    def _stop_parts(self, *, cut_short: bool) -> None:
        """Devices first, so that their records are closed; then the watching, the consumers, the server."""
        if self._fleet is not None:
            for problem in self._fleet.stop(CUT_SHORT_GRACE_S):
                self._listener.note(problem)
        if self._sampler is not None:
            self._sampler.stop(wait_s=0.5 if cut_short else 2.0)
        if self._consumers is not None:
            self._quietly(self._consumers.stop)
        if cut_short:
            with suppress(ServerError):  # a server that others started is never killed
                self._adapter.kill()  # an orderly stop may take long, and nothing is measured any more
        self._quietly(self._adapter.stop)

    def _quietly(self, stop: Callable[[], None]) -> None:
        """One part that cannot be stopped must not keep the others from being stopped."""
        try:
            stop()
        except Exception as error:
            self._listener.note(f"while stopping: {error}")


def with_login(plan: RunPlan, adapter: ServerAdapter) -> RunPlan:
    """Groups without a user name of their own get the one the server asks for."""
    login = adapter.login() if isinstance(adapter, WithLogin) else None
    if login is None:
        return plan
    groups = tuple(
        group if group.username else replace(group, username=login.username, password=login.password)
        for group in plan.groups
    )
    return replace(plan, groups=groups)
