"""What `run` and `load` share: options, and what follows when the runs are made."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from telemark.bed.bed_file import read_bed
from telemark.campaigns import CampaignOptions, CampaignOutcome
from telemark.campaigns.run import Finished, run
from telemark.cli.monitoring import MONITOR_OPTIONS, monitoring
from telemark.cli.overriding import Value, typed
from telemark.cli.printing import tell
from telemark.cli.sweeping import split
from telemark.errors import ConfigError, ExitCode
from telemark.model.plan import RunPlan
from telemark.runner.monitor import Monitor
from telemark.runner.pinning import parse_pins
from telemark.runner.view import choose_view
from telemark.store.layout import DEFAULT_OUT
from telemark.verdicts.judge import DECIDING
from telemark.verdicts.thresholds import parse_threshold

Command = TypeVar("Command", bound=Callable[..., Any])

_VERDICT_CODES = {"pass": ExitCode.PASSED, "fail": ExitCode.THRESHOLD_FAILED, "no verdict": ExitCode.NO_VERDICT}

bed_option = click.option(
    "--bed", type=click.Path(path_type=Path), help="File that names the hosts to run on. Default: this host."
)

# How devices reach a server, and how it is watched from afar.
source_addresses_option = click.option(
    "--source-addresses", metavar="ADDRESS[,...]", help="Local addresses that devices connect from, in turn."
)
REACHING = (
    source_addresses_option,
    click.option(
        "--server-metrics",
        multiple=True,
        metavar="URL[,...]",
        help="Prometheus pages of a server named by its URL: of node_exporter on its host, and of the server itself.",
    ),
)

_SHARED = (
    click.option(
        "--repeat", default=1, show_default=True, type=click.IntRange(1), help="Repeat each run this many times."
    ),
    click.option(
        "--out", default=DEFAULT_OUT, show_default=True, type=click.Path(path_type=Path), help="Folder for campaigns."
    ),
    click.option("--campaign", help="Name of the campaign's folder. Default: made from time and suite."),
    click.option("--resume", is_flag=True, help="Continue --campaign: finished runs are not repeated."),
    click.option("--keep-going", is_flag=True, help="Go on with the next run when one fails."),
    click.option(
        "--allow",
        "allowed",
        multiple=True,
        metavar="KIND[,...]",
        help=f"Deviations that do not fail a run: {', '.join(DECIDING)}.",
    ),
    click.option("--pin", "pins", multiple=True, metavar="ROLE=CPUS", help="CPUs of a role: server=0, engine=1,2-3."),
    click.option("--processes", default=0, help="Number of engine processes; 0: as few as this host's limits allow."),
    click.option(
        "--threads", default=1, show_default=True, type=click.IntRange(1), help="Threads of each engine process."
    ),
    bed_option,
    *REACHING,
    click.option(
        "--option", "server_options", multiple=True, metavar="NAME=VALUE", help="Option of the server adapter."
    ),
    click.option(
        "--profile-threads", is_flag=True, help="Profile the busiest server thread with perf; the report draws it."
    ),
    click.option("--no-analyze", is_flag=True, help="Only record; `telemark analyze` can follow any time."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout: the result."),
    click.option("--json-progress", is_flag=True, help="Print JSON lines on stdout: progress, then the result."),
)


def shared_options(command: Command) -> Command:
    """The options both commands have."""
    for option in reversed((*_SHARED, *MONITOR_OPTIONS)):
        command = option(command)
    return command


def reaching_options(command: Command) -> Command:
    """--source-addresses and --server-metrics."""
    for option in reversed(REACHING):
        command = option(command)
    return command


def make_runs(points: Sequence[RunPlan], servers: Sequence[str], settings: dict[str, Any]) -> int:
    """Run, analyze, print the score card; the exit code of the whole.

    Args:
        points: the run plans.
        servers: names or URLs.
        settings: values of the shared options, and `skip_unable` where a command has it.
    """
    if settings["resume"] and not settings["campaign"]:
        raise ConfigError("--resume needs --campaign NAME", hint="the name is that of the campaign's folder")
    with monitoring(settings) as monitor:
        finished = run(
            [allowing(point, read_allowed(settings["allowed"])) for point in points],
            servers,
            settings["out"],
            campaign=settings["campaign"],
            options=_options(settings, monitor),
            listener=choose_view(as_json=settings["json_progress"]),
            analyze=not settings["no_analyze"],
            tell=tell,
        )
        if monitor is not None:
            monitor.hold = finished.outcome.state != "interrupted"
        return conclude(finished, as_json=settings["as_json"] or settings["json_progress"])


def _options(settings: dict[str, Any], monitor: Monitor | None) -> CampaignOptions:
    return CampaignOptions(
        repeat=settings["repeat"],
        pins=parse_pins(settings["pins"]),
        resume=settings["resume"],
        keep_going=settings["keep_going"],
        skip_unable=settings.get("skip_unable", False),
        processes=settings["processes"],
        threads=settings["threads"],
        server_options=named_values(settings["server_options"]),
        source_addresses=read_addresses(settings["source_addresses"]),
        server_metrics=tuple(split(settings["server_metrics"])),
        bed=read_bed(settings["bed"]) if settings["bed"] else None,
        profile_threads=settings["profile_threads"],
        monitor=monitor,
    )


def read_addresses(given: str | None) -> tuple[str, ...]:
    """Source addresses, by commas."""
    found = tuple(split([given])) if given else ()
    for text in found:
        try:
            ipaddress.ip_address(text)
        except ValueError as error:
            raise ConfigError(f"--source-addresses: {text} is not an IP address") from error
    return found


def read_allowed(given: Sequence[str]) -> tuple[str, ...]:
    """The kinds of deviations a user accepts, by commas and repetition."""
    allowed = split(given)
    unknown = [name for name in allowed if name not in DECIDING]
    if unknown:
        raise ConfigError(f"--allow is {', '.join(unknown)}, expected {', '.join(DECIDING)}")
    return tuple(allowed)


def allowing(plan: RunPlan, allowed: Sequence[str]) -> RunPlan:
    """The plan without the rules about what is allowed."""
    kept = tuple(text for text in plan.thresholds if parse_threshold(text).metric.name not in allowed)
    return replace(plan, allow=tuple(allowed), thresholds=kept)


def conclude(finished: Finished, *, as_json: bool) -> int:
    """Print what came of the campaign and the next step; the exit code of the whole."""
    outcome = finished.outcome
    verdict = _judge(outcome.folder, as_json=as_json) if finished.analysed else None
    code = outcome.exit_code or (_VERDICT_CODES[verdict] if verdict else ExitCode.PASSED)
    if as_json:
        click.echo(json.dumps(_facts(outcome, verdict, code)))
    else:
        tell(next_step(finished))
    return int(code)


def next_step(finished: Finished) -> str:
    """One line: the command that follows."""
    outcome = finished.outcome
    if outcome.state != "complete":
        return f"next: the same command with --campaign {outcome.campaign} --resume continues the campaign"
    if not finished.analysed:
        return f"next: telemark analyze {outcome.folder}"
    return report_step(outcome.folder)


def report_step(folder: Path) -> str:
    """After what is complete and analysed."""
    return f"next: telemark report {folder} -o report.html makes a page with all charts"


def _judge(folder: Path, *, as_json: bool) -> str:
    """Print the score card unless a program reads; the campaign's verdict. The report is imported when it is needed."""
    from telemark.report.build import build_report  # noqa: PLC0415
    from telemark.report.console import print_score_card  # noqa: PLC0415

    return build_report([folder]).verdict if as_json else print_score_card(folder, Console())


def _facts(outcome: CampaignOutcome, verdict: str | None, code: ExitCode) -> dict[str, Any]:
    return {
        "is": "campaign",
        "campaign": outcome.campaign,
        "folder": str(outcome.folder),
        "runs": [{"run": run.run, "state": run.state, "reason": run.reason} for run in outcome.runs],
        "state": outcome.state,
        "skipped": outcome.skipped,
        "verdict": verdict,
        "exit_code": int(code),
    }


def named_values(texts: Sequence[str]) -> dict[str, Value]:
    """`name=value` texts; numbers and true/false become what they look like."""
    values: dict[str, Value] = {}
    problems = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            problems.append(f"found {text!r}, expected NAME=VALUE")
        values[name] = typed(value)
    if problems:
        raise ConfigError(problems[0], problems=tuple(problems[1:]))
    return values
