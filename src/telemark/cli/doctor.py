"""`telemark doctor`: can this host carry so many devices?"""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from telemark.errors import ExitCode
from telemark.runner.doctor import Finding, examine

_STYLE = {"ok": "green", "short": "bold red", "differs": "yellow", "unknown": "dim"}


@click.command("doctor")
@click.option(
    "--devices", default=10_000, show_default=True, type=click.IntRange(1), help="Devices of the run in mind."
)
@click.option(
    "--out", default="runs", show_default=True, type=click.Path(path_type=Path), help="Folder for the records."
)
@click.option("--all", "everything", is_flag=True, help="Also list what is as it should be.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(devices: int, out: Path, everything: bool, as_json: bool) -> int:
    """Limits and kernel settings: what they should be, what this host has, what fixes them. Changes nothing.

    Ends with code 4 when something is short for that many devices.
    """
    findings = examine(devices, out)
    short = [finding for finding in findings if finding.state == "short"]
    if as_json:
        content = {"devices": devices, "carries": not short, "findings": [finding.as_dict() for finding in findings]}
        click.echo(json.dumps(content, indent=2))
    else:
        show(findings if everything else [f for f in findings if f.state != "ok"], devices, len(findings))
    return ExitCode.MISSING_REQUIREMENT if short else ExitCode.PASSED


def show(findings: list[Finding], devices: int, total: int) -> None:
    """A table, then the commands alone so that they can be copied."""
    console = Console()
    table = Table(title=f"This host for {devices:,} devices", show_edge=False)
    table.add_column("setting", no_wrap=True)
    for heading in ("state", "should be", "is", "why it matters"):
        table.add_column(heading)
    for finding in findings:
        state = f"[{_STYLE[finding.state]}]{finding.state}[/]"
        table.add_row(escape(finding.name), state, *map(escape, (finding.should, finding.has, finding.why)))
    console.print(table)
    for state, title in (("short", "Needed (as root)"), ("differs", "As the reports had it (optional)")):
        fixes = [finding.fix for finding in findings if finding.state == state and finding.fix]
        if fixes:
            click.echo(f"\n{title}:")
            click.echo("\n".join(f"  {fix}" for fix in fixes))
    click.echo(f"\n{total} settings looked at, {sum(f.state == 'short' for f in findings)} short. Nothing was changed.")
