"""`telemark doctor`: can this host carry so many devices?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from telemark.bed.bed_file import read_bed
from telemark.bed.doctor import examine_bed
from telemark.cli.printing import print_text, tell
from telemark.cli.running import bed_option
from telemark.errors import ExitCode
from telemark.runner.doctor import Finding, examine
from telemark.store.layout import DEFAULT_OUT


@click.command("doctor")
@click.option(
    "--devices", default=10_000, show_default=True, type=click.IntRange(1), help="Number of devices to check for."
)
@click.option(
    "--out", default=DEFAULT_OUT, show_default=True, type=click.Path(path_type=Path), help="Folder for the records."
)
@click.option("--all", "everything", is_flag=True, help="Show every setting, including those that need no change.")
@bed_option
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(devices: int, out: Path, everything: bool, bed: Path | None, as_json: bool) -> int:
    """Check whether this host or bed can carry a given number of devices: limits and kernel settings. Changes nothing.

    Ends with code 4 when a setting falls short of what the devices need.
    """
    if bed is not None:
        return _examine_bed(bed, devices, everything=everything, as_json=as_json)
    findings = examine(devices, out)
    short = [finding for finding in findings if finding.state == "short"]
    if as_json:
        content = {"devices": devices, "carries": not short, "findings": [finding.as_dict() for finding in findings]}
        click.echo(json.dumps(content, indent=2))
    else:
        show(findings, devices, everything=everything)
    return ExitCode.MISSING_REQUIREMENT if short else ExitCode.PASSED


def _examine_bed(bed: Path, devices: int, *, everything: bool, as_json: bool) -> int:
    """The same for every host of a bed."""
    hosts = examine_bed(read_bed(bed), devices, tell)
    short = any(finding.state == "short" for host in hosts for finding in host.findings)
    if as_json:
        click.echo(
            json.dumps({"devices": devices, "carries": not short, "hosts": [asdict(host) for host in hosts]}, indent=2)
        )
    else:
        for host in hosts:
            click.echo(f"{host.host}:")
            show(host.findings, host.devices, everything=everything)
            click.echo()
    return ExitCode.MISSING_REQUIREMENT if short else ExitCode.PASSED


def show(findings: Sequence[Finding], devices: int, *, everything: bool) -> None:
    """The answer first, then what falls short with the command that changes it."""
    console = Console()
    short = [finding for finding in findings if finding.state == "short"]
    click.echo(f"fit for {devices:,} devices: {'no' if short else 'yes'}")
    for finding in findings if everything else short:
        _show(console, finding)
    differing = sum(finding.state == "differs" for finding in findings)
    if differing and not everything:
        print_text(
            console,
            f"{len(findings)} settings checked; {differing} differ from what the published benchmarks used, which is "
            "optional: telemark doctor --all",
        )


def _show(console: Console, finding: Finding) -> None:
    click.echo()
    print_text(console, f"{finding.state}: {finding.name} is {finding.has}, should be {finding.should}")
    print_text(console, finding.why, "  ")
    if finding.fix:
        click.echo(f"  {finding.fix}")  # never wrapped: it is copied
