"""`telemark plan`: a dry run. What a run would need, and whether this host has it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import click
from rich.console import Console

from telemark.bed.bed_file import read_bed
from telemark.catalog import plan_points
from telemark.catalog.estimate import Estimate, doubts, estimate, obstacles
from telemark.catalog.scale import Load, Scale, scale
from telemark.cli.choosing import choose
from telemark.cli.overriding import override_options, read_overrides
from telemark.cli.printing import print_table, print_text
from telemark.cli.running import bed_option, named_values, read_addresses, source_addresses_option
from telemark.errors import TelemarkError
from telemark.host.facts import host_facts
from telemark.host.limits import HostFacts, read_host
from telemark.model.plan import RunPlan, Size
from telemark.model.slicing import Place
from telemark.runner.calibrate.record import for_run, load_for_runs
from telemark.runner.feasible import planned_endpoints, why_impossible
from telemark.servers import registry
from telemark.servers.contract import ServerAdapter
from telemark.servers.local import LocalServer


@dataclass(frozen=True, slots=True)
class Answer:
    """One point, what it needs, and why this host or server cannot run it."""

    plan: RunPlan
    needed: Estimate
    obstacles: tuple[str, ...]
    doubts: tuple[str, ...]
    scale: Scale  # hosts like this one that the load takes


@click.command("plan")
@click.argument("scenario")
@click.option(
    "--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="Scale of the case."
)
@click.option("--server", help="Name or mqtt URL: also say whether this server can run the scenario.")
@click.option("--option", "server_options", multiple=True, metavar="NAME=VALUE", help="Option of the server adapter.")
@source_addresses_option
@bed_option
@override_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(scenario: str, size: Size, server: str | None, as_json: bool, **settings: Any) -> None:
    """Plan SCENARIO (SUITE, SUITE/CASE or a scenario file) without running it.

    Shows devices, topics, rates, engine processes, open files and memory of every point, and whether this host can
    run it.
    """
    host = read_host()
    adapter = registry.make(server, named_values(settings["server_options"])) if server else None
    places = _places(settings, host)
    overrides = read_overrides(settings)
    plans = [plan for each in choose(scenario) for plan in plan_points(each, size, overrides)]
    answers = [_answer(plan, host, adapter, places) for plan in plans]
    if as_json:
        click.echo(json.dumps({"host": asdict(host), "points": [_facts(each) for each in answers]}, indent=2))
        return
    _print(Console(), answers, host, size)
    if settings["bed"]:
        most = max((answer.scale.hosts for answer in answers), default=1)
        print_text(Console(), f"the bed has {len(places)} hosts with devices, {most} like this one are needed")


def _places(settings: Mapping[str, Any], host: HostFacts) -> list[Place]:
    """Hosts with devices: of the bed, taken to be like this one until they have answered (`telemark bed check`)."""
    own = read_addresses(settings["source_addresses"])
    if not settings["bed"]:
        return [Place(limits=host.limits, source_addresses=own)]
    places = [
        Place(each.host, host.limits, "publishers" in each.roles, "subscribers" in each.roles,
              each.source_addresses or own)
        for each in read_bed(settings["bed"]).hosts
    ]  # fmt: skip
    return [place for place in places if place.publishers or place.subscribers]


def _scale(plan: RunPlan, needed: Estimate, host: HostFacts, destinations: int) -> Scale:
    ceiling = for_run(plan, str(host_facts()["fingerprint"]), load_for_runs())["ceiling_rate"]
    tls = any(listener.security != "none" for listener in plan.listeners)
    load = Load(needed.devices, needed.messages_in or 0.0, needed.messages_out or 0.0, tls, destinations)
    return scale(load, host, ceiling)


def _destinations(plan: RunPlan, adapter: ServerAdapter | None) -> int:
    """Different addresses of the server; 1 when they cannot be known."""
    try:
        found = planned_endpoints(plan, adapter) if adapter is not None else {}
    except TelemarkError:
        return 1
    return max(1, len({(endpoint.host, endpoint.port) for endpoint in found.values()}))


def _answer(plan: RunPlan, host: HostFacts, adapter: ServerAdapter | None, places: Sequence[Place]) -> Answer:
    needed = estimate(plan, host)
    found = obstacles(needed, host, server_here=isinstance(adapter, LocalServer | None))
    if adapter is not None:
        found += _server_obstacles(plan, adapter, places)
    scaled = _scale(plan, needed, host, _destinations(plan, adapter))
    return Answer(plan, needed, tuple(found), tuple(doubts(plan, needed, host)), scaled)


def _server_obstacles(plan: RunPlan, adapter: ServerAdapter, places: Sequence[Place]) -> list[str]:
    reason = why_impossible(plan, adapter, places)
    found = [reason] if reason else []
    availability = adapter.availability()
    if not availability.available:
        found.append(f"{adapter.name} is not installed: {availability.how_to_get}")
    return found


def _facts(answer: Answer) -> dict[str, Any]:
    return {
        "plan": answer.plan.as_dict(),
        "needed": asdict(answer.needed),
        "scale": asdict(answer.scale),
        "can": not answer.obstacles,
        "obstacles": list(answer.obstacles),
        "doubts": list(answer.doubts),
    }


def _print(console: Console, answers: Sequence[Answer], host: HostFacts, size: Size) -> None:
    for scenario in dict.fromkeys(answer.plan.scenario for answer in answers):
        points = [answer for answer in answers if answer.plan.scenario == scenario]
        print_text(console, f"{points[0].plan.suite}/{scenario} --size {size}")
        print_table(console, ("point", *_NUMBERS), [_cells(answer) for answer in points], right=_NUMBERS)
        largest = max(points, key=lambda answer: (answer.scale.hosts, answer.needed.devices))
        print_text(console, f"the largest takes {_scale_words(largest.scale)}", "  ", "    ")
        for word, lines in (
            ("cannot", [line for answer in points for line in answer.obstacles]),
            ("doubtful", [line for answer in points for line in answer.doubts]),
        ):
            for line in _one_of_each(lines):
                print_text(console, f"{word}: {line}", "  ", "    ")
        for note in dict.fromkeys(note for answer in points for note in answer.plan.notes):
            print_text(console, f"note: {note}", "  ", "    ")
        console.print()
    able = sum(not answer.obstacles for answer in answers)
    seconds = sum(answer.needed.seconds for answer in answers)
    facts = (
        f"{host.cores} cores, {host.memory_bytes / 2**30:.1f} GiB free, {host.limits.open_files:,} files per process"
    )
    length = _bound(answers) + _duration(seconds)
    print_text(
        console,
        f"this host ({facts}) can run {able} of {len(answers)} points; together they take {length} without draining",
    )


def _one_of_each(lines: Sequence[str]) -> list[str]:
    """The last of all lines that differ in numbers only: points grow, so it has the largest numbers."""
    return list({re.sub(r"[0-9.,]+", "#", line): line for line in lines}.values())


_NUMBERS = ("devices", "topics", "in/s", "out/s", "processes", "files each", "memory", "time", "can")


def _cells(answer: Answer) -> tuple[str, ...]:
    needed = answer.needed
    return (
        answer.plan.point,
        f"{needed.devices:,}" + _consumers(answer.plan),
        f"{needed.topics:,}",
        _rate(needed.messages_in),
        _rate(needed.messages_out),
        str(needed.processes),
        f"{needed.files_per_process:,}",
        f"{needed.memory_bytes / 2**20:,.0f} MiB",
        _bound([answer]) + _duration(needed.seconds),
        "no" if answer.obstacles else "yes",
    )


def _scale_words(found: Scale) -> str:
    hosts = f"{found.hosts:,} load host{'s' if found.hosts > 1 else ''} like this one (by {found.limited_by})"
    return (
        f"{hosts}, {found.processes:,} engine processes, {found.source_addresses:,} source addresses, "
        f"{found.memory_bytes / 2**30:,.1f} GiB, {found.record_bytes_per_hour / 1e9:,.1f} GB of records an hour, "
        f"{found.spark_cores:,} Spark cores to analyse them as fast"
    )


def _consumers(plan: RunPlan) -> str:
    return f" +{plan.consumers.count} {plan.consumers.kind}" if plan.consumers else ""


def _bound(answers: Sequence[Answer]) -> str:
    """A load with a limit ends when it is reached: its length is the longest it can take."""
    return "up to " if any(answer.plan.load.limit is not None for answer in answers) else ""


def _rate(value: float | None) -> str:
    return "closed loop" if value is None else f"{value:,.6g}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
