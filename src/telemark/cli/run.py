"""`telemark run`: scenarios against servers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from telemark.catalog import Scenario, load, plan_points
from telemark.cli.running import Value, make_runs, named_values, number_or_text, shared_options
from telemark.errors import ConfigError
from telemark.model.plan import Profile, RunPlan, Size

# Options that set a parameter of the scenario; several values separated by commas make a sweep.
_PARAMETERS = ("publishers", "qos", "rate", "payload", "duration")


@click.command("run")
@click.argument("scenario")
@click.option("--server", "servers", multiple=True, default=("loopback",), show_default=True, help="Name or mqtt URL.")
@click.option("--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="How large.")
@click.option("--publishers", help="Number of publishers; commas make a sweep.")
@click.option("--qos", help="QoS 0, 1 or 2; commas make a sweep.")
@click.option("--rate", help="Messages a second, all publishers together; commas make a sweep.")
@click.option("--payload", help="Bytes of a message, at least 32; commas make a sweep.")
@click.option("--duration", help="Seconds that are measured.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Any other parameter of the scenario.")
@click.option(
    "--profile", type=click.Choice(get_args(Profile)), help="memory, durable or fsync, whatever the case asks."
)
@click.option("--resume", is_flag=True, help="Continue --campaign: finished runs are not repeated.")
@click.option("--keep-going", is_flag=True, help="Go on with the next run when one fails.")
@shared_options
def command(scenario: str, servers: tuple[str, ...], size: Size, profile: Profile | None, **settings: Any) -> int:
    """Run SCENARIO (SUITE, SUITE/CASE, or a scenario file) and print its score card.

    Ends with 0 when every threshold passed, 1 when one failed, 8 without a verdict, 130 when interrupted;
    docs/reference has all exit codes.
    """
    if settings["resume"] and not settings["campaign"]:
        raise ConfigError("--resume needs --campaign NAME", hint="the name is that of the campaign's folder")
    chosen = select(scenario)
    overrides = read_overrides(settings)
    points = [plan for each in chosen for plan in plan_points(each, size, overrides)]
    if profile is not None:
        points = [replace(point, profile=profile) for point in points]
    settings["skip_unable"] = len(chosen) > 1
    return make_runs(refuse_empty(points, scenario), servers, settings)


def select(text: str) -> tuple[Scenario, ...]:
    """The scenarios a command-line word names: SUITE, SUITE/CASE, FILE.toml or FILE.toml/CASE."""
    file, dot, case = text.partition(".toml")
    if not dot:
        return load().select(text)
    path = Path(file + dot)
    catalog = load([path])
    suite = next((each for each in catalog.suites.values() if Path(each.file).name == path.name), None)
    if suite is None:
        raise ConfigError(f"{path} holds no suite")
    return catalog.select(f"{suite.name}{case}")


def read_overrides(settings: dict[str, Any]) -> dict[str, Value | list[Value]]:
    """Parameters given on the command line; `4000,8000` becomes a list."""
    overrides: dict[str, Value | list[Value]] = dict(named_values(settings["parameters"]))
    for name in _PARAMETERS:
        if settings[name] is not None:
            values = [number_or_text(part) for part in settings[name].split(",")]
            overrides[name] = values if len(values) > 1 else values[0]
    return overrides


def refuse_empty(points: list[RunPlan], scenario: str) -> list[RunPlan]:
    """A scenario without points is a mistake in its file."""
    if not points:
        raise ConfigError(f"{scenario} has no point to run at this size")
    return points
