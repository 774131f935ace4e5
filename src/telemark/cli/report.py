"""`telemark report`: the score card of campaigns, on the terminal or as a file."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from telemark.cli.printing import tell
from telemark.errors import ConfigError, ExitCode
from telemark.report import console, html, json_card, junit, markdown
from telemark.report.build import build_report
from telemark.report.model import Problem, Report

FORMATS = ("console", "html", "markdown", "json", "junit")
BY_SUFFIX = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".xml": "junit", ".txt": "console"}


@click.command("report")
@click.argument("campaigns", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write; its extension chooses the format."
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Format, when the file's extension does not tell it."
)
@click.option("--title", default="", help="Title of the report; default: the names of the campaigns.")
def command(campaigns: tuple[Path, ...], output: Path | None, form: str | None, title: str) -> int:
    """Show the score card of CAMPAIGNS (folders that `telemark run` made): on the terminal, or as a file.

    A report.html is one file that works offline; .md is for pull requests, .json for machines, .xml (JUnit) for CI.
    Ends with code 7 when a folder could not be read; the others are shown all the same.
    """
    form = form or chosen_form(output)
    report = build_report(campaigns, title)
    if form == "console" and output is None:
        console.print_report(report, Console())
    else:
        deliver(render(report, form), output)
    if form != "console":
        tell_problems(report.problems)
    return ExitCode.BAD_DATA if report.problems else ExitCode.PASSED


def chosen_form(output: Path | None) -> str:
    """The form a file name asks for; the terminal when there is no file."""
    if output is None:
        return "console"
    try:
        return BY_SUFFIX[output.suffix.lower()]
    except KeyError:
        raise ConfigError(
            f"--output: {output.name!r} does not tell the format, expected the extension {', '.join(BY_SUFFIX)}",
            hint=f"or name it: --format {'|'.join(FORMATS)}",
        ) from None


def render(report: Report, form: str) -> str:
    """The report as text in one of the forms."""
    renderers = {
        "html": html.render,
        "markdown": markdown.render,
        "json": json_card.render,
        "junit": junit.render,
        "console": console.render,
    }
    return renderers[form](report)


def deliver(text: str, output: Path | None) -> None:
    """Write to the file, or to stdout when there is none."""
    if output is None or str(output) == "-":
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output: {output} cannot be written: {error.strerror}") from error
    tell(f"wrote {output} ({len(text.encode()) / 1e6:.1f} MB)")


def tell_problems(problems: tuple[Problem, ...]) -> None:
    """Say on stderr which folders are missing from the report."""
    for problem in problems:
        tell(f"not shown: {problem.folder}: {problem.message}")
        if problem.hint:
            tell(f"hint: {problem.hint}")
