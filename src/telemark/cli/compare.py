"""`telemark compare`: the same points of two campaigns, or of two servers, side by side with a verdict each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from telemark.errors import ConfigError, NotComparableError
from telemark.report.compare import Comparison, Wanted, compare, open_side, refuse
from telemark.report.compare.render import to_console, to_json, to_markdown


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.option("--metric", "metrics", multiple=True, help="Compare only this metric, e.g. p99 or rate; repeatable.")
@click.option("--tolerance", help="Ignore differences up to this, e.g. 5%; required for single runs.")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="NAME=A:B",
    help="Compare A's points with NAME=A with B's points with NAME=B, e.g. rate=1000:2000; repeatable.",
)
@click.option("--force", is_flag=True, help="Compare even what is not comparable; the result says so.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a Markdown table.")
def command(a: str, b: str, **settings: Any) -> int:
    """Compare campaign B with the baseline A. Each is a campaign folder, or FOLDER:SERVER for one server of it.

    Ends with 0 when nothing is worse, 1 when something is, 8 when something could not be judged, and 10 when the two
    are not comparable (other host, size, profile or plan, or no point in common). Points are compared with the same
    points; as --map pairs them; or, when each side has only one, these two.
    """
    if settings["as_json"] and settings["as_markdown"]:
        raise ConfigError("--json and --markdown exclude each other", hint="leave one out")
    wanted = Wanted(settings["metrics"], parse_tolerance(settings["tolerance"]), parse_mapping(settings["mapping"]))
    comparison = compare(open_side(a), open_side(b), wanted)
    if not comparison.lines:
        raise _nothing_in_common(comparison)
    if comparison.differs and not settings["force"]:
        raise refuse(list(comparison.differs))
    if settings["as_json"]:
        click.echo(to_json(comparison), nl=False)
    elif settings["as_markdown"]:
        click.echo(to_markdown(comparison), nl=False)
    else:
        to_console(comparison, Console())
    return int(comparison.exit_code)


def _nothing_in_common(comparison: Comparison) -> NotComparableError:
    sides = (("A", comparison.only_a), ("B", comparison.only_b))
    points = "; ".join(f"{side} has {', '.join(names[:3]) or 'nothing'}" for side, names in sides)
    return NotComparableError(
        f"the two have no point in common: {points}", hint="pair them by a parameter: --map rate=1000:2000"
    )


def parse_mapping(texts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """`rate=1000:2000` as {"rate": ("1000", "2000")}."""
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        ours, colon, theirs = values.partition(":")
        if not (name and ours and colon and theirs):
            raise ConfigError(f"--map: found {text!r}, expected NAME=A:B, for example rate=1000:2000")
        found[name] = (ours, theirs)
    return found


def parse_tolerance(text: str | None) -> float | None:
    """`5%` or `0.05` as a share."""
    if text is None:
        return None
    try:
        value = float(text.rstrip("% ")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise ConfigError(f"--tolerance: found {text!r}, expected a share like 5% or 0.05")
    return value
