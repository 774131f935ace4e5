"""Options of server adapters: each adapter declares its own, and an option that nobody declared is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telemark.errors import ConfigError

Option = str | int | float | bool


@dataclass(frozen=True, slots=True)
class ServerOption:
    """One option, given with `--option NAME=VALUE` or by a scenario."""

    name: str  # a `*` at the end stands for any text: `port_*` for the name of a listener
    default: Option  # its type is the option's
    meaning: str
    recorded: bool = True  # in the plan: runs with other values differ. False: addresses, credentials

    def is_called(self, name: str) -> bool:
        """Whether this is the option of that name."""
        return name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name

    def value(self, server: str, name: str, given: Option) -> Option:
        """The value in the option's own type, or a clear refusal."""
        kind = type(self.default)
        try:
            return _as_bool(given) if kind is bool else kind(given)
        except ValueError as error:
            raise ConfigError(f"{server}: option {name} is {given!r}, expected {kind.__name__}") from error


LOCAL = (
    ServerOption("port", 0, "fixed port of the first listener", recorded=False),
    ServerOption("port_*", 0, "fixed port of a named listener", recorded=False),
    ServerOption("client_certificates", 0, "devices must show one of so many client certificates"),
    ServerOption("expired_certificate", False, "the server's certificate ended yesterday"),
)
HEAP = ServerOption("heap", "1g", "Java heap, least and most")
MAX_QUEUED = ServerOption("max_queued_messages", 0, "messages that may wait for a subscription; 0: no limit")


def find(declared: Sequence[ServerOption], name: str) -> ServerOption | None:
    """The declared option of that name."""
    return next((option for option in declared if option.is_called(name)), None)


def check(server: str, declared: Sequence[ServerOption], given: Mapping[str, Option]) -> dict[str, Option]:
    """The user's options in their types.

    Raises:
        ConfigError: one is not known, with all that are; or it has another type.
    """
    unknown = [name for name in given if find(declared, name) is None]
    if unknown:
        raise unknown_options(server, unknown, declared)
    return {
        name: option.value(server, name, value)
        for name, value in given.items()
        if (option := find(declared, name)) is not None
    }


def unknown_options(servers: str, names: Sequence[str], declared: Sequence[ServerOption]) -> ConfigError:
    """The refusal of options that no server knows."""
    known = {option.name: option.meaning for option in declared}
    return ConfigError(
        f"{servers}: option {', '.join(names)} is not known, expected one of {', '.join(known)}",
        hint="docs/servers.md has the meaning of each option",
    )


def recorded(declared: Sequence[ServerOption], given: Mapping[str, Option]) -> dict[str, Option]:
    """Those of the options that belong into a plan."""
    return {name: value for name, value in given.items() if (option := find(declared, name)) and option.recorded}


def _as_bool(value: Option) -> bool:
    if isinstance(value, str):
        if value.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise ValueError(value)
        return value.lower() in ("true", "1", "yes")
    return bool(value)
