"""`telemark calibrate`: the engine's own ceiling on this host."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from telemark.bed.bed_file import BedFile, read_bed
from telemark.campaigns.calibrate import calibrate, stored_for
from telemark.cli.printing import print_table, print_text, tell
from telemark.cli.running import bed_option
from telemark.errors import ExitCode
from telemark.runner.view import choose_view
from telemark.store.documents.calibration import Calibration, Figure, read_calibration
from telemark.store.documents.reading import required


@click.command("calibrate")
@click.option("--show", is_flag=True, help="Only show the calibration that is stored.")
@bed_option
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(show: bool, bed: Path | None, as_json: bool) -> int:
    """Measure what the engine can do on this host or bed, against the built-in server under every load shape.

    Takes under two minutes on an otherwise idle host. Later runs there print their headroom against it.
    """
    hosts = read_bed(bed) if bed else None
    calibration = _stored(hosts) if show else calibrate(choose_view(as_json=False), tell, hosts)
    if calibration is None:
        click.echo("there is no calibration; run: telemark calibrate", err=True)
        return int(ExitCode.NO_VERDICT)
    if as_json:
        click.echo(json.dumps(asdict(calibration)))
    else:
        _print(calibration)
    return int(ExitCode.PASSED)


def _stored(bed: BedFile | None) -> Calibration | None:
    return stored_for(bed, tell) if bed else required(read_calibration())


def _print(calibration: Calibration) -> None:
    console = Console()
    print_text(console, f"Calibration of {calibration.host}, {calibration.made_at}")
    numbers = ("rate/s", "p50 ms", "p99 ms", "stdev ms", "lost")
    print_table(console, ("what", "traffic", *numbers), [_cells(each) for each in calibration.figures], right=numbers)


def _cells(figure: Figure) -> list[str]:
    times = (figure.latency_p50_us, figure.latency_p99_us, figure.latency_stdev_us)
    what = f"{figure.kind} {figure.shape}" if figure.kind == "shape" else figure.kind
    security = "plain" if figure.security == "none" else figure.security
    traffic = security if figure.kind == "connect" else f"QoS {figure.qos} {security} {figure.payload} B"
    return [
        what,
        traffic,
        "-" if figure.rate is None else f"{figure.rate:,.0f}",
        *("-" if time is None else f"{time / 1000:,.2f}" for time in times),
        "-" if figure.lost is None else str(figure.lost),
    ]
