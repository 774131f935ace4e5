"""`telemark show`: one scenario in words and in numbers, and where it was published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import click
from rich.console import Console

from telemark.catalog import PublishedResult, Scenario, Suite, plan_points
from telemark.cli.choosing import choose_in_catalog
from telemark.cli.printing import print_table, print_text
from telemark.errors import ConfigError
from telemark.model.plan import RunPlan, Size


@click.command("show")
@click.argument("scenario")
@click.option(
    "--size", type=click.Choice(get_args(Size)), help="Only this size. Default: quick; with --all every size."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also show parameter meanings, notes, and the report's hardware and results.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(scenario: str, size: Size | None, everything: bool, as_json: bool) -> None:
    """Show SUITE/CASE: what it does, its parameters, its load and its rules.

    With --all also everything that does not fit a screen: every size, and what was published.
    """
    catalog, chosen = choose_in_catalog(scenario)
    if len(chosen) > 1:
        names = tuple(each.id for each in chosen)
        raise ConfigError(f"{scenario} has {len(chosen)} scenarios, expected one", problems=names)
    one = chosen[0]
    sizes = (size,) if size else one.sizes if everything or as_json else one.sizes[:1]
    plans = {each: plan_points(one, each) for each in sizes}
    if as_json:
        click.echo(json.dumps(_facts(one, plans), indent=2))
        return
    console = Console()
    _print_words(console, one, catalog.suite(one.suite), everything=everything)
    for each, points in plans.items():
        _print_size(console, one, each, points, everything=everything)
    if everything:
        _print_published(console, one.published)
    else:
        console.print()
        print_text(
            console,
            f"sizes: {', '.join(one.sizes)}; {len(one.published)} published values; everything: "
            f"telemark show {scenario} --all",
        )


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


def _print_words(console: Console, scenario: Scenario, suite: Suite, *, everything: bool) -> None:
    print_text(console, f"{scenario.id}: {scenario.title}")
    console.print()
    if scenario.about:
        print_text(console, scenario.about)
        console.print()
    print_text(console, f"published in: {suite.title} ({suite.source}, {suite.date}); {scenario.where}", hanging="  ")
    for line in suite.hardware if everything else ():
        print_text(console, f"measured on: {line}", hanging="  ")
    if scenario.search:
        print_text(console, "a maximum: `telemark search` finds it; `telemark run` sends at the planned rate")


def _print_size(
    console: Console, scenario: Scenario, size: Size, points: Sequence[RunPlan], *, everything: bool
) -> None:
    console.print()
    print_text(console, f"--size {size}: {len(points)} point{'s' if len(points) != 1 else ''}")
    rows = [(name, values, _meaning(scenario, name)) for name, values in _parameters(points).items()]
    if everything:
        print_table(console, ("parameter", "values", "meaning"), rows, wrap="meaning")
    else:
        print_text(console, "; ".join(f"{name} {values}" for name, values, _ in rows), "  ")
    for line in (*_group_lines(points[0]), *_rule_lines(points[0], everything=everything)):
        print_text(console, line, "  ", "    ")
    for note in dict.fromkeys(note for plan in points for note in plan.notes) if everything else ():
        print_text(console, f"note: {note}", "  ", "    ")


def _parameters(points: Sequence[RunPlan]) -> dict[str, str]:
    """Every value of each parameter, in the order of the points."""
    return {
        name: ", ".join(dict.fromkeys(str(plan.parameters[name]) for plan in points)) for name in points[0].parameters
    }


def _meaning(scenario: Scenario, name: str) -> str:
    return "part of the name" if name in scenario.case else scenario.meanings.get(name, "")


def _group_lines(plan: RunPlan) -> list[str]:
    """What the groups of one point do, in words; the first point stands for the others."""
    lines = [f"at {plan.point}:"]
    for group in plan.groups:
        session = "clean session" if group.clean_start else "durable session"
        lines.append(
            f"{group.count:,} x {group.name}: MQTT {group.version}, {session}, listener {' and '.join(group.endpoints)}"
        )
        lines += [f"- subscribes to {each.filter} at QoS {each.qos}" for each in group.subscriptions]
        if group.publish:
            lines.append(f"- publishes {group.publish.size} B to {group.publish.topic} at QoS {group.publish.qos}")
    if plan.consumers:
        lines.append(f"{plan.consumers.count:,} x {plan.consumers.describe()}")
    for listener in plan.listeners:
        facts = [
            "unencrypted" if listener.security == "none" else listener.security,
            listener.tls_version and f"TLS {listener.tls_version}",
            listener.cipher,
        ]
        if listener.socket_buffer:
            facts.append(f"socket buffer {listener.socket_buffer:,} B")
        lines.append(f"listener {listener.name}: {', '.join(fact for fact in facts if fact)}")
    return lines


def _rule_lines(plan: RunPlan, *, everything: bool) -> list[str]:
    phases = plan.phases
    options = ", ".join(f"{name}={value}" for name, value in plan.server_options.items())
    lines = [
        f"load: {plan.load.shape}: {plan.load.describe()}",
        f"phases: connect at {plan.connect_rate:,.0f}/s, hold {phases.hold_s:g} s, warm-up {phases.warmup_s:g} s, "
        f"measure {phases.measure_s:g} s, drain up to {phases.drain_timeout_s:g} s",
        f"rules: {', '.join(plan.thresholds) or 'none'}",
        f"needs: {', '.join(sorted(plan.needs))}; profile {plan.profile}",
    ]
    return [*lines, f"server options: {options}"] if options and everything else lines


def _print_published(console: Console, results: Sequence[PublishedResult]) -> None:
    if not results:
        return
    console.print()
    print_text(console, "published:")
    rows = [
        (
            " ".join(f"{name}={value}" for name, value in result.parameters.items()),
            result.server,
            result.metric,
            f"{result.value:,g}",
            result.unit,
            result.source,
            result.note,
        )
        for result in results
    ]
    columns = ("point", "server", "metric", "value", "unit", "source", "note")
    print_table(console, columns, rows, right=("value",))
