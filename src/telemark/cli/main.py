"""The command line: parse, call one function, map the error to an exit code.

Every command is one file of this package with one click command in it. Commands are imported when they are
asked for, so that `telemark list` does not pay for what `telemark run` needs.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from telemark import __version__
from telemark.errors import ConfigError, ExitCode, TelemarkError

# command -> module of telemark.cli that defines a click command named `command`
COMMANDS: dict[str, str] = {
    "list": "list",
    "show": "show",
    "plan": "plan",
    "run": "run",
    "load": "load",
    "search": "search",
    "calibrate": "calibrate",
    "servers": "servers",
    "loopback": "loopback",
    "doctor": "doctor",
    "analyze": "analyze",
    "sql": "sql",
    "report": "report",
    "compare": "compare",
    "serve": "serve",
}


class LazyCommands(click.Group):
    """Finds a command's module only when the command is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"telemark.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="telemark")
def telemark() -> None:
    """Benchmark MQTT servers: simulate the devices, record every message, judge the result."""


def show_error(error: TelemarkError) -> None:
    """Print one error for a person: the message, every problem, the remedy. All to stderr."""
    click.echo(f"error: {error.message}", err=True)
    for problem in error.problems if isinstance(error, ConfigError) else ():
        click.echo(f"  - {problem}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `telemark` program."""
    try:
        result = telemark.main(args=arguments, prog_name="telemark", standalone_mode=False)
        code = result if isinstance(result, int) else ExitCode.PASSED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except TelemarkError as error:
        show_error(error)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = ExitCode.INTERRUPTED
    sys.exit(int(code))
