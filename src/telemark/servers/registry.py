"""Which servers there are. Adapters are imported when they are asked for, one module each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import cast

from telemark.errors import ConfigError
from telemark.servers.contract import ServerAdapter

Options = Mapping[str, str | int | float | bool]

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
    """Every server that can be named, the built-in one first."""
    return tuple(ADAPTERS)


def make(name_or_url: str, options: Options | None = None) -> ServerAdapter:
    """An adapter for one run: by name, or by URL (mqtt://host:port, mqtts://...) for a server that runs already."""
    options = dict(options or {})
    if name_or_url.startswith(SCHEMES):
        options["url"] = name_or_url
        name_or_url = "remote"
    if name_or_url not in ADAPTERS:
        raise ConfigError(
            f"server is {name_or_url!r}, expected one of {', '.join(ADAPTERS)} or a URL (mqtt://host:port)",
            hint="`telemark servers` lists what each one is",
        )
    module, kind = ADAPTERS[name_or_url]
    adapter = getattr(importlib.import_module(f"telemark.servers.{module}"), kind)(options)
    return cast("ServerAdapter", adapter)
