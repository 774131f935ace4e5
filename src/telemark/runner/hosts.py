"""Where the parts of a run are: all on this host, or each on a host of a bed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from telemark.consumers.contract import BackendConsumers
from telemark.consumers.registry import make_consumers
from telemark.host.facts import host_facts
from telemark.host.ports import LOOPBACK
from telemark.model.plan import ConsumerPlan, Endpoint, RunPlan
from telemark.model.slicing import Place, PlacedPlan, place_plan
from telemark.runner.engine_link import EngineLink
from telemark.runner.health import HealthSampler
from telemark.runner.health.pages import PageSource
from telemark.runner.health.roles import SERVER_ROLE, page_sources, role_of_this_host
from telemark.runner.health.sampler import Sink
from telemark.runner.health.samples import Sample
from telemark.runner.health.sources import run_sources
from telemark.runner.pinning import pin_process
from telemark.servers.contract import ServerAdapter
from telemark.store.layout import SERVER_FOLDER

Heard = Callable[[str, Sequence[Sample]], None]  # host, samples

if TYPE_CHECKING:
    from telemark.runner.run_point import PointJob
    from telemark.runner.run_record import RunRecord


class Sampler(Protocol):
    """Watches the hosts of a run."""

    @property
    def failure(self) -> BaseException | None:
        """Why sampling has ended; None while all is well."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self, *, wait_s: float = 2.0) -> None:
        """Take a last sample and end."""
        ...

    def total(self, source: str, metric: str) -> float | None:
        """The newest value of a metric summed over its instances."""
        ...

    def latest(self, source: str, metric: str) -> Mapping[str, float]:
        """The newest values of a metric by instance, as far as they are known on this host."""
        ...


@dataclass(frozen=True, slots=True)
class Watched:
    """What a sampler looks at besides the hosts themselves; everything may change while it looks."""

    adapter: ServerAdapter
    engines: Callable[[], Sequence[int]]  # process ids
    consumers: Callable[[], Sequence[int]]  # process ids
    figures: Callable[[], Mapping[str, float]]  # the consumers' own
    ports: Sequence[int]
    heard: Heard | None = None  # takes the samples of every host besides the records; called from any thread

    def sink(self, host: str, role: str, record: RunRecord) -> Sink:
        """Where the samples of a sampler of this process go."""
        write, heard = record.health(host, role), self.heard
        if heard is None:
            return write

        def both(time_ns: int, samples: list[Sample]) -> None:
            write(time_ns, samples)
            heard(host, samples)

        return both


class RunHosts(Protocol):
    """The hosts of one run. The order of calls is that of the methods; `close` comes whatever happened before."""

    address: str  # where devices and consumers reach a server that the run starts
    server_folder: Path  # on the server's host

    def adapter(self, adapter: ServerAdapter) -> ServerAdapter:
        """The adapter, acting on the server's host."""
        ...

    def place(self, plan: RunPlan, endpoints: Mapping[str, Endpoint]) -> tuple[PlacedPlan, ...]:
        """The engine processes, each on its host."""
        ...

    def start_engine(self, placed: PlacedPlan) -> EngineLink:
        """Start one of them."""
        ...

    def sampler(self, watched: Watched, record: RunRecord) -> Sampler:
        """What watches all hosts."""
        ...

    def consumers(self, plan: ConsumerPlan, adapter: ServerAdapter) -> BackendConsumers:
        """The back-end consumers, not started yet."""
        ...

    def pin(self, consumers: BackendConsumers) -> None:
        """Keep consumers that have started on their CPUs."""
        ...

    def check(self) -> None:
        """Raise HostLostError when a host is gone."""
        ...

    def close(self, record: RunRecord) -> None:
        """Everything has ended: bring home what is elsewhere."""
        ...


def page_samplers(pages: Sequence[PageSource], watched: Watched, record: RunRecord) -> list[Sampler]:
    """A thread for each page: one that answers slowly delays no other."""
    return [HealthSampler([page], watched.sink(page.host, SERVER_ROLE, record)) for page in pages]


class SeveralSamplers:
    """Several samplers that act as one. Keeps the contract of `Sampler`."""

    def __init__(self, samplers: Sequence[Sampler]) -> None:
        self._samplers = samplers

    @property
    def failure(self) -> BaseException | None:
        """The first failure of any of them."""
        return next((each.failure for each in self._samplers if each.failure is not None), None)

    def start(self) -> None:
        """See the contract."""
        for each in self._samplers:
            each.start()

    def stop(self, *, wait_s: float = 2.0) -> None:
        """See the contract."""
        for each in self._samplers:
            each.stop(wait_s=wait_s)

    def total(self, source: str, metric: str) -> float | None:
        """See the contract."""
        found = [value for each in self._samplers if (value := each.total(source, metric)) is not None]
        return sum(found) if found else None

    def latest(self, source: str, metric: str) -> Mapping[str, float]:
        """See the contract."""
        return {name: value for each in self._samplers for name, value in each.latest(source, metric).items()}


class ThisHost:
    """Everything here. Keeps the contract of `RunHosts`."""

    address = LOOPBACK

    def __init__(self, job: PointJob) -> None:
        self._job = job
        self.server_folder = (job.folder / SERVER_FOLDER).absolute()

    def adapter(self, adapter: ServerAdapter) -> ServerAdapter:
        """See the contract."""
        return adapter

    def place(self, plan: RunPlan, endpoints: Mapping[str, Endpoint]) -> tuple[PlacedPlan, ...]:
        """See the contract."""
        job = self._job
        places = (Place(limits=job.limits, source_addresses=job.source_addresses),)
        return place_plan(
            plan, endpoints, run=job.folder.name, places=places, processes=job.processes, threads=job.threads
        )

    def start_engine(self, placed: PlacedPlan) -> EngineLink:
        """See the contract."""
        return EngineLink(placed.plan, self._job.folder, self._job.engine_command, self._job.pins.get("engine", ()))

    def sampler(self, watched: Watched, record: RunRecord) -> Sampler:
        """See the contract."""
        pages = page_sources(watched.adapter, self._job.server_metrics)
        sources = run_sources(
            server=watched.adapter.pids,
            engine=watched.engines,
            consumer=watched.consumers,
            figures=watched.figures,
            ports=watched.ports,
        )
        role = role_of_this_host(watched.adapter, self._job.server_metrics)
        sink = watched.sink(str(host_facts()["name"]), role, record)
        own = HealthSampler(sources, sink, counters=watched.adapter.counters)
        return SeveralSamplers([own, *page_samplers(pages, watched, record)])

    def consumers(self, plan: ConsumerPlan, adapter: ServerAdapter) -> BackendConsumers:
        """See the contract."""
        return make_consumers(plan, adapter, self._job.folder)

    def pin(self, consumers: BackendConsumers) -> None:
        """See the contract."""
        for pid in consumers.pids():
            pin_process(pid, self._job.pins.get("consumer", ()))

    def check(self) -> None:
        """See the contract. This host cannot be lost."""

    def close(self, record: RunRecord) -> None:
        """See the contract. Everything is here already."""
