"""`telemark plan`: a dry run. What a run would need, and whether this host has it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from telemark.catalog import plan_points
from telemark.catalog.estimate import Estimate, doubts, estimate, obstacles
from telemark.catalog.host import HostFacts, read_host
from telemark.cli.choosing import choose
from telemark.cli.overriding import override_options, read_overrides
from telemark.model.capabilities import CAPABILITIES
from telemark.model.plan import RunPlan, Size
from telemark.servers import registry
from telemark.servers.contract import ServerAdapter


@dataclass(frozen=True, slots=True)
class Answer:
    """One point, what it needs, and what stands in its way."""

    plan: RunPlan
    needed: Estimate
    obstacles: tuple[str, ...]
    doubts: tuple[str, ...]


@click.command("plan")
@click.argument("scenario")
@click.option("--size", type=click.Choice(get_args(Size)), default="quick", show_default=True, help="How large.")
@click.option("--server", help="Name or mqtt URL: also tell whether it can run the scenario.")
@override_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(scenario: str, size: Size, server: str | None, as_json: bool, **settings: Any) -> None:
    """Plan SCENARIO (SUITE, SUITE/CASE or a scenario file) without running it.

    Shows devices, topics, rates, engine processes, open files and memory of every point, and whether this host can.
    """
    host = read_host()
    adapter = registry.make(server) if server else None
    overrides = read_overrides(settings)
    plans = [plan for each in choose(scenario) for plan in plan_points(each, size, overrides)]
    answers = [_answer(plan, host, adapter) for plan in plans]
    if as_json:
        click.echo(json.dumps({"host": asdict(host), "points": [_facts(each) for each in answers]}, indent=2))
        return
    _print(Console(), answers, host, size)


def _answer(plan: RunPlan, host: HostFacts, adapter: ServerAdapter | None) -> Answer:
    needed = estimate(plan, host)
    found = obstacles(plan, needed, host) if adapter is None or adapter.name != "remote" else []
    if adapter is not None:
        found += _server_obstacles(plan, adapter)
    return Answer(plan, needed, tuple(found), tuple(doubts(plan, needed, host)))


def _server_obstacles(plan: RunPlan, adapter: ServerAdapter) -> list[str]:
    lacking = sorted(plan.needs - adapter.capabilities())
    found = [f"{adapter.name} lacks {CAPABILITIES.get(name, name)} ({name})" for name in lacking]
    availability = adapter.availability()
    if not availability.available:
        found.append(f"{adapter.name} is not installed: {availability.how_to_get}")
    return found


def _facts(answer: Answer) -> dict[str, Any]:
    return {
        "plan": answer.plan.as_dict(),
        "needed": asdict(answer.needed),
        "can": not answer.obstacles,
        "obstacles": list(answer.obstacles),
        "doubts": list(answer.doubts),
    }


def _print(console: Console, answers: Sequence[Answer], host: HostFacts, size: Size) -> None:
    for scenario in dict.fromkeys(answer.plan.scenario for answer in answers):
        points = [answer for answer in answers if answer.plan.scenario == scenario]
        console.print(_table(f"{points[0].plan.suite}/{scenario} --size {size}", points))
        for word, lines in (
            ("cannot", [line for answer in points for line in answer.obstacles]),
            ("doubtful", [line for answer in points for line in answer.doubts]),
        ):
            for line in _one_of_each(lines):
                console.print(f"  {word}: {escape(line)}", highlight=False)
        for note in dict.fromkeys(note for answer in points for note in answer.plan.notes):
            console.print(f"  note: {escape(note)}", highlight=False)
        console.print()
    able = sum(not answer.obstacles for answer in answers)
    seconds = sum(answer.needed.seconds for answer in answers)
    facts = (
        f"{host.cores} cores, {host.memory_bytes / 2**30:.1f} GiB free, {host.limits.open_files:,} files per process"
    )
    length = _bound(answers) + _duration(seconds)
    console.print(
        f"this host ({facts}) can run {able} of {len(answers)} points; together they take {length} without draining",
        highlight=False,
    )


def _one_of_each(lines: Sequence[str]) -> list[str]:
    """The last of all lines that differ in numbers only: points grow, so it has the largest numbers."""
    return list({re.sub(r"[0-9.,]+", "#", line): line for line in lines}.values())


def _table(title: str, answers: Sequence[Answer]) -> Table:
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("point", overflow="fold")
    for column in ("devices", "topics", "in/s", "out/s", "processes", "files each", "memory", "time", "can"):
        table.add_column(column, justify="right", no_wrap=True)
    for answer in answers:
        needed = answer.needed
        table.add_row(
            escape(answer.plan.point),
            f"{needed.devices:,}" + (f" +{needed.consumers} JMS" if needed.consumers else ""),
            f"{needed.topics:,}",
            _rate(needed.messages_in),
            _rate(needed.messages_out),
            str(needed.processes),
            f"{needed.files_per_process:,}",
            f"{needed.memory_bytes / 2**20:,.0f} MiB",
            _bound([answer]) + _duration(needed.seconds),
            "no" if answer.obstacles else "yes",
        )
    return table


def _bound(answers: Sequence[Answer]) -> str:
    """A load with a limit ends when it is reached: its length is the longest it can take."""
    return "up to " if any(answer.plan.load.limit is not None for answer in answers) else ""


def _rate(value: float | None) -> str:
    return "closed loop" if value is None else f"{value:,.6g}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
