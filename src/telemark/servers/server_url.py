"""URLs of servers that run already: `mqtt://a:1883,b:1883` is one server with two addresses."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from telemark.errors import ConfigError

DEFAULT_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


def read_url(url: str, listener: str) -> tuple[str, list[tuple[str, int]]]:
    """(scheme, hosts with their ports) of a listener's URL.

    Raises:
        ConfigError: it is no such URL, or holds a password.
    """
    scheme, _, places = url.partition("://")
    found = []
    for place in places.split(","):
        try:
            parts = urlsplit(f"{scheme}://{place}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if scheme not in DEFAULT_PORTS or not host:
            raise ConfigError(
                f"remote: the URL of listener {listener} is {url!r}, expected mqtt(s)://host:port[,host:port...]"
            )
        if parts.password:
            raise ConfigError(
                "remote: a password in the URL would be visible to every user, expected password_env or password_file"
            )
        found.append((host, port or DEFAULT_PORTS[scheme]))
    return scheme, found


def every_address(host: str) -> list[tuple[str, str | None]]:
    """(address, name to verify certificates by) of every address a name has, of the family that is preferred here.

    A name with one address, and one that cannot be resolved here, is left to the engine.
    """
    with suppress(OSError):
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(info[4][0]) for info in found if info[0] == found[0][0]))
        if len(addresses) > 1:
            return [(address, host) for address in addresses]
    return [(host, None)]
