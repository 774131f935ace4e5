"""`telemark search`: the highest rate that holds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from telemark.catalog import plan_points
from telemark.cli.choosing import choose
from telemark.cli.overriding import override_options, read_overrides
from telemark.cli.running import named_values
from telemark.errors import ConfigError, ExitCode
from telemark.model.plan import RunPlan, Size
from telemark.runner import CampaignOptions
from telemark.runner.calibrate.record import for_run, load_for_runs
from telemark.runner.facts import host_facts
from telemark.runner.pinning import parse_pins
from telemark.runner.progress import RunListener, Silence
from telemark.runner.search.attempts import Attempts
from telemark.runner.search.bracket import Limits, Stage
from telemark.runner.search.peak import SearchResult, find_peak, save
from telemark.runner.search.probe import Probe
from telemark.runner.search.rule import rule_for
from telemark.runner.view import choose_view
from telemark.store.layout import DEFAULT_OUT, campaign_name
from telemark.verdicts import parse_thresholds

UNLIMITED = 5_000_000.0  # without a calibration or --max-rate: above anything one host can do


@click.command("search")
@click.argument("scenario")
@click.option("--server", default="loopback", show_default=True, help="Name or mqtt URL.")
@click.option("--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="How large.")
@click.option(
    "--require", "required", multiple=True, help="Thresholds instead of the case's, e.g. 'p99 < 10ms, lost == 0'."
)
@click.option("--start-rate", type=float, help="First rate; half of the case's planned rate when left out.")
@click.option("--max-rate", type=float, help="Never try more; the engine's calibrated ceiling when left out.")
@click.option(
    "--resolution", default=0.05, show_default=True, help="How near the answer must come to the first failure."
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1), help="Search so often.")
@click.option("--out", default=DEFAULT_OUT, show_default=True, type=click.Path(path_type=Path), help="Where to.")
@click.option("--campaign", help="Name of the campaign's folder.")
@click.option("--pin", "pins", multiple=True, metavar="ROLE=CPUS", help="server=0, engine=1,2-3 or consumer=3.")
@click.option("--option", "server_options", multiple=True, metavar="NAME=VALUE", help="Option of the server adapter.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
@override_options
def command(scenario: str, server: str, size: Size, **settings: Any) -> int:
    """Find the highest rate at which SCENARIO (SUITE/CASE or a scenario file) holds on a server.

    Ramps from below, brackets, bisects, and confirms the answer with a full-length run. Every try is a run of
    the campaign and can be looked at. Ends with 0 when a peak was confirmed, 8 when none was.
    """
    plans = [plan for each in choose(scenario) for plan in plan_points(each, size, read_overrides(settings))]
    if not plans:
        raise ConfigError(f"{scenario} has no point to run at this size")
    parse_thresholds(settings["required"])
    for plan in plans:
        Probe(plan).check()
    name = settings["campaign"] or campaign_name(f"search-{plans[0].suite}")
    results = []
    for plan in plans:
        results.append(_search(plan, server, name, settings))
        save(results, settings["out"] / name)
    _show(results, settings["out"] / name, as_json=settings["as_json"])
    found = all(peak.rate is not None for result in results for peak in result.peaks)
    return int(ExitCode.PASSED if found else ExitCode.NO_VERDICT)


def _search(plan: RunPlan, server: str, campaign: str, settings: dict[str, Any]) -> SearchResult:
    from telemark.pipeline import analyze  # noqa: PLC0415 - Spark is loaded when it is needed

    probe = Probe(plan)
    rule = rule_for(plan.thresholds, probe.quantity, settings["required"])
    limits = _limits(probe, settings)
    _forecast(probe, limits, rule, settings["repeat"])
    options = CampaignOptions(
        pins=parse_pins(settings["pins"]), server_options=named_values(settings["server_options"])
    )
    attempts = Attempts(
        probe, server, settings["out"], campaign, rule, options, _listener(),
        analyze=lambda run: _discard(analyze([run])),
    )  # fmt: skip
    cores = os.cpu_count() or 1
    peaks = [find_peak(limits, attempts, cores, _tell) for _ in range(settings["repeat"])]
    return SearchResult(
        plan.suite, plan.scenario, plan.point, plan.size, server, probe.quantity, rule, tuple(peaks)
    )  # fmt: skip


def _listener() -> RunListener:
    """The live view for a terminal; in a log one line for each try is enough."""
    return choose_view(as_json=False) if sys.stderr.isatty() else Silence()


def _discard(_: object) -> None:
    """The tables are read back from the campaign."""


def _limits(probe: Probe, settings: dict[str, Any]) -> Limits:
    calibration = for_run(probe.case, str(host_facts()["fingerprint"]), load_for_runs())
    known = calibration["connect_ceiling" if probe.quantity == "connections" else "ceiling_rate"]
    if known is None and settings["max_rate"] is None:
        _tell(f"warning: the engine's own ceiling is not known: {calibration['problem']}")
    ceiling = settings["max_rate"] or known or UNLIMITED
    start = min(settings["start_rate"] or probe.start, ceiling)
    if start <= 0 or not 0 < settings["resolution"] < 1:
        raise ConfigError(
            f"--start-rate {start:g}, --resolution {settings['resolution']:g}: rates must be above 0, "
            "the resolution between 0 and 1"
        )
    return Limits(start, ceiling, resolution=settings["resolution"])


def _forecast(probe: Probe, limits: Limits, rule: Sequence[str], repeat: int) -> None:
    low, high = limits.expected_tries(limits.start * 4), limits.expected_tries(limits.start * 64)
    seconds = probe.seconds(Stage.BISECT)
    _tell(f"{probe.case.suite}/{probe.case.scenario} {probe.case.point}".rstrip())
    _tell(f"rule: {', '.join(rule) or 'none'}; and nothing falls behind")
    _tell(
        f"about {low * repeat} to {high * repeat} tries of {seconds:.0f} s each: "
        f"{low * repeat * seconds / 60:.0f} to {high * repeat * seconds / 60:.0f} minutes"
    )


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _show(results: Sequence[SearchResult], folder: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"campaign": str(folder), "results": [result.as_dict() for result in results]}))
        return
    for result in results:
        for line in _lines(result):
            click.echo(line)
    click.echo(f"campaign: {folder}")


def _lines(result: SearchResult) -> list[str]:
    unit = "connections/s" if result.quantity == "connections" else "msg/s"
    lines = [f"{result.suite}/{result.scenario} {result.point} on {result.server}, size {result.size}:"]
    for peak in result.peaks:
        if peak.rate is None:
            at_least = f"; at least {peak.at_least:,.0f} {unit}" if peak.at_least else ""
            lines.append(f"  no peak: {peak.ending}{at_least}")
        else:
            limit = " (the ceiling of this search, not of the server)" if peak.ending == "ceiling reached" else ""
            lines.append(f"  peak {peak.rate:,.0f} {unit}{limit}, {len(peak.tries)} tries")
        if peak.bottleneck:
            lines.append(f"    gave out first: {peak.bottleneck.side} {peak.bottleneck.part}".rstrip())
            lines += [f"      {sentence}" for sentence in peak.bottleneck.evidence]
    if len(result.peaks) > 1 and (summary := result.summary):
        interval = f", 95 % interval {summary.low:,.0f} to {summary.high:,.0f}" if summary.low is not None else ""
        lines.append(f"  median {summary.median:,.0f} {unit}, spread {summary.spread:.0%}{interval}")
        if not summary.conclusive:
            lines.append("  the repeats disagree too much to conclude")
    return lines
