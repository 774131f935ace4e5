"""`telemark run`: scenarios against servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import click

from telemark.catalog import plan_points
from telemark.cli.choosing import choose
from telemark.cli.overriding import override_options, read_overrides
from telemark.cli.running import make_runs, shared_options
from telemark.errors import ConfigError
from telemark.model.plan import Profile, RunPlan, Size


@click.command("run")
@click.argument("scenario")
@click.option("--server", "servers", multiple=True, default=("loopback",), show_default=True, help="Name or mqtt URL.")
@click.option("--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="How large.")
@override_options
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
    chosen = choose(scenario)
    overrides = read_overrides(settings)
    points = [plan for each in chosen for plan in plan_points(each, size, overrides)]
    if profile is not None:
        points = [replace(point, profile=profile) for point in points]
    settings["skip_unable"] = len(chosen) > 1
    return make_runs(refuse_empty(points, scenario), servers, settings)


def refuse_empty(points: list[RunPlan], scenario: str) -> list[RunPlan]:
    """A scenario without points is a mistake in its file."""
    if not points:
        raise ConfigError(f"{scenario} has no point to run at this size")
    return points
