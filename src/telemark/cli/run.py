"""`telemark run`: scenarios against servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import click

from telemark.catalog import plan_points
from telemark.cli.choosing import choose
from telemark.cli.overriding import override_options, read_overrides
from telemark.cli.running import make_runs, shared_options
from telemark.cli.sweeping import split_servers
from telemark.errors import ConfigError
from telemark.model.plan import Profile, RunPlan, Size


@click.command("run")
@click.argument("scenario")
@click.option(
    "--server",
    "servers",
    multiple=True,
    default=("loopback",),
    show_default=True,
    metavar="SERVER[,...]",
    help="Name or mqtt URL; several are measured one after the other.",
)
@click.option(
    "--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="Scale of the case."
)
@override_options
@click.option(
    "--profile",
    type=click.Choice(get_args(Profile)),
    help="How safely the server stores messages, instead of the case's own profile.",
)
@shared_options
def command(scenario: str, servers: tuple[str, ...], size: Size, profile: Profile | None, **settings: Any) -> int:
    """Run SCENARIO (SUITE, SUITE/CASE, or a scenario file) and print its score card.

    Ends with 0 when every threshold passed, 1 when one failed, 8 without a verdict, 130 when interrupted;
    docs/reference has all exit codes.
    """
    chosen = choose(scenario)
    overrides = read_overrides(settings)
    points = [plan for each in chosen for plan in plan_points(each, size, overrides)]
    if profile is not None:
        points = [replace(point, profile=profile) for point in points]
    settings["skip_unable"] = len(chosen) > 1
    return make_runs(refuse_empty(points, scenario), split_servers(servers), settings)


def refuse_empty(points: list[RunPlan], scenario: str) -> list[RunPlan]:
    """A scenario without points is a mistake in its file."""
    if not points:
        raise ConfigError(f"{scenario} has no point to run at this size")
    return points
