"""Writes docs/reference from the code, so that the reference cannot drift from what the program does.

python docs/generate.py           rewrite the pages
python docs/generate.py --check   exit 1 and name the pages that are out of date
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

REFERENCE = Path(__file__).parent / "reference"
DASHBOARDS = "../monitoring/grafana/dashboards"


def command_line() -> str:
    """Every command with its help, as `telemark COMMAND --help` prints it."""
    from telemark.cli.main import COMMANDS, telemark  # noqa: PLC0415 - commands load what they need

    lines = ["# Command line", "", _exit_codes(), ""]
    context = click.Context(telemark, info_name="telemark", max_content_width=100)
    for name in sorted(COMMANDS):
        command = telemark.get_command(context, name)
        if command is None:
            raise SystemExit(f"{name}: listed in COMMANDS but not found")
        lines += _command(command, click.Context(command, info_name=name, parent=context, max_content_width=100))
    return "\n".join(lines)


def _command(command: click.Command, context: click.Context) -> list[str]:
    lines = [f"## {context.command_path}", "", "```text", command.get_help(context), "```", ""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                lines += _command(child, click.Context(child, info_name=name, parent=context, max_content_width=100))
    return lines


def _exit_codes() -> str:
    from telemark.errors import ExitCode  # noqa: PLC0415

    rows = [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    return "\n".join(["Exit codes:", "", "| code | meaning |", "|---|---|", *rows])


def pages() -> dict[str, Callable[[], str]]:
    """Page name -> function that writes it."""
    import report_coverage  # noqa: PLC0415 - the file beside this one

    from telemark.bed.bed_file import bed_file  # noqa: PLC0415
    from telemark.catalog.describe import scenario_file  # noqa: PLC0415
    from telemark.report import json_schema  # noqa: PLC0415
    from telemark.runner.monitor import dashboards, metrics  # noqa: PLC0415
    from telemark.store.describe import health, result_tables, run_folder  # noqa: PLC0415

    return {
        "command-line.md": command_line,
        "scenario-file.md": scenario_file,
        "bed-file.md": bed_file,
        "run-folder.md": run_folder,
        "result-tables.md": result_tables,
        "health.md": health,
        "monitoring.md": metrics.reference_page,
        "score-card.schema.json": json_schema.render,
        "../coverage.md": report_coverage.page,
        **{
            f"../monitoring/grafana/dashboards/{board.name}.json": partial(dashboards.render, board)
            for board in dashboards.BOARDS
        },
    }


def main(check: bool) -> int:
    """Write the pages, or with `check` only compare them."""
    stale = []
    for name, page in pages().items():
        text = page().rstrip() + "\n"
        path = REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    verb = "out of date" if check else "written"
    print("\n".join(f"{verb}: docs/reference/{name}" for name in stale), file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
