"""The command line: parse, call one function, map the error to an exit code.

Every command is one file of this package with one click command in it. Commands are imported when they are
asked for, so that `telemark list` does not pay for what `telemark run` needs.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Sequence

import click

from telemark import __version__
from telemark.errors import ConfigError, ExitCode, TelemarkError
from telemark.host.cache import cache_folder
from telemark.host.text import visible

# command -> module of telemark.cli that defines a click command named `command`
COMMANDS: dict[str, str] = {
    "list": "list",
    "show": "show",
    "plan": "plan",
    "run": "run",
    "load": "load",
    "search": "search",
    "rate": "rate",
    "calibrate": "calibrate",
    "servers": "servers",
    "loopback": "loopback",
    "doctor": "doctor",
    "bed": "bed",
    "analyze": "analyze",
    "verify": "verify",
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


WHERE_TO_BEGIN = """\
Telemark benchmarks MQTT servers: it simulates the devices, records every
message, and judges the result.

Where to begin:
  telemark load --host HOST      a quick test of a server that runs already
  telemark load --server loopback
                                 the same against the built-in server
  telemark list                  published test cases to run on your server
  telemark servers               servers Telemark can start by itself
  telemark doctor                how many devices this host can carry
  telemark --help                all commands
"""


@click.group(
    cls=LazyCommands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="telemark")
@click.pass_context
def telemark(context: click.Context) -> None:
    """Benchmark MQTT servers: simulate the devices, record every message, judge the result."""
    if context.invoked_subcommand is None:
        click.echo(WHERE_TO_BEGIN, nl=False)


def show_error(error: TelemarkError) -> None:
    """Print one error for a person: the message, every problem, the remedy. All to stderr."""
    click.echo(visible(f"error: {error.message}"), err=True)
    for problem in error.problems if isinstance(error, ConfigError) else ():
        click.echo(visible(f"  - {problem}"), err=True)
    if error.hint:
        click.echo(visible(f"hint: {error.hint}"), err=True)


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
    except BrokenPipeError:  # `telemark list | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitCode.INTERRUPTED
    except Exception as error:  # a defect must not look like a failed threshold
        click.echo(visible(f"error: internal error: {type(error).__name__}: {without_logins(str(error))}"), err=True)
        click.echo(visible(f"hint: please report it with {save_traceback()}"), err=True)
        code = ExitCode.INTERNAL_ERROR
    sys.exit(int(code))


def save_traceback() -> str:
    """Keep the traceback for a report: where it is. It has no arguments, no variables and no logins of URLs."""
    words = f"telemark {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    file = cache_folder() / "errors" / time.strftime("%Y%m%d-%H%M%S.txt")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(words + without_logins(traceback.format_exc()), encoding="utf-8")
    except OSError as error:
        return f"the traceback, which could not be saved: {error}"
    return str(file)


def without_logins(text: str) -> str:
    """The text with `mqtt://user:password@host` shortened to `mqtt://host`."""
    return re.sub(r"://[^/@\s]+@", "://", text)
