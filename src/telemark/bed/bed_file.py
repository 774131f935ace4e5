"""Reads a bed file: which hosts there are, what each does, and the Spark master that reaches them."""

from __future__ import annotations

import difflib
import ipaddress
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from telemark.catalog.check import Problems, check_value
from telemark.errors import ConfigError
from telemark.host.toml import read_toml
from telemark.model.keys import Key
from telemark.runner.pinning import parse_cpus

ROLES = ("server", "publishers", "subscribers", "consumers")


def _key(kind: Any, about: str, **more: Any) -> Key:
    return Key(kind, about, expression=False, **more)


FILE: Mapping[str, Key] = {
    "spark": _key("text", "Spark master, for example spark://10.0.0.1:7077, yarn or k8s://...", required=True),
    "runner": _key("text", "address of this host that all others can reach", required=True),
    "port": _key("integer", "TCP port of the line and UDP port of the clock; 0: any free one", minimum=0),
    "scratch": _key("text", "folder on every host for records until they are home"),
    "python": _key("text", "Python on the hosts that has telemark installed; the runner's own path when left out"),
    "archive": _key(
        "text", "packed environment from `telemark bed pack`; without it telemark is installed on the hosts"
    ),
    "wait": _key("number", "seconds to wait for Spark's next executor while a host has none", minimum=1),
    "settings": _key("scalars", "further Spark settings"),
    "hosts": _key("tables", "the hosts", required=True),
}
HOST: Mapping[str, Key] = {
    "host": _key("text", "its name or address, as Spark shows it", required=True),
    "roles": _key("texts", "what it does: " + ", ".join(ROLES), required=True, allowed=ROLES),
    "address": _key("text", "address the server listens on; the host's own when left out"),
    "source_addresses": _key("texts", "addresses its devices connect from, one after the other"),
    "cpus": _key("text", "CPUs its processes may use, for example 0-3,8"),
}


@dataclass(frozen=True, slots=True)
class BedHost:
    """One machine of the bed."""

    host: str
    roles: tuple[str, ...]
    address: str = ""
    source_addresses: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BedFile:
    """A bed as its file describes it."""

    path: Path
    spark: str
    runner: str
    hosts: tuple[BedHost, ...]
    port: int = 0
    scratch: str = "/tmp"
    python: str = sys.executable
    archive: str | None = None
    wait: float = 60.0
    settings: Mapping[str, str] = field(default_factory=dict)

    def with_role(self, role: str) -> tuple[BedHost, ...]:
        """Hosts that play a role."""
        return tuple(host for host in self.hosts if role in host.roles)


def read_bed(path: Path) -> BedFile:
    """Read and check a bed file.

    Raises:
        ConfigError: with every problem of the file.
    """
    problems = Problems(path.name)
    document = _parse(path)
    _check(FILE, document, "", problems)
    hosts = document.get("hosts")
    for number, host in enumerate(hosts if isinstance(hosts, list) else []):
        _check(HOST, host, f"hosts[{number}]", problems)
    if not problems.found:
        _check_together(document, problems)
    if problems.found:
        count = f"{len(problems.found)} problem{'s' if len(problems.found) != 1 else ''}"
        raise ConfigError(f"{count} in {path}", hint="docs/guides/several-machines.md", problems=tuple(problems.found))
    return _bed(path, document)


def _parse(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise ConfigError(f"--bed {path}: {error.strerror}, expected a bed file") from error
    except ValueError as error:
        raise ConfigError(f"--bed {path}: {error}, expected valid TOML") from error


def _check(definition: Mapping[str, Key], table: object, path: str, problems: Problems) -> None:
    if not isinstance(table, Mapping):
        problems.add(path, table, "a table")
        return
    before = f"{path}." if path else ""
    for name, value in table.items():
        key = definition.get(name)
        if key is None:
            near = difflib.get_close_matches(name, definition, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            problems.say(before + name, f"unknown key{hint}", f"one of {', '.join(definition)}")
        elif key.kind == "tables":
            if not isinstance(value, list) or not value:
                problems.add(before + name, value, "a list of tables, not empty")
        else:
            check_value(key, value, before + name, problems)
    for name, key in definition.items():
        if key.required and name not in table:
            problems.say(before + name, "missing", key.about)


def _check_together(document: Mapping[str, Any], problems: Problems) -> None:
    """What no single value shows."""
    names = [host["host"] for host in document["hosts"]]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.say("hosts", f"{name} stands there {names.count(name)} times", "each host once")
    for role in ("server", "consumers"):
        found = [host["host"] for host in document["hosts"] if role in host["roles"]]
        if len(found) > 1:
            problems.add("hosts", found, f"at most one host with the role {role}")
    for number, host in enumerate(document["hosts"]):
        if not host["roles"]:
            problems.add(f"hosts[{number}].roles", [], "at least one of " + ", ".join(ROLES))
        try:
            parse_cpus(host.get("cpus", "0"))
        except ValueError as error:
            problems.say(f"hosts[{number}].cpus", str(error), "CPU numbers")
        for address in host.get("source_addresses", ()):
            try:
                ipaddress.ip_address(address)
            except ValueError:
                problems.add(f"hosts[{number}].source_addresses", address, "an IP address")
    if str(document.get("settings", {}).get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        problems.say("settings", "dynamic allocation is on", "it off: hosts must stay for the whole campaign")


def _bed(path: Path, document: Mapping[str, Any]) -> BedFile:
    hosts = tuple(
        BedHost(
            host["host"],
            tuple(host["roles"]),
            host.get("address", host["host"]),
            tuple(host.get("source_addresses", ())),
            parse_cpus(host["cpus"]) if "cpus" in host else (),
        )
        for host in document["hosts"]
    )
    plain = {name: value for name, value in document.items() if name not in ("hosts", "settings")}
    settings = {name: str(value) for name, value in document.get("settings", {}).items()}
    return BedFile(path, hosts=hosts, settings=settings, **plain)


def bed_file() -> str:
    """The page docs/reference/bed-file.md."""
    lines = ["# Bed file", "", "TOML for `--bed FILE` and `telemark bed check FILE`."]
    for title, definition in (("The file", FILE), ("Each of `[[hosts]]`", HOST)):
        lines += ["", f"## {title}", "", "| key | needed | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {'yes' if key.required else ''} | {key.about} |" for name, key in definition.items()]
    return "\n".join(lines)
