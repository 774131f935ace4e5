"""`telemark list`: what is in the catalogue."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from telemark.catalog import Scenario, Suite
from telemark.cli.choosing import load_named


@click.command("list")
@click.argument("files", nargs=-1, metavar="[FILE.toml]...")
@click.option("--suite", "suite_name", help="Only this suite.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(files: tuple[str, ...], suite_name: str | None, as_json: bool) -> None:
    """List suites and their scenarios; scenario files of your own are listed with them."""
    catalog = load_named(files)
    suites = [catalog.suite(suite_name)] if suite_name else list(catalog.suites.values())
    if as_json:
        click.echo(json.dumps([_suite_facts(suite) for suite in suites], indent=2))
        return
    console = Console()
    for suite in suites:
        console.print(
            f"[bold]{escape(suite.name)}[/bold]: {escape(suite.title)} ({escape(suite.source)}, {suite.date})"
        )
        console.print(_suite_table(suite))
        console.print()


def _suite_facts(suite: Suite) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "title": suite.title,
        "source": suite.source,
        "date": suite.date,
        "scenarios": [_scenario_facts(scenario) for scenario in suite.scenarios],
    }


def _scenario_facts(scenario: Scenario) -> dict[str, Any]:
    return {
        "scenario": scenario.id,
        "title": scenario.title,
        "measures": scenario.measures,
        "sizes": list(scenario.sizes),
        "special_needs": _special_needs(scenario),
        "published_values": len(scenario.published),
    }


def _special_needs(scenario: Scenario) -> list[str]:
    return [name for name, needed in (("jms", scenario.uses_jms), ("ha-pair", scenario.needs_ha)) if needed]


def _suite_table(suite: Suite) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("scenario", "measures", "needs", "published"):
        table.add_column(column, no_wrap=column == "scenario", justify="right" if column == "published" else "left")
    for scenario in suite.scenarios:
        published = str(len(scenario.published)) if scenario.published else "-"
        table.add_row(scenario.id, scenario.measures, " ".join(_special_needs(scenario)) or "-", published)
    return table
