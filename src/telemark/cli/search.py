"""`telemark search`: the highest rate or number of publishers that holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

import click

from telemark.bed.bed_file import read_bed
from telemark.campaigns import CampaignOptions
from telemark.campaigns.peak.scale import search_cases
from telemark.campaigns.search import SearchOptions, SearchOutcome, search
from telemark.cli.choosing import choose
from telemark.cli.monitoring import monitor_options, monitoring
from telemark.cli.overriding import override_options, read_overrides
from telemark.cli.printing import say, tell
from telemark.cli.running import (
    allowing,
    bed_option,
    named_values,
    reaching_options,
    read_addresses,
    read_allowed,
    report_step,
)
from telemark.cli.sweeping import split
from telemark.errors import ExitCode
from telemark.model.plan import Size
from telemark.report.searches import answer
from telemark.runner.monitor import Monitor
from telemark.runner.pinning import parse_pins
from telemark.runner.progress import RunListener, Silence
from telemark.runner.view import choose_view
from telemark.store.layout import DEFAULT_OUT
from telemark.verdicts.judge import DECIDING


@click.command("search")
@click.argument("scenario")
@click.option("--server", default="loopback", show_default=True, help="Name or mqtt URL.")
@click.option(
    "--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="Scale of the case."
)
@click.option(
    "--require", "required", multiple=True, help="Thresholds instead of the case's, e.g. 'p99 < 10ms, lost == 0'."
)
@click.option(
    "--allow", "allowed", multiple=True, metavar="KIND[,...]",
    help=f"Deviations that do not fail a try: {', '.join(DECIDING)}.",
)  # fmt: skip
@click.option("--start-rate", type=float, help="First rate to try. Default: half of the case's planned rate.")
@click.option("--max-rate", type=float, help="Highest rate to try. Default: the engine's calibrated ceiling.")
@click.option(
    "--resolution",
    default=0.05,
    show_default=True,
    help="Stop when the highest rate that held and the lowest that failed are this close.",
)
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1), help="Repeat the search this many times."
)
@click.option(
    "--out", default=DEFAULT_OUT, show_default=True, type=click.Path(path_type=Path), help="Folder for campaigns."
)
@click.option("--campaign", help="Name of the campaign's folder.")
@click.option("--pin", "pins", multiple=True, metavar="ROLE=CPUS", help="CPUs of a role: server=0, engine=1,2-3.")
@bed_option
@click.option("--option", "server_options", multiple=True, metavar="NAME=VALUE", help="Option of the server adapter.")
@reaching_options
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
@override_options
@monitor_options
def command(scenario: str, server: str, size: Size, **settings: Any) -> int:
    """Find the highest rate, or number of publishers, at which SCENARIO holds on a server.

    Ramps from below, brackets, bisects, and confirms the answer with a full-length run. Every try is a run of
    the campaign and can be looked at. Ends with 0 when a peak was confirmed, 8 when none was, 130 when interrupted.
    """
    allowed = read_allowed(settings["allowed"])
    found = [case for each in choose(scenario) for case in search_cases(each, size, read_overrides(settings))]
    cases = [case.changed(lambda plan: allowing(plan, allowed)) for case in found]
    with monitoring(settings) as monitor:
        options = _options(settings, monitor)
        outcome = search(
            cases, server, settings["out"], campaign=settings["campaign"], options=options, listener=_listener(),
            tell=tell,
        )  # fmt: skip
        _show(outcome, named=settings["campaign"] is not None, as_json=settings["as_json"])
        return int(exit_code(outcome))


def _options(settings: dict[str, Any], monitor: Monitor | None) -> SearchOptions:
    return SearchOptions(
        required=settings["required"],
        start_rate=settings["start_rate"],
        max_rate=settings["max_rate"],
        resolution=settings["resolution"],
        repeat=settings["repeat"],
        runs=CampaignOptions(
            pins=parse_pins(settings["pins"]),
            server_options=named_values(settings["server_options"]),
            source_addresses=read_addresses(settings["source_addresses"]),
            server_metrics=tuple(split(settings["server_metrics"])),
            monitor=monitor,
            bed=read_bed(settings["bed"]) if settings["bed"] else None,
        ),
    )


def _listener() -> RunListener:
    """The live view for a terminal; in a log one line for each try is enough."""
    return choose_view(as_json=False) if sys.stderr.isatty() else Silence()


def exit_code(outcome: SearchOutcome) -> ExitCode:
    """Of the whole search."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.PASSED if outcome.found else ExitCode.NO_VERDICT


def next_step(outcome: SearchOutcome, *, named: bool) -> str:
    """One line: the command that follows. A campaign that the user `named` is there now: its name is taken."""
    if not outcome.interrupted:
        return report_step(outcome.folder)
    tries = sum(len(peak.tries) for result in outcome.results for peak in result.peaks)
    again = f"the same command{' with another --campaign' if named else ''} begins the search anew"
    if not tries:
        return f"next: {again}; {outcome.folder} has no finished try"
    return f"next: telemark report {outcome.folder} shows the tries made; {again}"


def _show(outcome: SearchOutcome, *, named: bool, as_json: bool) -> None:
    if as_json:
        records = [result.record().as_dict() for result in outcome.results]
        click.echo(json.dumps({"campaign": str(outcome.folder), "results": records}))
        return
    for result in outcome.results:
        say(f"{result.suite}/{result.scenario} {result.point} on {result.server}, size {result.size}:")
        for sentence in answer(result.record()):
            say(f"  {sentence}")
    tell(next_step(outcome, named=named))
