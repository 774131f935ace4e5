"""`telemark bed`: the hosts of a bed file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from telemark.bed.bed_file import read_bed
from telemark.bed.check import HostCheck, check_bed
from telemark.bed.pack import pack
from telemark.cli.printing import print_table, print_text, tell
from telemark.errors import ExitCode

_NUMBERS = ("cores", "GiB free", "files", "ports", "Java", "clock s", "+- ms")


@click.group("bed")
def command() -> None:
    """Several machines as one bed: check their hosts, pack what they need."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def check(file: Path, as_json: bool) -> int:
    """Look at every host of the bed FILE: reachable, cores, memory, limits, addresses, Java, versions, clock.

    Spark starts an agent on each host for a moment; nothing else is started. Ends with 11 when a host cannot be
    reached, with 4 when one lacks something, else with 0.
    """
    checks = check_bed(read_bed(file), tell)
    if as_json:
        click.echo(json.dumps({"hosts": [each.as_dict() for each in checks]}, indent=2))
    else:
        show(checks, Console())
    if not all(each.reachable for each in checks):
        return int(ExitCode.HOST_LOST)
    return int(ExitCode.MISSING_REQUIREMENT if any(each.problems for each in checks) else ExitCode.PASSED)


@command.command("pack")
@click.option(
    "-o", "--output", default="telemark-bed.tar.gz", show_default=True, type=click.Path(path_type=Path),
    help="The archive to write.",
)  # fmt: skip
def pack_archive(output: Path) -> int:
    """Make one archive of telemark and all it needs, for hosts where it is not installed.

    Name it with `archive` in the bed file: Spark brings it to the hosts. They need the same Python version, and Java.
    """
    packages = pack(output)
    click.echo(f"{output}: {output.stat().st_size / 2**20:.0f} MiB, {', '.join(packages)}")
    return int(ExitCode.PASSED)


def show(checks: Sequence[HostCheck], console: Console) -> None:
    """What every host has, then where it stands and with what software, then what is wrong."""
    found = [each for each in checks if each.facts is not None]
    if found:
        print_table(console, ("host", *_NUMBERS), [_numbers(each) for each in found], right=_NUMBERS)
        click.echo()
        print_table(console, ("host", "roles", "addresses"), [_places(each) for each in found], wrap="addresses")
        click.echo()
        print_table(console, ("host", "telemark", "Python", "pyarrow", "kernel"), [_software(each) for each in found])
        click.echo()
    problems = [f"{each.host}: {problem}" for each in checks for problem in each.problems]
    for text in problems:
        print_text(console, text, hanging="  ")
    reached = f"{len(found)} of {len(checks)} hosts reached"
    click.echo(f"{reached}, {len(problems)} problem{'' if len(problems) == 1 else 's'}")


def _numbers(check: HostCheck) -> list[str]:
    facts = check.facts or {}
    return [
        check.host,
        str(facts["cores"]),
        f"{facts['memory_bytes'] / 2**30:.1f}",
        f"{facts['open_files']:,}",
        f"{facts['source_ports']:,}",
        str(facts["java"] or "-"),
        f"{(check.clock_offset_ns or 0) / 1e9:+,.3f}",
        f"{(check.clock_error_ns or 0) / 1e6:.3f}",
    ]


def _places(check: HostCheck) -> list[str]:
    return [check.host, ", ".join(check.roles), ", ".join((check.facts or {})["addresses"])]


def _software(check: HostCheck) -> list[str]:
    facts = check.facts or {}
    versions = [str(facts["versions"].get(name, "-")) for name in ("telemark", "python", "pyarrow")]
    return [check.host, *versions, str(facts["host"]["kernel"])]
