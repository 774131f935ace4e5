"""How near `telemark search` comes to the truth: three searches in a row against a fine sweep on the same machine.

The sweep runs every rate of a 3 % grid around the searches twice, at full length, and judges each run by the same
rule. Its peak is the highest rate below the first that failed both times. Takes 15 to 25 minutes; the machine must
be quiet.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import report

from telemark.catalog import load, plan_points
from telemark.model.plan import RunPlan
from telemark.pipeline import analyze
from telemark.runner import CampaignOptions, run_campaign
from telemark.runner.progress import Silence
from telemark.runner.search.attempts import Attempts
from telemark.runner.search.bracket import Limits, Stage, Try
from telemark.runner.search.peak import find_peak
from telemark.runner.search.probe import Probe
from telemark.runner.search.rule import judge_try, rule_for
from telemark.store.result_reader import ResultTables

CASE, SERVER = "messagesight/FANIN.Q0.SHARED", "mosquitto"
SEARCHES = 3
STEP = 1.03
AROUND = 0.25  # the sweep covers this share below and above the searches' median
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
    rates = [middle * (1 - AROUND)]
    while rates[-1] < middle * (1 + AROUND):
        rates.append(rates[-1] * STEP)
    return rates


def sweep(probe: Probe, rule: Sequence[str], rates: Sequence[float], out: Path) -> float | None:
    """The highest rate below the first that failed twice; None when even the lowest did."""
    plans: list[RunPlan] = [probe.plan(Try(rate, Stage.CONFIRM), number) for number, rate in enumerate(rates)]
    options = CampaignOptions(repeat=2, keep_going=True)
    outcome = run_campaign(plans, [SERVER], out, campaign="sweep", options=options)
    analyze([outcome.folder])
    points = ResultTables.open(outcome.folder).rows("points")
    peak = None
    for rate, plan in zip(rates, plans, strict=True):
        tries = [judge_try(point, rule, probe.quantity, rate) for point in points if point["point"] == plan.point]
        holds = any(judged.holds for judged in tries)
        tell(f"sweep {rate:,.0f}/s: {[judged.holds or judged.reasons for judged in tries]}")
        if not holds:
            return peak
        peak = rate
    return peak


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
