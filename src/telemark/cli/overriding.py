"""Options that change a scenario's parameters; several values make a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from telemark.cli.sweeping import several, split
from telemark.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])
Value = str | int | float | bool


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


_ANY_VALUE = click.types.FuncParamType(typed)  # the catalogue checks whether the parameter takes it
_HELP = {
    "publishers": "Number of publishers.",
    "subscribers": "Number of subscribers or consumers.",
    "qos": "QoS 0, 1 or 2.",
    "rate": "Messages a second, all publishers together.",
    "payload": "Bytes of a message, at least 32.",
}


def override_options(command: Command) -> Command:
    """Add --publishers, --subscribers, --qos, --rate, --payload, --duration and --set NAME=VALUE."""
    command = click.option(
        "--set", "parameters", multiple=True, metavar="NAME=VALUE[,...]",
        help="Any other parameter of the scenario. Several values make a sweep.",
    )(command)  # fmt: skip
    command = click.option("--duration", help="Seconds that are measured.")(command)
    for name, text in reversed(_HELP.items()):
        command = several(f"--{name}", _ANY_VALUE, f"{text} Several values make a sweep.")(command)
    return command


def read_overrides(settings: Mapping[str, Any]) -> dict[str, Value | list[Value]]:
    """The parameters given on the command line; several values become a list."""
    given: dict[str, list[Value]] = {name: list(settings[name]) for name in _HELP if settings.get(name)}
    if settings.get("duration") is not None:
        given["duration"] = [typed(settings["duration"])]
    problems = []
    for text in settings["parameters"]:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            problems.append(f"--set {text}: found {text!r}, expected NAME=VALUE")
        given[name] = [*given.get(name, []), *map(typed, split([value]))]
    if problems:
        raise ConfigError(problems[0], problems=tuple(problems[1:]))
    return {name: values if len(values) > 1 else values[0] for name, values in given.items()}
