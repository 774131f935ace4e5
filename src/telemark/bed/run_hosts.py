"""The hosts of a run on a bed: every part on the host that has its role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from telemark.bed.bed import Bed
from telemark.bed.bed_file import BedHost
from telemark.bed.records import bring_home, copy_files
from telemark.bed.remote_engine import RemoteEngine, with_moved_files
from telemark.bed.remote_parts import BedSampler, RemoteConsumers, remote_adapter
from telemark.bed.servants import ServantLink
from telemark.consumers.contract import CONSUMER_PROCESS, BackendConsumers, ConsumerKind
from telemark.errors import ConfigError, TelemarkError
from telemark.host.limits import HostLimits
from telemark.model.plan import ConsumerPlan, Endpoint, RunPlan
from telemark.model.slicing import Place, PlacedPlan, place_plan
from telemark.runner.engine_link import EngineLink
from telemark.runner.health import HealthSampler
from telemark.runner.health.roles import SERVER_ROLE, page_sources
from telemark.runner.hosts import RunHosts, Sampler, SeveralSamplers, Watched, page_samplers
from telemark.runner.run_point import PointJob
from telemark.runner.run_record import RunRecord
from telemark.servers.contract import ServerAdapter
from telemark.servers.local import LocalServer
from telemark.store.documents.run import BedHostPart
from telemark.store.layout import SERVER_FOLDER

REMOTE_SERVER = "remote"  # label of the counters of a server that is no part of the bed
SERVANT_PROCESS = 2000  # the first host's number in the names of its own record files
CERTIFICATES = "certificates"  # folder of a server's own files for its devices


def hosts_of(bed: Bed) -> Callable[[PointJob], RunHosts]:
    """For `PointJob.hosts`: every run of the campaign is on this bed."""
    return lambda job: BedRun(bed, job)


class BedRun:
    """One run on a bed. Keeps the contract of `runner.hosts.RunHosts`."""

    def __init__(self, bed: Bed, job: PointJob) -> None:
        self._bed = bed
        self._job = job
        self._run = job.folder.name
        servers = bed.file.with_role("server")
        self._server: BedHost | None = servers[0] if servers else None
        self._processes: dict[str, list[int]] = {host.host: [] for host in bed.file.hosts}
        self._engines: dict[str, list[int]] = {host.host: [] for host in bed.file.hosts}
        for line in bed.lines.values():
            line.forget_old_exchanges()
        self._exchanges_before = {name: len(line.exchanges) for name, line in bed.lines.items()}
        self.address = self._server.address if self._server else ""
        self.server_folder = self._folder(self._server.host) / SERVER_FOLDER if self._server else Path()

    def _folder(self, host: str) -> Path:
        """The run's folder on a host."""
        return Path(self._bed.facts[host]["folder"]) / self._run

    def adapter(self, adapter: ServerAdapter) -> ServerAdapter:
        """See the contract. A server that others started is reached from here as ever."""
        if not isinstance(adapter, LocalServer):
            self._server = None
            return adapter
        if self._server is None:
            raise ConfigError(
                f"{self._bed.file.path}: no host has the role server, which {adapter.name} needs",
                hint="give a host the role server, or name a running server by its URL",
            )
        return remote_adapter(adapter, self._bed.servants[self._server.host])

    def place(self, plan: RunPlan, endpoints: Mapping[str, Endpoint]) -> tuple[PlacedPlan, ...]:
        """See the contract."""
        job = self._job
        placed = place_plan(
            plan, endpoints, run=self._run, places=self._places(), processes=job.processes, threads=job.threads
        )
        for each in placed:
            self._processes[each.host].append(each.plan.process)
        self._share_certificates(sorted({each.host for each in placed}), endpoints)
        return placed

    def _places(self) -> list[Place]:
        found = []
        for host in self._bed.file.hosts:
            facts = self._bed.facts[host.host]
            place = Place(
                host=host.host,
                limits=HostLimits(facts["open_files"], facts["source_ports"]),
                publishers="publishers" in host.roles,
                subscribers="subscribers" in host.roles,
                source_addresses=host.source_addresses or self._job.source_addresses,
            )
            found += [place] if place.publishers or place.subscribers else []
        return found

    def _share_certificates(self, hosts: Sequence[str], endpoints: Mapping[str, Endpoint]) -> None:
        """Devices verify the server, and identify themselves, with files that the server's host has made."""
        if self._server is None or not any(endpoint.tls for endpoint in endpoints.values()):
            return
        others = [self._bed.lines[host] for host in hosts if host != self._server.host]
        copy_files(self._bed.lines[self._server.host], f"{self._run}/{SERVER_FOLDER}/{CERTIFICATES}", others)

    def start_engine(self, placed: PlacedPlan) -> EngineLink:
        """See the contract."""
        host, plan = placed.host, placed.plan
        if self._server is not None and self._server.host != host:
            plan = with_moved_files(plan, self.server_folder, self._folder(host) / SERVER_FOLDER)
        link = RemoteEngine(plan, self._folder(host), self._bed.lines[host], self._cpus(host))
        self._engines[host].append(link.pid)
        self._bed.servants[host].call("watch_engines", tuple(self._engines[host]))
        return link

    def _cpus(self, host: str) -> tuple[int, ...]:
        return next(each.cpus for each in self._bed.file.hosts if each.host == host)

    def sampler(self, watched: Watched, record: RunRecord) -> Sampler:
        """See the contract."""
        numbers = {host.host: SERVANT_PROCESS + number for number, host in enumerate(self._bed.file.hosts)}
        roles = {host.host: ",".join(self._roles(host)) for host in self._bed.file.hosts}
        pages = page_sources(watched.adapter, self._job.server_metrics)

        def watch(servant: ServantLink) -> None:
            host = servant.line.host
            servant.heard = watched.heard
            servant.call("watch", self._folder(host), numbers[host], host, roles[host], tuple(watched.ports))
            self._processes[host].append(numbers[host])

        counters: list[Sampler] = []
        if self._server is None:
            sink = watched.sink(REMOTE_SERVER, SERVER_ROLE, record)
            counters = [HealthSampler([], sink, counters=watched.adapter.counters)]
        others = SeveralSamplers([*counters, *page_samplers(pages, watched, record)])
        return BedSampler(list(self._bed.servants.values()), watch, others)

    def _roles(self, host: BedHost) -> list[str]:
        """What the host does in this run: a server that others started is none of the bed's."""
        return [role for role in host.roles if role != SERVER_ROLE or self._server is not None]

    def consumers(self, plan: ConsumerPlan, adapter: ServerAdapter) -> BackendConsumers:
        """See the contract."""
        hosts = self._bed.file.with_role("consumers")
        access = adapter.access(plan.kind)
        if not hosts or access is None or not isinstance(plan, ConsumerKind):
            raise ConfigError(
                f"{self._bed.file.path}: no host has the role consumers, which {plan.kind} consumers need"
            )
        host = hosts[0].host
        servant = self._bed.servants[host]
        servant.call("make_consumers", plan, access, self._folder(host), self._cpus(host))
        self._processes[host].append(CONSUMER_PROCESS)
        return RemoteConsumers(servant, self._bed.lines[host].own_time)

    def pin(self, consumers: BackendConsumers) -> None:
        """See the contract. Their servant has done it."""

    def check(self) -> None:
        """See the contract."""
        self._bed.refuse_lost()

    def close(self, record: RunRecord) -> None:
        """See the contract. What one lost host has keeps nothing of the others from coming home."""
        record.clock({name: line.exchanges[self._exchanges_before[name] :] for name, line in self._bed.lines.items()})
        record.update(hosts=tuple(self._host_part(host) for host in self._bed.file.hosts), clock=self._clock_part())
        problem: TelemarkError | None = None
        for name, line in self._bed.lines.items():
            try:
                self._bed.servants[name].call("end_run")
                line.ask({"do": "remove", "folder": f"{self._run}/{SERVER_FOLDER}/data"})
                bring_home(line, self._run, self._job.folder)
            except TelemarkError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def _host_part(self, host: BedHost) -> BedHostPart:
        return {
            "host": host.host,
            "roles": self._roles(host),
            "processes": self._processes[host.host],
            "facts": self._bed.facts[host.host]["host"],
        }

    def _clock_part(self) -> dict[str, Any]:
        hosts = []
        for name, line in self._bed.lines.items():
            found = line.correction()
            hosts.append({"host": name, "offset_ns": -found.correction_ns[-1], "error_ns": found.worst_error_ns})
        return {"source": "CLOCK_MONOTONIC", "hosts": hosts}
