"""`telemark compare`: the same points of two campaigns, or of two servers, side by side with a verdict each."""

from __future__ import annotations

import click
from rich.console import Console

from telemark.errors import ConfigError
from telemark.report.compare import compare, open_side, refuse
from telemark.report.compare.render import to_console, to_json, to_markdown


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.option("--metric", "metrics", multiple=True, help="Compare only this metric, e.g. p99 or rate; repeatable.")
@click.option("--tolerance", help="A difference up to this, e.g. 5%, does not matter; needed for single runs.")
@click.option("--force", is_flag=True, help="Compare even what is not comparable; the result says so.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a Markdown table.")
def command(  # noqa: PLR0913, PLR0917 - one argument per option
    a: str, b: str, metrics: tuple[str, ...], tolerance: str | None, force: bool, as_json: bool, as_markdown: bool
) -> int:
    """Compare campaign B with the baseline A. Each is a campaign folder, or FOLDER:SERVER for one server of it.

    Ends with 0 when nothing is worse, 1 when something is, 8 when something could not be judged, and 10 when the two
    are not comparable (other host, size, profile or plan).
    """
    if as_json and as_markdown:
        raise ConfigError("--json and --markdown exclude each other", hint="leave one out")
    comparison = compare(open_side(a), open_side(b), metrics, parse_tolerance(tolerance))
    if comparison.differs and not force:
        raise refuse(list(comparison.differs))
    if not comparison.lines:
        raise ConfigError(
            "the two have no point in common", hint=f"A has: {', '.join(comparison.only_a[:3]) or 'nothing'}"
        )
    if as_json:
        click.echo(to_json(comparison), nl=False)
    elif as_markdown:
        click.echo(to_markdown(comparison), nl=False)
    else:
        to_console(comparison, Console())
    return int(comparison.exit_code)


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
