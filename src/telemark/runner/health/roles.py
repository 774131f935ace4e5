"""What this host does in a run, and what else must be sampled to know the server."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from contextlib import suppress

import psutil

from telemark.errors import ConfigError
from telemark.runner.health.pages import PageSource
from telemark.servers.contract import ServerAdapter
from telemark.servers.local import LocalServer

SERVER_ROLE = "server"
LOAD_ROLES = "publishers,subscribers,consumers"


def role_of_this_host(adapter: ServerAdapter, pages: Sequence[str]) -> str:
    """All roles where the server is here too. With pages of the server, those alone tell about it."""
    return f"{SERVER_ROLE},{LOAD_ROLES}" if not pages and is_here(adapter) else LOAD_ROLES


def is_here(adapter: ServerAdapter) -> bool:
    """Whether the server is on this host: started here, or reached at an address of this host."""
    if isinstance(adapter, LocalServer):
        return True
    hosts = {endpoint.host for endpoint in adapter.endpoints().values()}
    return bool(hosts) and all(_addresses(host) and _addresses(host) <= _own_addresses() for host in hosts)


def page_sources(adapter: ServerAdapter, urls: Sequence[str]) -> list[PageSource]:
    """The pages, each tried once.

    Raises:
        ConfigError: the server is started here, so its host is sampled directly.
    """
    if urls and isinstance(adapter, LocalServer):
        raise ConfigError(
            f"--server-metrics: {adapter.name} is started by this run, and its host is sampled directly",
            hint="leave it out, or name a running server by its URL",
        )
    sources = [PageSource(url) for url in urls]
    for source in sources:
        source.check()
    return sources


def _addresses(host: str) -> set[str]:
    with suppress(OSError):
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
        return {"loopback" if ipaddress.ip_address(each.split("%")[0]).is_loopback else each for each in found}
    return set()


def _own_addresses() -> set[str]:
    return {"loopback", *(address.address for found in psutil.net_if_addrs().values() for address in found)}
