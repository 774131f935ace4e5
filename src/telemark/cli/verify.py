"""`telemark verify`: are the record files of runs as they were written?"""

from __future__ import annotations

from pathlib import Path

import click

from telemark.cli.printing import say, tell
from telemark.errors import ExitCode
from telemark.store.integrity import check
from telemark.store.layout import RunFolder, find_runs


@click.command("verify")
@click.argument("paths", nargs=-1, required=True, metavar="RUN_OR_CAMPAIGN...")
def command(paths: tuple[str, ...]) -> int:
    """Check the record files of runs against the sizes and digests in their run.json.

    Prints one line for each run. Ends with 7 when a file is missing, changed or added, or a run cannot be read.
    """
    found = find_runs(paths)
    problems = {folder: error.message for folder, error in found.problems.items()}
    for run in found.runs:
        problem = check(Path(run.folder), run.facts)
        if problem is not None:
            problems[run.folder] = problem.message
        else:
            say(f"{_state(run)}: {run.name}")
    for folder, message in problems.items():
        tell(f"damaged: {folder}: {message}")
    return ExitCode.BAD_DATA if problems else ExitCode.PASSED


def _state(run: RunFolder) -> str:
    if run.facts.files is None:
        return "no digests were recorded"
    return f"intact, {len(run.facts.files)} files"
