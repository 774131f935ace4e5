"""What JMS consumers need to reach a server."""

from __future__ import annotations

from dataclasses import dataclass

from telemark.model.plan import Tls
from telemark.servers.contract import Login


@dataclass(frozen=True, slots=True)
class JmsAccess:
    """Where JMS consumers connect, and as whom."""

    provider: str  # name of a packaged provider (artemis, activemq), or the path of a provider file
    url: str
    login: Login | None = None
    tls: Tls | None = None  # only `ca` and `verify` count here
    classpath: str | None = None  # the provider's client library, when it is not packaged
    api: str = "jakarta"  # package of the client library's JMS classes: jakarta, or javax for older ones
