"""What `run` and `load` share: options, and what follows when the runs are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from telemark.cli.overriding import Value, typed
from telemark.errors import ConfigError, ExitCode
from telemark.runner import CampaignOptions, CampaignOutcome, run_campaign
from telemark.runner.pinning import parse_pins
from telemark.runner.view import choose_view
from telemark.store.layout import DEFAULT_OUT

Command = TypeVar("Command", bound=Callable[..., Any])

_VERDICT_CODES = {"pass": ExitCode.PASSED, "fail": ExitCode.THRESHOLD_FAILED, "no verdict": ExitCode.NO_VERDICT}

_SHARED = (
    click.option("--repeat", default=1, show_default=True, type=click.IntRange(1), help="Make every run so often."),
    click.option("--out", default=DEFAULT_OUT, show_default=True, type=click.Path(path_type=Path), help="Where to."),
    click.option("--campaign", help="Name of the campaign's folder; made from time and suite when left out."),
    click.option("--pin", "pins", multiple=True, metavar="ROLE=CPUS", help="server=0, engine=1,2-3 or consumer=3."),
    click.option("--processes", default=0, help="Engine processes; 0: as few as this host's limits allow."),
    click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="Threads of each of them."),
    click.option(
        "--option", "server_options", multiple=True, metavar="NAME=VALUE", help="Option of the server adapter."
    ),
    click.option("--no-analyze", is_flag=True, help="Only record; `telemark analyze` can follow any time."),
    click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout: progress, then the result."),
)


def shared_options(command: Command) -> Command:
    """The options both commands have."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def make_runs(points: Sequence[Any], servers: Sequence[str], settings: dict[str, Any]) -> int:
    """Run, analyze, print the score card; the exit code of the whole.

    Args:
        points: the run plans.
        servers: names or URLs.
        settings: values of the shared options, and `resume`, `keep_going`, `skip_unable` where a command has them.
    """
    options = CampaignOptions(
        repeat=settings["repeat"],
        pins=parse_pins(settings["pins"]),
        resume=settings.get("resume", False),
        keep_going=settings.get("keep_going", False),
        skip_unable=settings.get("skip_unable", False),
        processes=settings["processes"],
        threads=settings["threads"],
        server_options=named_values(settings["server_options"]),
    )
    view = choose_view(as_json=settings["as_json"])
    outcome = run_campaign(
        points, servers, settings["out"], campaign=settings["campaign"], options=options, listener=view
    )
    if "resume" in settings and outcome.state != "complete":
        click.echo(f"campaign {outcome.state}; --campaign {outcome.campaign} --resume continues it", err=True)
    return conclude(outcome, analyze=not settings["no_analyze"], as_json=settings["as_json"])


def conclude(outcome: CampaignOutcome, *, analyze: bool, as_json: bool) -> int:
    """What follows the runs. An interrupted campaign is not analyzed: the user wants to stop now."""
    verdict = None
    if analyze and outcome.state != "interrupted" and any(run.state == "complete" for run in outcome.runs):
        verdict = analyze_and_print(outcome.folder, as_json=as_json)
    code = outcome.exit_code or (_VERDICT_CODES[verdict] if verdict else ExitCode.PASSED)
    if as_json:
        runs = [{"run": run.run, "state": run.state, "reason": run.reason} for run in outcome.runs]
        result: dict[str, Any] = {
            "is": "campaign",
            "campaign": outcome.campaign,
            "folder": str(outcome.folder),
            "runs": runs,
        }
        result |= {"state": outcome.state, "skipped": outcome.skipped, "verdict": verdict, "exit_code": int(code)}
        click.echo(json.dumps(result))
    return int(code)


def analyze_and_print(folder: Path, *, as_json: bool) -> str:
    """Spark and the report are imported only here: a command that does not need them must not pay for them."""
    from telemark.pipeline import analyze  # noqa: PLC0415
    from telemark.report.build import build_report  # noqa: PLC0415
    from telemark.report.console import print_score_card  # noqa: PLC0415

    click.echo("analyzing ...", err=True)
    analyze([folder])
    if as_json:
        return build_report([folder]).verdict
    return print_score_card(folder, Console())


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
