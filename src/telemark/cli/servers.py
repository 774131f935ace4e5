"""`telemark servers`: what can be measured here, and how to get the rest."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from telemark.cli.printing import print_table, print_text
from telemark.errors import ConfigError
from telemark.servers import registry
from telemark.servers.contract import CAPABILITIES

PROFILES = ("memory", "durable", "fsync")


@click.group(name="servers", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="The same as JSON on standard output.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the servers: available here, version, capabilities, how to get the rest."""
    if context.invoked_subcommand is not None:
        return
    rows = [describe(name) for name in registry.names()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        print_rows(rows)


@command.command()
@click.argument("name")
def install(name: str) -> None:
    """Fetch a server's programs into the cache, or say how to install them."""
    if name in ("remote", *registry.SCHEMES):
        raise ConfigError("remote is any server that runs already: there is nothing to install")
    adapter = registry.make(name)
    adapter.prepare()
    click.echo(f"{name} {adapter.availability().version or ''} is ready", err=True)


def describe(name: str) -> dict[str, Any]:
    """Everything known about one server without starting it."""
    adapter = registry.make(name)
    found = adapter.availability()
    return {
        "name": name,
        "available": found.available,
        "version": found.version,
        "capabilities": [each for each in CAPABILITIES if each in adapter.capabilities()],
        "profiles": {profile: adapter.profile_note(profile) for profile in PROFILES},  # type: ignore[arg-type]
        "how_to_get": found.how_to_get,
    }


def print_rows(rows: list[dict[str, Any]]) -> None:
    """The list for people."""
    cells = [
        (row["name"], row["version"] or "-", "yes" if row["available"] else "no", ", ".join(row["capabilities"]))
        for row in rows
    ]
    console = Console()
    print_table(console, ("server", "version", "here", "capabilities"), cells, wrap="capabilities")
    for row in rows:
        if not row["available"]:
            print_text(console, f"{row['name']}: {row['how_to_get']}", hanging="  ")
