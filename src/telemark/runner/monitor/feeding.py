"""From what the runner sees to readings: progress of the load, samples of the health."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from telemark.model.plan import RunPlan
from telemark.runner.health.samples import Sample
from telemark.runner.monitor import metrics
from telemark.runner.monitor.metrics import Metric
from telemark.runner.monitor.readings import Readings
from telemark.runner.progress import Progress, RunListener, RunOutcome
from telemark.runner.totals import Totals
from telemark.store.health_metrics import COUNTERS, HOST

MIXED = "mixed"
_PARTS = (*(metric for (source, _), metric in metrics.HEALTH.items() if source != HOST),)  # of a run, not of the host
_OF_A_RUN = frozenset(metric for metric in (*metrics.LOAD, *_PARTS) if metric.kind == "gauge")
_COUNTS = (
    (metrics.DISCONNECTS, "disconnects"),
    (metrics.INTENDED, "intended"),
    (metrics.ACKNOWLEDGED, "acked"),
    (metrics.DROPPED, "dropped"),
)


class LoadFeed:
    """A listener that turns progress into readings and passes everything on. Counts go on from run to run."""

    def __init__(self, readings: Readings, inner: RunListener) -> None:
        self._readings = readings
        self._inner = inner
        self._counted: dict[Metric, int] = {}  # of this run, already in the counters
        self._qos = ("", "")  # of sent and of received messages
        self._phase = ""

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        self._counted = {}
        self._qos = sent_qos(plan), received_qos(plan)
        put = self._readings.set
        put(metrics.RUN_INFO, 1, plan.suite, plan.scenario, plan.size, server)
        put(metrics.RUN_NUMBER, number)
        put(metrics.RUNS_PLANNED, of)
        self._enter("start")
        self._count(Totals())
        self._inner.run_started(run, server, plan, number, of)

    def progress(self, progress: Progress) -> None:
        self._enter(str(progress.phase))
        self._count(progress.totals)
        self._levels(progress)
        self._inner.progress(progress)

    def note(self, text: str) -> None:
        self._inner.note(text)

    def run_ended(self, outcome: RunOutcome) -> None:
        """What was true of this run only is forgotten; counters stay."""
        self._phase = ""
        self._readings.forget(_OF_A_RUN.__contains__)
        self._enter(metrics.NO_RUN)
        self._readings.add(metrics.RUNS_ENDED, 1, outcome.state)
        self._inner.run_ended(outcome)

    def _enter(self, phase: str) -> None:
        if phase != self._phase:
            self._phase = phase
            for name in metrics.PHASES:
                self._readings.set(metrics.PHASE, float(name == phase), name)

    def _count(self, totals: Totals) -> None:
        for metric, name in _COUNTS:
            self._grow(metric, getattr(totals, name))
        self._grow(metrics.SENT, totals.sent, self._qos[0])
        self._grow(metrics.RECEIVED, totals.received, self._qos[1])

    def _grow(self, metric: Metric, count: int, *labels: str) -> None:
        grown = max(0, count - self._counted.get(metric, 0))
        self._counted[metric] = self._counted.get(metric, 0) + grown
        self._readings.add(metric, grown, *labels)

    def _levels(self, progress: Progress) -> None:
        put, totals = self._readings.set, progress.totals
        put(metrics.RUN_ELAPSED, progress.elapsed_s)
        put(metrics.PHASE_REMAINING, progress.remaining_s)
        devices = {
            "planned": totals.devices, "connected": totals.connected, "ready": totals.ready, "failed": totals.failed,
        }  # fmt: skip
        for state, count in devices.items():
            put(metrics.DEVICES, count, state)
        put(metrics.OUTSTANDING, progress.outstanding)
        put(metrics.CONNECT_RATE, progress.connect_rate)
        put(metrics.SENT_RATE, progress.sent_rate, self._qos[0])
        put(metrics.RECEIVED_RATE, progress.received_rate, self._qos[1])
        put(metrics.LATENCY, _seconds(totals.p50_us), "0.5")
        put(metrics.LATENCY, _seconds(totals.p99_us), "0.99")
        put(metrics.SEND_DELAY, _seconds(totals.send_delay_max_us))
        put(metrics.LOOP_LAG, _seconds(totals.loop_lag_max_us))


def sent_qos(plan: RunPlan) -> str:
    """The QoS of all publishers, if they agree."""
    return _one({group.publish.qos for group in plan.groups if group.publish})


def received_qos(plan: RunPlan) -> str:
    """The QoS of all deliveries, if they agree. Back-end consumers receive with what their own protocol has."""
    granted = {subscription.qos for group in plan.groups for subscription in group.subscriptions}
    sent = {group.publish.qos for group in plan.groups if group.publish}
    if plan.consumers is not None:
        return MIXED if granted else "none"
    return _one({min(each, other) for each in sent for other in granted})


def _one(found: set[int]) -> str:
    return str(*found) if len(found) == 1 else MIXED if found else "none"


def _seconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


def feed_health(readings: Readings, host: str, samples: Sequence[Sample]) -> None:
    """Take the samples of one look at one source. Processes of one kind are added up; their ids are no labels."""
    values: dict[tuple[Metric, tuple[str, ...]], float] = defaultdict(float)
    increments = set()
    for sample in samples:
        metric = metrics.HEALTH.get((sample.source, sample.metric))
        if metric is None or (sample.source == COUNTERS and sample.instance):
            continue
        labels: tuple[str, ...] = (host, sample.instance) if len(metric.labels) > 1 else (host,)
        values[metric, labels] += sample.value
        if metrics.is_increment(sample.metric):
            increments.add(metric)
    for (metric, labels), value in values.items():
        (readings.add if metric in increments else readings.set)(metric, value, *labels)
