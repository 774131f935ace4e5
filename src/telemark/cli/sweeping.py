"""Options that take several values: separated by commas, by giving the option again, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from telemark.servers import registry

Command = TypeVar("Command", bound=Callable[..., Any])


def several(name: str, kind: click.ParamType[Any], text: str, default: Any = None) -> Callable[[Command], Command]:
    """An option whose value is a tuple: empty when it is left out and has no default.

    Args:
        name: with its dashes.
        kind: of each value.
        text: help.
        default: one value, shown in the help.
    """

    def convert(context: click.Context, option: click.Parameter, given: Sequence[str]) -> tuple[Any, ...]:
        return tuple(kind.convert(part, option, context) for part in split(given))

    return click.option(
        name, multiple=True, callback=convert, metavar="VALUE[,...]", help=text,
        default=() if default is None else (str(default),), show_default=default is not None,
    )  # fmt: skip


def split(given: Iterable[str]) -> list[str]:
    """All parts between commas, without repetitions."""
    return list(dict.fromkeys(part.strip() for text in given for part in text.split(",")))


def split_servers(given: Iterable[str]) -> list[str]:
    """Names and URLs of servers. `mqtt://a:1883,b:1883` is one server with two addresses: hosts stay with their URL."""
    servers: list[str] = []
    for text in given:
        parts: list[str] = []
        for part in text.split(","):
            if parts and parts[-1].startswith(registry.SCHEMES) and not _names_a_server(part):
                parts[-1] += f",{part}"
            else:
                parts.append(part.strip())
        servers += parts
    return list(dict.fromkeys(servers))


def _names_a_server(text: str) -> bool:
    name = text.strip()
    return name.startswith(registry.SCHEMES) or name.endswith(".toml") or name in registry.names()
