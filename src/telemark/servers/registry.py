"""Which servers there are. Adapters are imported when they are asked for, one module each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from telemark.errors import ConfigError
from telemark.servers import description
from telemark.servers.contract import ServerAdapter
from telemark.servers.options import Option, find, unknown_options

Options = Mapping[str, Option]

# name -> (module of telemark.servers, class)
ADAPTERS: dict[str, tuple[str, str]] = {
    "loopback": ("loopback", "LoopbackServer"),
    "mosquitto": ("mosquitto", "Mosquitto"),
    "rabbitmq": ("rabbitmq", "RabbitMq"),
    "activemq": ("activemq", "ActiveMq"),
    "artemis": ("artemis", "Artemis"),
    "apollo": ("apollo", "Apollo"),
    "hivemq": ("hivemq", "HiveMq"),
    "moquette": ("moquette", "Moquette"),
    "mochi": ("mochi", "Mochi"),
    "aedes": ("aedes", "Aedes"),
    "nats": ("nats", "Nats"),
    "remote": ("remote", "Remote"),
}
SCHEMES = ("mqtt://", "mqtts://")


def names() -> tuple[str, ...]:
    """Every server that can be named: those with an adapter, the built-in one first, then those that are described."""
    return (*ADAPTERS, *description.names())


def make(name: str, options: Options | None = None) -> ServerAdapter:
    """An adapter for one run.

    Args:
        name: of a server; or, for one that runs already, its URL (mqtt://host:port) or a description (FILE.toml).
        options: the user's.

    Raises:
        ConfigError: no such server, or its description cannot be used.
    """
    given = dict(options or {})
    if name.startswith(SCHEMES):
        return _make("remote", given | {"url": name})
    if name in ADAPTERS:
        return _make(name, given)
    path = Path(name) if name.endswith(".toml") else description.FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and not path.exists():
        raise ConfigError(
            f"server is {name!r}, expected one of {', '.join(names())}, a URL (mqtt://host:port) or a FILE.toml",
            hint="`telemark servers` lists what each one is",
        )
    described, rest = description.read(path, {key: str(value) for key, value in given.items()})
    return _make("remote", rest, described)


def share_options(servers: Sequence[str], given: Options) -> dict[str, dict[str, Option]]:
    """Each server's part of the user's options: those it declares.

    Raises:
        ConfigError: none of the servers declares one of them.
    """
    if not given:
        return {server: {} for server in servers}
    declared = {server: make(server).options for server in servers}
    every = [option for options in declared.values() for option in options]
    unknown = [name for name in given if find(every, name) is None]
    if unknown:
        raise unknown_options(", ".join(servers), unknown, every)
    return {
        server: {name: value for name, value in given.items() if find(options, name)}
        for server, options in declared.items()
    }


def _make(name: str, *arguments: Any) -> ServerAdapter:
    module, kind = ADAPTERS[name]
    return cast("ServerAdapter", getattr(importlib.import_module(f"telemark.servers.{module}"), kind)(*arguments))
