"""`telemark show`: one scenario in words and in numbers, and where it was published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from telemark.catalog import PublishedResult, Scenario, Suite, plan_points
from telemark.cli.choosing import choose_in_catalog
from telemark.errors import ConfigError
from telemark.model.plan import RunPlan, Size

# What is worth saying about a load, by its shape.
_SHAPE_FACTS: dict[str, tuple[str, ...]] = {
    "idle": (),
    "paced": ("rate", "arrivals", "limit"),
    "batched": ("batch", "period_ms", "partitions", "limit"),
    "windowed": ("window", "refill", "limit"),
    "every": ("every_s", "limit"),
    "burst": ("rate", "burst_rate", "burst_s", "burst_every_s", "limit"),
    "steps": ("steps", "limit"),
}


@click.command("show")
@click.argument("scenario")
@click.option("--size", type=click.Choice(get_args(Size)), help="Only this size; all sizes when left out.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(scenario: str, size: Size | None, as_json: bool) -> None:
    """Show SUITE/CASE: what it does, its parameters at each size, its rules, and what was published."""
    catalog, chosen = choose_in_catalog(scenario)
    if len(chosen) > 1:
        names = tuple(each.id for each in chosen)
        raise ConfigError(f"{scenario} has {len(chosen)} scenarios, expected one", problems=names)
    one = chosen[0]
    plans = {each: plan_points(one, each) for each in ((size,) if size else one.sizes)}
    if as_json:
        click.echo(json.dumps(_facts(one, plans), indent=2))
        return
    console = Console()
    _print_words(console, one, catalog.suite(one.suite))
    for each, points in plans.items():
        _print_size(console, one, each, points)
    if one.published:
        console.print()
        console.print(_published_table(one.published))


def _facts(scenario: Scenario, plans: Mapping[Size, Sequence[RunPlan]]) -> dict[str, Any]:
    return {
        "scenario": scenario.id,
        "title": scenario.title,
        "about": scenario.about,
        "where": scenario.where,
        "measures": scenario.measures,
        "searched": scenario.search,
        "case": dict(scenario.case),
        "parameters": dict(scenario.meanings),
        "sizes": {size: [plan.as_dict() for plan in points] for size, points in plans.items()},
        "published": [_published_facts(result) for result in scenario.published],
    }


def _published_facts(result: PublishedResult) -> dict[str, Any]:
    return {
        "parameters": dict(result.parameters),
        "server": result.server,
        "metric": result.metric,
        "value": result.value,
        "unit": result.unit,
        "source": result.source,
        "note": result.note,
    }


def _print_words(console: Console, scenario: Scenario, suite: Suite) -> None:
    console.print(f"[bold]{escape(scenario.id)}[/bold]  {escape(scenario.title)}\n")
    if scenario.about:
        console.print(escape(scenario.about) + "\n")
    source = f"{suite.title} ({suite.source}, {suite.date})"
    console.print(f"published in: {escape(source)}; {escape(scenario.where)}", highlight=False)
    for line in suite.hardware:
        console.print(f"measured on:  {escape(line)}", highlight=False)
    if scenario.search:
        console.print("a maximum:    `telemark search` finds it; `telemark run` sends at the planned rate")


def _print_size(console: Console, scenario: Scenario, size: Size, points: Sequence[RunPlan]) -> None:
    console.print(f"\n[bold]--size {size}[/bold]: {len(points)} point{'s' if len(points) != 1 else ''}")
    console.print(_parameter_table(scenario, points))
    first = points[0]
    for line in (*_group_lines(first), *_rule_lines(first)):
        console.print(f"  {escape(line)}", highlight=False)
    for note in dict.fromkeys(note for plan in points for note in plan.notes):
        console.print(f"  note: {escape(note)}", highlight=False)


def _parameter_table(scenario: Scenario, points: Sequence[RunPlan]) -> Table:
    table = Table("parameter", "values", "meaning", box=None, pad_edge=False, padding=(0, 2))
    for name in points[0].parameters:
        values = dict.fromkeys(str(plan.parameters[name]) for plan in points)
        meaning = "part of the name" if name in scenario.case else scenario.meanings.get(name, "")
        table.add_row(f"  {name}", escape(", ".join(values)), escape(meaning))
    return table


def _group_lines(plan: RunPlan) -> list[str]:
    """What the groups of one point do, in words; the first point stands for the others."""
    lines = [f"at {plan.point}:"]
    for group in plan.groups:
        session = "clean session" if group.clean_start else "durable session"
        lines.append(
            f"{group.count:,} x {group.name}: MQTT {group.version}, {session}, listener {' and '.join(group.endpoints)}"
        )
        lines += [f"    subscribes to {each.filter} at QoS {each.qos}" for each in group.subscriptions]
        if group.publish:
            lines.append(f"    publishes {group.publish.size} B to {group.publish.topic} at QoS {group.publish.qos}")
    if plan.consumers:
        each = plan.consumers
        lines.append(
            f"{each.count:,} x JMS consumer: {each.subscription} subscription to {each.topic}, acknowledges "
            f"{each.acknowledge}, every {each.acknowledge_every}, prefetch {each.prefetch:,}"
            + (", over TLS" if each.tls else "")
        )
    for listener in plan.listeners:
        facts = [listener.security, listener.tls_version and f"TLS {listener.tls_version}", listener.cipher]
        if listener.socket_buffer:
            facts.append(f"socket buffer {listener.socket_buffer:,} B")
        lines.append(f"listener {listener.name}: {', '.join(fact for fact in facts if fact)}")
    return lines


def _rule_lines(plan: RunPlan) -> list[str]:
    phases = plan.phases
    names = _SHAPE_FACTS[plan.load.shape]
    shown = ", ".join(f"{name} {getattr(plan.load, name)}" for name in names if getattr(plan.load, name) is not None)
    options = ", ".join(f"{name}={value}" for name, value in plan.server_options.items())
    lines = [
        f"load: {plan.load.shape}{' with ' + shown if shown else ''}",
        f"phases: connect at {plan.connect_rate:,.0f}/s, hold {phases.hold_s:g} s, warm-up {phases.warmup_s:g} s, "
        f"measure {phases.measure_s:g} s, drain up to {phases.drain_timeout_s:g} s",
        f"rules: {', '.join(plan.thresholds) or 'none'}",
        f"needs: {', '.join(sorted(plan.needs))}; profile {plan.profile}",
    ]
    return [*lines, f"server options: {options}"] if options else lines


def _published_table(results: Sequence[PublishedResult]) -> Table:
    table = Table(title="published", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("point", "server", "metric", "value", "unit", "source", "note"):
        table.add_column(column, justify="right" if column == "value" else "left", overflow="fold")
    for result in results:
        point = " ".join(f"{name}={value}" for name, value in result.parameters.items())
        cells = (point, result.server, result.metric, f"{result.value:,g}", result.unit, result.source, result.note)
        table.add_row(*(escape(cell) for cell in cells))
    return table
