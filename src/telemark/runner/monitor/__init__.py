"""Monitoring while runs are under way: a page for Prometheus and lines for Graphite. Off unless asked for.

The readings come from what the runner sees anyway: status lines of the engine processes and samples of the health.
The engine does nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from telemark.runner.health.samples import Sample
from telemark.runner.monitor.feeding import LoadFeed, feed_health
from telemark.runner.monitor.graphite import GraphiteSender
from telemark.runner.monitor.prometheus import PrometheusPage
from telemark.runner.monitor.readings import Readings
from telemark.runner.progress import RunListener

HOLD_S = 60.0  # at most, for Prometheus to read the last values: its usual scrape interval is 15 or 60 seconds


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Where the readings go: addresses and ports; None: nowhere."""

    prometheus: tuple[str, int] | None = None
    graphite: tuple[str, int] | None = None


class Monitor:
    """Everything of one command. Close it when the last run has ended.

    Args:
        options: where the readings go.
        tell: takes lines for people.
    """

    def __init__(self, options: MonitorOptions, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._readings = Readings()
        self._page = PrometheusPage(self._readings, *options.prometheus) if options.prometheus else None
        try:
            self._sender = GraphiteSender(self._readings, *options.graphite, tell) if options.graphite else None
        except BaseException:
            if self._page is not None:
                self._page.close()
            raise
        self.hold = True  # whether the last values wait for their reader
        if self._page is not None:
            tell(f"monitoring: {self._page.url}")

    def watch(self, inner: RunListener) -> RunListener:
        """A listener that takes readings and passes everything on."""
        return LoadFeed(self._readings, inner)

    def health(self, host: str, samples: Sequence[Sample]) -> None:
        """Samples of a host; for any thread."""
        feed_health(self._readings, host, samples)

    def close(self) -> None:
        """Let the last values be read, for a bounded time, and end."""
        if self._sender is not None:
            self._sender.close()
        if self._page is None:
            return
        try:
            if self.hold and not self._page.wait_until_read(0.0):
                self._tell(f"monitoring: the last values wait for Prometheus, {HOLD_S:g} s at most (Ctrl-C: end now)")
                self._page.wait_until_read(HOLD_S)
        except KeyboardInterrupt:
            pass
        finally:
            self._page.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hold = self.hold and error is None
        self.close()
