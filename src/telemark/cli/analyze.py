"""`telemark analyze`: make the result tables of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from telemark.cli.printing import say, tell
from telemark.errors import ExitCode

if TYPE_CHECKING:
    from telemark.pipeline import AnalysisReport


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="RUN_OR_CAMPAIGN...")
@click.option("--master", help="Spark master, for example spark://host:7077. Default: all cores of this host.")
@click.option("--out", help="Put results under this folder or URL instead of into the campaign's folder.")
@click.option("--again", is_flag=True, help="Analyse again runs that already have results.")
def command(paths: tuple[str, ...], master: str | None, out: str | None, again: bool) -> int:
    """Make the result tables of runs: latency, integrity, resources, points.

    Takes run folders, campaign folders, patterns, or any URL that Spark can read. Runs that already have
    results are skipped. Prints the result folders.
    """
    from telemark.pipeline import analyze  # noqa: PLC0415 - Spark is loaded when it is needed

    bar = Progress(
        TextColumn("analysing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting Spark", total=None)
        report = analyze(
            paths,
            master=master,
            out=out and (out if "://" in out else Path(out)),
            again=again,
            progress=lambda done, total, text: bar.update(task, completed=done, total=total, description=text),
        )
    return show(report)


def show(report: AnalysisReport) -> int:
    """Print where the results are, and every run that has none; the exit code says whether there was one."""
    for folder in report.results:
        say(folder)
    tell(f"analysed {len(report.analysed)}, already done {len(report.skipped)}")
    for folder, problem in report.problems.items():
        tell(f"error: {folder}: {problem.message}")
        if problem.hint:
            tell(f"hint: {problem.hint}")
    return ExitCode.BAD_DATA if report.problems else ExitCode.PASSED
