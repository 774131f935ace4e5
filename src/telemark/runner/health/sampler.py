"""The thread that samples all sources on an absolute schedule, once a second."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from telemark.runner.health.counters import CounterSource
from telemark.runner.health.samples import Sample, Source

INTERVAL_S = 1.0

Sink = Callable[[int, list[Sample]], None]  # (time_ns, samples); called from the sampling threads


class HealthSampler:
    """Samples until stopped. A sink that raises ends the sampling; `failure` then holds the reason.

    Args:
        sources: what to sample.
        sink: takes the samples; called by one thread at a time.
        counters: the server's own counters, when it can be asked.
    """

    def __init__(
        self, sources: Sequence[Source], sink: Sink, *, counters: Callable[[], Mapping[str, float]] | None = None
    ) -> None:
        self._sources = list(sources)
        self._sink = sink
        self._counters = CounterSource(counters, self._deliver) if counters else None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._latest: dict[tuple[str, str], dict[str, float]] = {}
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin; the first sample is taken at once, so that increments exist from the first second on."""
        self._thread.start()

    def stop(self, *, wait_s: float = 2.0) -> None:
        """Take a last sample and end. Safe to call twice."""
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join(wait_s)
        if self._counters:
            self._counters.wait(wait_s / 2)

    def latest(self, source: str, metric: str) -> dict[str, float]:
        """The newest values of a metric by instance; empty when it was not sampled."""
        with self._lock:
            return dict(self._latest.get((source, metric), {}))

    def total(self, source: str, metric: str) -> float | None:
        """The newest value of a metric summed over its instances; None when it was not sampled. For live views."""
        with self._lock:
            instances = self._latest.get((source, metric))
            return sum(instances.values()) if instances else None

    def _run(self) -> None:
        try:
            self._sample_until_stopped()
        except Exception as error:  # rows that are missing without a word would look like a host that was not sampled
            self.failure = error

    def _sample_until_stopped(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._sample_all()
            due = max(due + INTERVAL_S, time.monotonic())
        self._sample_all()

    def _sample_all(self) -> None:
        # The server is asked first: it answers while the others are read.
        sources: list[Source] = [self._counters, *self._sources] if self._counters else self._sources
        for source in sources:
            now_ns = time.monotonic_ns()  # one time per source: rates are over the true distance of its own samples
            self._deliver(now_ns, source.sample(now_ns))

    def _deliver(self, time_ns: int, samples: list[Sample]) -> None:
        if not samples:
            return
        newest: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for sample in samples:
            newest[sample.source, sample.metric][sample.instance] = sample.value
        with self._lock:
            self._latest |= newest
            try:
                self._sink(time_ns, samples)
            except Exception as error:  # a full disk, for one: the run must hear of it and end
                self.failure = error
                self._stop.set()
