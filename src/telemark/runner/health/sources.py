"""The sources of a run, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from telemark.runner.health.host import HostSource
from telemark.runner.health.process import ProcessSource
from telemark.runner.health.samples import Sample, Source
from telemark.runner.health.sockets import SocketSource
from telemark.store.health_metrics import CONSUMER, ENGINE, METRICS, SERVER

Pids = Callable[[], Sequence[int]]


class ConsumerFigures:
    """What the consumers tell of themselves (Java heap, collections), as their latest report has it."""

    def __init__(self, figures: Callable[[], Mapping[str, float]]) -> None:
        self._figures = figures

    def sample(self, now_ns: int) -> list[Sample]:
        """The figures the health table knows."""
        known = METRICS[CONSUMER]
        return [Sample(CONSUMER, "", name, value) for name, value in self._figures().items() if name in known]


def run_sources(
    *, server: Pids, engine: Pids, consumer: Pids, figures: Callable[[], Mapping[str, float]], ports: Sequence[int]
) -> list[Source]:
    """Host, the three kinds of processes, the consumers' own figures, and the sockets of the run's ports."""
    return [
        HostSource(),
        ProcessSource(SERVER, server, ask_every_s=5.0),  # looks through all processes of the host for children
        ProcessSource(ENGINE, engine),
        ProcessSource(CONSUMER, consumer),
        ConsumerFigures(figures),
        SocketSource(lambda: ports),
    ]
