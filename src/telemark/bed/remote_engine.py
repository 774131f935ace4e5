"""An engine process on another host: its own paths, its own clock, and secrets that never touch its disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from telemark.bed.host_line import HostLine
from telemark.errors import HostLostError
from telemark.host.lines import Child
from telemark.host.secrets import read_secret
from telemark.model.plan import EnginePlan, Group, Secret, Tls
from telemark.runner.engine_link import EngineLink

ARGUMENTS = ("-m", "telemark.runner.engine_process")
_PATHS = ("ca", "certificate", "key", "psk_file")


class RemoteEngine(EngineLink):
    """One engine process. Times that it is told or tells are turned into those of the other clock.

    Args:
        plan: its slice, with paths of its own host.
        folder: the run's folder there, where it leaves its records.
        line: to its host.
        cpus: it may use; empty: all.
    """

    def __init__(self, plan: EnginePlan, folder: Path, line: HostLine, cpus: Sequence[int]) -> None:
        self._line = line
        named, secrets = with_named_secrets(plan)
        start = starter(line, folder)
        super().__init__(named, folder, ARGUMENTS, cpus, environment=secrets, start=start)

    def begin(self, start_ns: int) -> None:
        """Tell it the common start, on its own clock."""
        super().begin(self._line.own_time(start_ns))

    def set_rate(self, rate: float, at_ns: int) -> None:
        """Its share of a new rate, from a time of its own clock on."""
        super().set_rate(rate, self._line.own_time(at_ns))

    @property
    def status(self) -> dict[str, Any]:
        """Its newest counts, with times of the runner's clock."""
        found = super().status
        stopped_ns = found.get("stopped_ns")
        return found if stopped_ns is None else {**found, "stopped_ns": self._line.runner_time(stopped_ns)}

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"host {self._line.host}: {super().name}"

    def last_words(self, lines: int = 1) -> str:
        """How it ended; its log is on its host until the run is over."""
        if self._line.lost is not None:
            raise HostLostError(self._line.lost)
        return super().last_words(lines)


def starter(line: HostLine, folder: Path) -> Callable[[Sequence[str], Path, Mapping[str, str]], Child]:
    """Starts Python programs of ours on a host; `command` is what follows the interpreter."""

    def start(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Child:
        return line.start_child(list(command), str(log.relative_to(folder.parent)), environment)

    return start


def with_named_secrets(plan: EnginePlan) -> tuple[EnginePlan, dict[str, str]]:
    """The plan with every password in an environment variable, and the variables: the host has no file of it."""
    secrets: dict[str, str] = {}

    def named(group: Group) -> Group:
        if group.password is None:
            return group
        name = f"TELEMARK_PASSWORD_{len(secrets)}"
        secrets[name] = read_secret(group.password.env, group.password.file, f"group {group.name}: password")
        return replace(group, password=Secret(env=name))

    return replace(plan, groups=tuple(named(group) for group in plan.groups)), secrets


def with_moved_files(plan: EnginePlan, there: Path, here: Path) -> EnginePlan:
    """The plan with files of one folder in another."""
    endpoints = tuple(replace(each, tls=each.tls and _moved(each.tls, there, here)) for each in plan.endpoints)
    return replace(plan, endpoints=endpoints)


def _moved(tls: Tls, there: Path, here: Path) -> Tls:
    paths = {name: value for name, value in asdict(tls).items() if name in _PATHS and value}
    return replace(tls, **{name: value.replace(str(there), str(here), 1) for name, value in paths.items()})
