"""The search itself: make a try, let the pipeline judge it, decide the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from telemark.runner.search.bracket import Bracket, Limits, Stage, Try
from telemark.verdicts.bottleneck import Bottleneck, find_bottleneck
from telemark.verdicts.repeats import Summary, summarize

SEARCH_FILE = "search.json"
FORMAT = 1
UNCLEAR_TRIES = 3  # so many tries of one rate that say nothing about the server, and the search goes on without
HELD_UP_TRIES = 8  # an engine that was late although the host had room was held up by the host, not by the rate
ROOM = 0.7  # a host that is less busy than this has room
MUCH_STEAL = 0.02  # a failure of a host that lost more of its processor than this is not the server's


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one try."""

    holds: bool
    reasons: tuple[str, ...]  # why not; empty when it holds
    point: Mapping[str, Any] | None  # its row of `points`; None when the run gave none

    @property
    def engine_bound(self) -> bool:
        """Nothing may be concluded about the server."""
        return bool(self.point and self.point.get("engine_bound"))

    @property
    def unclear(self) -> bool:
        """It failed, and the engine or the host's neighbours may be to blame as well as the server."""
        stolen = (self.point.get("host_steal_mean") if self.point else None) or 0.0
        return not self.holds and (self.engine_bound or stolen > MUCH_STEAL)

    @property
    def patience(self) -> int:
        """How many unclear tries like this one are worth making."""
        busy = self.point.get("host_cpu_busy_mean") if self.point else None
        return HELD_UP_TRIES if self.engine_bound and busy is not None and busy < ROOM else UNCLEAR_TRIES


Attempt = Callable[[Try, int], Judged]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Peak:
    """The answer of one search."""

    rate: float | None  # highest rate that survived its full-length hold; None: no verdict
    at_least: float | None  # highest rate that held at all, when the search could not go on
    ending: str
    bottleneck: Bottleneck | None
    tries: tuple[dict[str, Any], ...]
    point: Mapping[str, Any] | None = field(default=None, compare=False)  # of the confirming run


def find_peak(limits: Limits, attempt: Attempt, cores: int, tell: Tell) -> Peak:
    """Search once.

    A try in which the engine was the limit says nothing about the server, nor does a failure while the hypervisor gave
    the processor to others: it is made again. When that does not help, a robbed try counts as it is, and the search
    goes on below a rate that the engine cannot make, where the server may fail by itself. If it does not, it can do at
    least what held, and how much more cannot be told.
    """
    bracket = Bracket(limits)
    unclear = 0  # tries in a row
    log: list[dict[str, Any]] = []
    gave_out: Judged | None = None  # the last try that did not hold
    confirmed: Judged | None = None
    while (tried := bracket.next()) is not None:
        judged = attempt(tried, len(log))
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
    bottleneck = _bottleneck(gave_out, cores)
    if bracket.ending == "engine bound":
        reason = "the engine gave out first: no verdict about the server above the last rate that held"
        return Peak(None, bracket.held or None, reason, bottleneck, tuple(log))
    point = confirmed.point if confirmed else None
    ending = bracket.ending or "gave up"
    return Peak(bracket.confirmed, bracket.held or None, ending, bottleneck, tuple(log), point)


def _bottleneck(judged: Judged | None, cores: int) -> Bottleneck | None:
    return find_bottleneck(judged.point, cores) if judged and judged.point else None


def _entry(tried: Try, judged: Judged) -> dict[str, Any]:
    run = judged.point.get("run") if judged.point else None
    return {
        "rate": tried.rate,
        "stage": tried.stage.value,
        "repeated": tried.repeated,
        "holds": judged.holds,
        "reasons": list(judged.reasons),
        "run": run,
    }


def _sentence(tried: Try, judged: Judged) -> str:
    again = ", second look" if tried.repeated else ""
    what = "holds" if judged.holds else "does not hold: " + "; ".join(judged.reasons)
    return f"{tried.rate:,.0f}/s ({tried.stage.value}{again}): {what}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """All repeats of a search for one point of a case."""

    suite: str
    scenario: str
    point: str
    size: str
    server: str
    quantity: str
    rule: tuple[str, ...]
    peaks: tuple[Peak, ...]

    @property
    def summary(self) -> Summary | None:
        """Over the repeats that found a peak."""
        return summarize([peak.rate for peak in self.peaks if peak.rate is not None])

    def as_dict(self) -> dict[str, Any]:
        """For search.json and `--json`."""
        data = asdict(self) | {"format": FORMAT, "summary": asdict(self.summary) if self.summary else None}
        for peak in data["peaks"]:
            peak.pop("point")
        return data


def save(results: Sequence[SearchResult], campaign: Path) -> Path:
    """Keep the answers beside the runs they rest on."""
    path = campaign / SEARCH_FILE
    path.write_text(json.dumps([result.as_dict() for result in results], indent=1), encoding="utf-8")
    return path
