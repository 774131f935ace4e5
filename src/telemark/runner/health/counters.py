"""The server's own counters, asked in a thread of their own: a slow answer must not delay the other samples."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping

from telemark.runner.health.samples import Sample
from telemark.store.health_metrics import COUNTERS


class CounterSource:
    """Asks the server once per sample; while it has not answered, it is not asked again and there is no row."""

    def __init__(self, ask: Callable[[], Mapping[str, float]], deliver: Callable[[int, list[Sample]], None]) -> None:
        self._ask = ask
        self._deliver = deliver
        self._asking: threading.Thread | None = None

    def sample(self, now_ns: int) -> list[Sample]:
        """Ask in the background; the answer is delivered with the time of the question."""
        if self._asking is None or not self._asking.is_alive():
            asking = threading.Thread(target=self._ask_once, args=(now_ns,), name="server-counters", daemon=True)
            asking.start()
            self._asking = asking  # only now: `wait` may come at any moment, and joins what has been started
        return []

    def wait(self, timeout_s: float) -> None:
        """Give an answer that is under way a little time, at the end of a run."""
        if self._asking is not None:
            self._asking.join(timeout_s)

    def _ask_once(self, now_ns: int) -> None:
        try:
            answer = {metric: float(value) for metric, value in self._ask().items() if value is not None}
        except Exception:  # a server that does not answer has no counters: a gap in the rows says so
            return
        rows = [Sample(COUNTERS, "", metric, value) for metric, value in answer.items() if math.isfinite(value)]
        self._deliver(now_ns, rows)
