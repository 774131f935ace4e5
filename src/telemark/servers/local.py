"""What all servers share that run on this host as child processes: ports, files, life and death.

An adapter adds what is its own: where the program is, its configuration, its counters.
"""

from __future__ import annotations

import resource
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from telemark.errors import ConfigError, RequirementError, ServerError
from telemark.model.plan import Endpoint, Profile, Tls
from telemark.servers.certificates import Certificates, make_certificates, make_psk_file
from telemark.servers.contract import Availability, JmsAccess, Listener, StartRequest
from telemark.servers.ports import LOOPBACK, free_ports, require_free
from telemark.servers.process import ServerProcess

Option = str | int | float | bool
FILES_BESIDE_DEVICES = 200  # what a server opens besides one socket per device: journals, libraries, listeners


class LocalServer(ABC):
    """Base of the adapters that start a server here.

    Args:
        options: set by the user for this server; they win over the scenario's `server_options`.
    """

    name: str = ""
    # Whether each profile can be had, and what it means here. A profile without a sentence is refused.
    profiles: ClassVar[Mapping[Profile, str]] = {}
    offers: ClassVar[frozenset[str]] = frozenset()
    start_timeout_s: ClassVar[float] = 60.0
    stop_grace_s: ClassVar[float] = 10.0

    def __init__(self, options: Mapping[str, Option] | None = None) -> None:
        self._user_options: dict[str, Option] = dict(options or {})
        self._request: StartRequest | None = None
        self._ports: dict[str, int] = {}
        self._processes: list[ServerProcess] = []

    @abstractmethod
    def availability(self) -> Availability:
        """See the contract."""

    @abstractmethod
    def configure(self) -> None:
        """Write the configuration under `self.directory`. Called once, before the first launch."""

    @abstractmethod
    def launch(self) -> None:
        """Start the processes and wait until the server is ready. Called again by `restart`.

        Each process must be registered with `spawn` before it is waited for, so that a failure leaves none behind.
        """

    @abstractmethod
    def counters(self) -> Mapping[str, float]:
        """See the contract."""

    def capabilities(self) -> frozenset[str]:
        return self.offers

    def prepare(self) -> None:
        found = self.availability()
        if not found.available:
            raise RequirementError(f"{self.name} is not installed here", hint=found.how_to_get)

    def profile_note(self, profile: Profile) -> str:
        note = self.profiles.get(profile)
        return note if note else f"{self.name} has no {profile} profile"

    def start(self, request: StartRequest) -> None:
        self._refuse_what_is_not_offered(request)
        self._refuse_too_many_devices(request.devices)
        self.prepare()
        request.directory.mkdir(parents=True, exist_ok=True)
        self._request = request
        self._ports = self._choose_ports(request.listeners)
        self.configure()
        self._launch_or_clean_up()

    def restart(self) -> None:
        self.stop()
        self._launch_or_clean_up()

    def stop(self) -> None:
        self.before_end()
        for process in self._processes:
            process.stop(self.stop_grace_s)

    def kill(self) -> None:
        for process in self._processes:
            process.kill()
        self.before_end()

    def before_end(self) -> None:  # noqa: B027 - most servers have nothing to do here
        """Hook: close connections of our own to the server. Must not fail, and may be called twice."""

    def alive(self) -> bool:
        return bool(self._processes) and all(process.alive() for process in self._processes)

    def pids(self) -> Sequence[int]:
        return [pid for process in self._processes for pid in process.pids()]

    def endpoints(self) -> Mapping[str, Endpoint]:
        return {each.name: self._endpoint(each) for each in self.request.listeners}

    def jms(self) -> JmsAccess | None:
        return None

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(filter(None, (process.log_tail(lines) for process in self._processes)))

    @property
    def request(self) -> StartRequest:
        """What the run asked for. Only after `start`."""
        if self._request is None:
            raise ServerError(f"{self.name} has not been started")
        return self._request

    @property
    def directory(self) -> Path:
        return self.request.directory

    @property
    def data(self) -> Path:
        """The server's own data. It may be removed after the run: configuration and logs are elsewhere."""
        folder = self.directory / "data"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def port(self, listener: str) -> int:
        return self._ports[listener]

    def option(self, name: str, default: Option) -> Option:
        """The user's value, else the scenario's, else the default; of the default's type or a clear refusal."""
        value = self._user_options.get(name, self.request.options.get(name, default))
        try:
            return type(default)(value) if not isinstance(default, bool) else _as_bool(value)
        except ValueError as error:
            raise ConfigError(f"{self.name}: option {name} is {value!r}, expected {type(default).__name__}") from error

    def certificates(self) -> Certificates:
        """The run's certificates, made when first asked for."""
        return make_certificates(
            self.directory / "certificates",
            clients=int(self.option("client_certificates", 0)),
            expired=bool(self.option("expired_certificate", False)),
        )

    def jms_tls(self) -> Tls | None:
        """How JMS consumers verify the server; None when they connect without TLS."""
        return self.certificates().tls() if self.request.jms_tls else None

    def psk(self) -> Tls:
        """The run's pre-shared keys, one for each device."""
        return make_psk_file(self.directory / "certificates" / "psk.txt", max(1, self.request.devices))

    def only_listener(self, security: str) -> Listener | None:
        """The one listener of that kind, for servers that have no more; several are refused."""
        found = [each for each in self.request.listeners if each.security == security]
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise ConfigError(f"{self.name}: one listener with security {security} expected, asked for {names}")
        return found[0] if found else None

    def spawn(self, process: ServerProcess) -> ServerProcess:
        """Start a process and remember it, so that it is ended with the server whatever happens next."""
        self._processes.append(process)
        process.start()
        return process

    def _launch_or_clean_up(self) -> None:
        for name, port in self._ports.items():
            require_free(port, name)
        self._processes = []
        try:
            self.launch()
        except BaseException:
            self.kill()
            raise

    def _endpoint(self, listener: Listener) -> Endpoint:
        tls = None
        if listener.security == "tls":
            tls = self.certificates().tls(int(self.option("client_certificates", 0)))
        if listener.security == "psk":
            tls = self.psk()
        return Endpoint(listener.name, LOOPBACK, self._ports[listener.name], tls)

    def _choose_ports(self, listeners: Sequence[Listener]) -> dict[str, int]:
        """A free port for each listener; `port` (first listener) or `port_NAME` fixes one."""
        chosen = dict(zip((each.name for each in listeners), free_ports(len(listeners)), strict=True))
        for place, name in enumerate(chosen):
            fixed = int(self.option(f"port_{name}", 0)) or (int(self.option("port", 0)) if place == 0 else 0)
            chosen[name] = fixed or chosen[name]
        return chosen

    def _refuse_what_is_not_offered(self, request: StartRequest) -> None:
        """Report every mismatch between the request and this server at once, before anything starts."""
        problems = [] if request.profile in self.profiles else [self.profile_note(request.profile)]
        needs = {"tls": "tls-1.2", "psk": "psk"}
        for listener in request.listeners:
            if needs.get(listener.security, "qos-1") not in self.offers:
                problems.append(f"listener {listener.name}: {self.name} offers no {listener.security}")
        problems += [
            f"{self.name} offers no {need}" for need, asked in _wants(request) if need not in self.offers and asked
        ]
        if problems:
            raise ConfigError(f"{self.name} cannot do what this run needs", problems=tuple(problems))

    def _refuse_too_many_devices(self, devices: int) -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and devices + FILES_BESIDE_DEVICES > hard:
            raise RequirementError(
                f"{self.name} would need {devices + FILES_BESIDE_DEVICES} open files, the limit is {hard}",
                hint="raise the hard limit of open files (ulimit -Hn) or use fewer devices",
            )


def _wants(request: StartRequest) -> tuple[tuple[str, bool], ...]:
    return (("jms", request.jms), ("ha-pair", request.ha))


def _as_bool(value: Option) -> bool:
    if isinstance(value, str):
        if value.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise ValueError(value)
        return value.lower() in ("true", "1", "yes")
    return bool(value)
