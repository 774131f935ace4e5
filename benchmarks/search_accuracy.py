"""How near `telemark search` comes to the truth: three searches in a row against a fine sweep on the same machine.

The sweep climbs a 3 % grid from below the searches, runs every rate twice at full length and judges each run by the
same rule; a run on a robbed host is made again, as in a search. It ends at the first rate that fails both times: the
rate below is the peak. Takes 20 to 35 minutes; the machine must be quiet.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import report

from telemark.campaigns import CampaignOptions, run_campaign
from telemark.campaigns.peak.attempts import Attempts
from telemark.campaigns.peak.bracket import Limits, Stage, Try
from telemark.campaigns.peak.find import TryResult, find_peak
from telemark.campaigns.peak.probe import Probe
from telemark.campaigns.peak.rule import judge_try, rule_for
from telemark.catalog import load, plan_points
from telemark.pipeline import analyze
from telemark.runner.progress import Silence
from telemark.store.result_reader import ResultTables

CASE, SERVER = "messagesight/FANIN.Q0.SHARED", "mosquitto"
SEARCHES = 3
STEP = 1.03
BELOW, ABOVE = 0.2, 0.3  # the sweep covers these shares around the searches' median
LIMIT = 0.10
CEILING = 5_000_000.0


def tell(text: str) -> None:
    """Progress; the one line of the result goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def search(probe: Probe, rule: Sequence[str], out: Path, number: int) -> float | None:
    """The peak of one search."""

    def analyze_run(folder: Path) -> None:
        analyze([folder])

    name = f"search-{number}"
    attempts = Attempts(probe, SERVER, out, name, rule, CampaignOptions(), Silence(), analyze=analyze_run)
    peak = find_peak(Limits(probe.start, CEILING), attempts, cores=2, tell=tell)
    tell(f"search {number + 1}: {peak.rate} ({peak.ending}, {len(peak.tries)} tries)")
    return peak.rate


def grid(middle: float) -> list[float]:
    """Rates of the sweep, rising."""
    rates = [middle * (1 - BELOW)]
    while rates[-1] < middle * (1 + ABOVE):
        rates.append(rates[-1] * STEP)
    return rates


def sweep(probe: Probe, rule: Sequence[str], rates: Sequence[float], out: Path) -> float | None:
    """The highest rate below the first that failed twice; None when even the lowest did."""
    peak = None
    for number, rate in enumerate(rates):
        tries = [settled(probe, rule, rate, out, f"sweep-{number}-{again}") for again in range(2)]
        tell(f"sweep {rate:,.0f}/s: {[each.holds or each.reasons for each in tries]}")
        if not any(each.holds for each in tries):
            return peak
        peak = rate
    return peak


def settled(probe: Probe, rule: Sequence[str], rate: float, out: Path, name: str) -> TryResult:
    """A run of a rate that says something about the server; the last of a few if none does."""
    number = 0
    while (last := judged(probe, rule, rate, out, f"{name}-{number}")).unclear and number < last.patience:
        number += 1
    return last


def judged(probe: Probe, rule: Sequence[str], rate: float, out: Path, name: str) -> TryResult:
    """One full-length run of a rate."""
    outcome = run_campaign([probe.plan(Try(rate, Stage.CONFIRM), 0)], [SERVER], out, campaign=name)
    analyze([outcome.folder])
    (point,) = ResultTables.open(outcome.folder).rows("points")
    return judge_try(point, rule, probe.quantity, rate)


def main() -> None:
    """Search three times, sweep once, compare."""
    (case,) = plan_points(load().find(CASE), "quick", {})
    probe = Probe(case)
    rule = rule_for(case.thresholds, probe.quantity, ())
    with tempfile.TemporaryDirectory(prefix="telemark-search-") as folder:
        found = [search(probe, rule, Path(folder), number) for number in range(SEARCHES)]
        peaks = [rate for rate in found if rate is not None]
        truth = sweep(probe, rule, grid(statistics.median(peaks)), Path(folder)) if peaks else None
    if truth is None or len(peaks) < SEARCHES:
        report("search_accuracy", 1.0, LIMIT, holds=False, searches=found, sweep=truth)
        return
    worst = max(abs(rate - truth) / truth for rate in peaks)
    report(
        "search_accuracy", worst, LIMIT, worst <= LIMIT, searches=[round(rate) for rate in peaks], sweep=round(truth)
    )


if __name__ == "__main__":
    main()
