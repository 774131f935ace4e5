"""`telemark rate`: another rate for a run that is under way."""

from __future__ import annotations

from pathlib import Path

import click

from telemark.cli.printing import tell
from telemark.errors import DataError, ExitCode
from telemark.runner.conductor import RATE_LEAD_S
from telemark.runner.control import ask_rate
from telemark.store.layout import DEFAULT_OUT


@click.command("rate")
@click.argument("campaign", type=click.Path(path_type=Path))
@click.argument("rate", type=float)
@click.option(
    "--out", default=DEFAULT_OUT, show_default=True, type=click.Path(path_type=Path), help="Folder for campaigns."
)
def command(campaign: Path, rate: float, out: Path) -> int:
    """Change the rate of the paced run that CAMPAIGN (a folder, or its name) is making to RATE messages a second.

    All engine processes change at the same time, half a second from now. The change is an event in the records, and
    the intervals of the run tell what was before and after it.
    """
    folder = next((path for path in (campaign, out / campaign) if path.is_dir()), None)
    if folder is None:
        raise DataError(f"{campaign}: no campaign of that name here or in {out}")
    ask_rate(folder, rate)
    tell(f"{rate:,g} messages a second, from {RATE_LEAD_S:g} s after the order on")
    return ExitCode.PASSED
