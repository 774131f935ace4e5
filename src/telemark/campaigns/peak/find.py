"""The search itself: make a try, let the pipeline judge it, decide the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from telemark.campaigns.peak.bracket import Bracket, Limits, Stage, Try
from telemark.campaigns.peak.forecast import Forecast
from telemark.store.documents.search import (
    BottleneckRecord,
    PeakRecord,
    Quantity,
    SearchRecord,
    SummaryRecord,
    TryRecord,
)
from telemark.verdicts import limits
from telemark.verdicts.bottleneck import Bottleneck, find_bottleneck
from telemark.verdicts.repeats import Summary, summarize

UNCLEAR_TRIES = 3  # so many tries of one rate that say nothing about the server, and the search goes on without
INTERRUPTED = "interrupted"  # the ending of a search that was cut short
HELD_UP_TRIES = 8  # an engine that was late although the host had room was held up by the host, not by the rate


@dataclass(frozen=True, slots=True)
class TryResult:
    """The result of one try."""

    holds: bool
    reasons: tuple[str, ...]  # why not; empty when it holds
    point: Mapping[str, Any] | None  # its row of `points`; None when the run gave none

    @property
    def engine_bound(self) -> bool:
        """Nothing may be concluded about the server."""
        return bool(self.point and self.point.get("engine_bound"))

    @property
    def unclear(self) -> bool:
        """It failed, and the cause may be the engine or other guests of the hypervisor instead of the server."""
        stolen = (self.point.get("host_steal_mean") if self.point else None) or 0.0
        return not self.holds and (self.engine_bound or stolen > limits.MUCH_STEAL)

    @property
    def patience(self) -> int:
        """How many unclear tries like this one are worth making."""
        busy = self.point.get("load_host_busy_mean") if self.point else None
        return (
            HELD_UP_TRIES if self.engine_bound and busy is not None and busy < limits.HOST_HAS_ROOM else UNCLEAR_TRIES
        )


Attempt = Callable[[Try, int], TryResult]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Peak:
    """The answer of one search."""

    rate: float | None  # highest rate that survived its full-length hold; None: no verdict
    at_least: float | None  # highest rate that held at all, when the search could not go on
    ending: str
    bottleneck: Bottleneck | None
    tries: tuple[TryRecord, ...]
    point: Mapping[str, Any] | None = field(default=None, compare=False)  # of the confirming run

    @property
    def interrupted(self) -> bool:
        """Whether the search was cut short."""
        return self.ending == INTERRUPTED

    def record(self) -> PeakRecord:
        """For search.json."""
        culprit = BottleneckRecord(**asdict(self.bottleneck)) if self.bottleneck else None
        return PeakRecord(self.rate, self.at_least, self.ending, culprit, self.tries)


def find_peak(limits: Limits, attempt: Attempt, tell: Tell, forecast: Forecast | None = None) -> Peak:
    """Search once.

    A try says nothing about the server when the engine was the limit, or when it failed while the hypervisor gave the
    processor to others: it is repeated. If repeating does not help, a try that lost processor time counts as a failure.
    Where the engine stays the limit, the search goes on at lower rates, because the server may fail there by itself. If
    it does not fail, the answer is "at least the highest rate that held".

    An interrupted search ends with the tries it has made.
    """
    forecast = forecast or Forecast(0.0)
    bracket = Bracket(limits)
    unclear = 0  # tries in a row
    log: list[TryRecord] = []
    gave_out: TryResult | None = None  # the last try that did not hold
    confirmed: TryResult | None = None
    while (tried := bracket.next()) is not None:
        began = time.monotonic()
        try:
            judged = attempt(tried, len(log))
        except KeyboardInterrupt:
            return Peak(None, bracket.held or None, INTERRUPTED, _bottleneck(gave_out), tuple(log))
        forecast.add(time.monotonic() - began)
        log.append(_entry(tried, judged))
        tell(_sentence(tried, judged))
        unclear = unclear + 1 if judged.unclear else 0
        if 0 < unclear < judged.patience:
            continue
        unclear = 0
        if not judged.holds:
            gave_out = judged
        elif tried.stage is Stage.CONFIRM:
            confirmed = judged
        if judged.engine_bound and not judged.holds:
            bracket.report_bound(tried)
        else:
            bracket.report(tried, judged.holds)
        if bracket.tries_left(further=1):
            tell(f"  {forecast.sentence(bracket)}")
    bottleneck = _bottleneck(gave_out)
    if bracket.ending == "engine bound":
        reason = "the engine reached its limit first: no verdict about the server above the last rate that held"
        return Peak(None, bracket.held or None, reason, bottleneck, tuple(log))
    point = confirmed.point if confirmed else None
    ending = bracket.ending or "gave up"
    return Peak(bracket.confirmed, bracket.held or None, ending, bottleneck, tuple(log), point)


def _bottleneck(judged: TryResult | None) -> Bottleneck | None:
    return find_bottleneck(judged.point) if judged and judged.point else None


def _entry(tried: Try, judged: TryResult) -> TryRecord:
    run = judged.point.get("run") if judged.point else None
    return TryRecord(tried.rate, judged.holds, tried.stage.value, tried.repeated, judged.reasons, run)


def _sentence(tried: Try, judged: TryResult) -> str:
    again = ", second look" if tried.repeated else ""
    what = "holds" if judged.holds else "does not hold: " + "; ".join(judged.reasons)
    return f"{tried.rate:,.0f} ({tried.stage.value}{again}): {what}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """All repeats of a search for one point of a case."""

    suite: str
    scenario: str
    point: str
    size: str
    server: str
    quantity: Quantity
    rule: tuple[str, ...]
    peaks: tuple[Peak, ...]

    @property
    def interrupted(self) -> bool:
        """Whether the last search was cut short."""
        return any(peak.interrupted for peak in self.peaks)

    @property
    def summary(self) -> Summary | None:
        """Over the repeats that found a peak."""
        return summarize([peak.rate for peak in self.peaks if peak.rate is not None])

    def record(self) -> SearchRecord:
        """For search.json and `--json`."""
        return SearchRecord(
            self.suite,
            self.scenario,
            self.point,
            self.size,
            self.server,
            self.quantity,
            self.rule,
            tuple(peak.record() for peak in self.peaks),
            SummaryRecord(**asdict(self.summary)) if self.summary else None,
        )
