"""Options that change a scenario's parameters; several values separated by commas make a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from telemark.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])
Value = str | int | float | bool

_HELP = {
    "publishers": "Number of publishers.",
    "subscribers": "Number of subscribers or consumers.",
    "qos": "QoS 0, 1 or 2.",
    "rate": "Messages a second, all publishers together.",
    "payload": "Bytes of a message, at least 32.",
    "duration": "Seconds that are measured.",
}


def override_options(command: Command) -> Command:
    """Add --publishers, --subscribers, --qos, --rate, --payload, --duration and --set NAME=VALUE."""
    command = click.option(
        "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Any parameter; commas make a sweep."
    )(command)
    for name, text in reversed(_HELP.items()):
        more = "" if name == "duration" else " Commas make a sweep."
        command = click.option(f"--{name}", help=text + more)(command)
    return command


def read_overrides(settings: Mapping[str, Any]) -> dict[str, Value | list[Value]]:
    """The parameters given on the command line; `4000,8000` becomes a list."""
    given = {name: settings[name] for name in _HELP if settings.get(name) is not None}
    problems = []
    for text in settings["parameters"]:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            problems.append(f"--set {text}: found {text!r}, expected NAME=VALUE")
        given[name] = value
    if problems:
        raise ConfigError(problems[0], problems=tuple(problems[1:]))
    return {name: _values(text) for name, text in given.items()}


def _values(text: str) -> Value | list[Value]:
    values = [typed(part) for part in text.split(",")]
    return values if len(values) > 1 else values[0]


def typed(text: str) -> Value:
    """Numbers and true/false become what they look like."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
