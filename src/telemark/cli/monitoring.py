"""The options of commands whose runs can be monitored while they are under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from telemark.cli.printing import tell
from telemark.errors import ConfigError
from telemark.host.ports import LOOPBACK
from telemark.runner.monitor import Monitor, MonitorOptions

Command = TypeVar("Command", bound=Callable[..., Any])

MONITOR_OPTIONS = (
    click.option(
        "--prometheus",
        metavar="[ADDRESS:]PORT",
        help="Serve metrics for Prometheus while runs are under way. Without an address: on 127.0.0.1 only.",
    ),
    click.option(
        "--graphite",
        metavar="[HOST:]PORT",
        help="Send metrics to this carbon daemon once a second. Without a host: 127.0.0.1.",
    ),
)


def monitor_options(command: Command) -> Command:
    """The options, for a command."""
    for option in reversed(MONITOR_OPTIONS):
        command = option(command)
    return command


@contextmanager
def monitoring(settings: Mapping[str, Any]) -> Iterator[Monitor | None]:
    """The monitor that the options ask for, until the last values were read; None when they ask for none."""
    given = {name: settings[name] for name in ("prometheus", "graphite") if settings[name]}
    if not given:
        yield None
        return
    options = MonitorOptions(**{name: read_address(f"--{name}", text) for name, text in given.items()})
    with Monitor(options, tell) as monitor:
        yield monitor


def read_address(option: str, text: str) -> tuple[str, int]:
    """`PORT` or `ADDRESS:PORT`; an IPv6 address stands in brackets."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ConfigError(f"{option} is {text}, expected a port between 1 and 65535, alone or after ADDRESS:")
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)
