"""`telemark calibrate`: the engine's own ceiling on this host."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from telemark.errors import ExitCode
from telemark.runner.calibrate.measure import calibrate
from telemark.runner.calibrate.record import Calibration, Figure, load
from telemark.runner.view import choose_view


@click.command("calibrate")
@click.option("--show", is_flag=True, help="Only show the calibration that is stored.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(show: bool, as_json: bool) -> int:
    """Measure what the engine can do on this host, against the built-in server under every load shape.

    Takes under two minutes on an otherwise idle host. Later runs print their headroom against it.
    """
    calibration = load() if show else _measure()
    if calibration is None:
        click.echo("this host is not calibrated; run: telemark calibrate", err=True)
        return int(ExitCode.NO_VERDICT)
    if as_json:
        click.echo(json.dumps(asdict(calibration)))
    else:
        _print(calibration)
    return int(ExitCode.PASSED)


def _measure() -> Calibration:
    from telemark.pipeline import analyze  # noqa: PLC0415 - Spark is loaded when it is needed

    def analyze_campaign(folder: Path) -> None:
        click.echo("analyzing ...", err=True)
        analyze([folder])

    calibration = calibrate(choose_view(as_json=False), analyze_campaign)
    click.echo(f"stored in {calibration.save()}", err=True)
    return calibration


def _print(calibration: Calibration) -> None:
    title = f"Calibration of {calibration.host}, {calibration.made_at}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("what", "traffic", "rate/s", "p50 ms", "p99 ms", "stdev ms", "lost"):
        table.add_column(name, justify="left" if name in ("what", "traffic") else "right", no_wrap=True)
    for figure in calibration.figures:
        table.add_row(*_cells(figure))
    Console().print(table)


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
