"""`telemark list`: what is in the catalogue."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from telemark.catalog import Scenario, Suite
from telemark.cli.choosing import load_named
from telemark.cli.printing import print_table, print_text


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
        _print_suite(console, suite)
    print_text(console, "telemark show SUITE/CASE describes a case, telemark run SUITE/CASE runs it.")


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
    return [name for name in (scenario.consumers, "ha-pair" if scenario.needs_ha else None) if name]


def _print_suite(console: Console, suite: Suite) -> None:
    """The suite's name stands once, above its cases: with it in every row the table would not fit 80 columns."""
    print_text(console, f"{suite.name}: {suite.title} ({suite.source}, {suite.date})", hanging="  ")
    rows = [
        (
            scenario.name,
            scenario.measures,
            " ".join(_special_needs(scenario)) or "-",
            str(len(scenario.published)) if scenario.published else "-",
        )
        for scenario in suite.scenarios
    ]
    print_table(console, ("case", "measures", "needs", "published"), rows, right=("published",))
    console.print()
