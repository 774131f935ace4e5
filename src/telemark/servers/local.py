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
from telemark.host.limits import SERVER_FILES
from telemark.host.ports import LOOPBACK, free_ports, is_loopback, require_free
from telemark.model.plan import Endpoint, Profile, Tls
from telemark.servers.certificates import Certificates, make_certificates, make_psk_file
from telemark.servers.contract import Availability, Listener, StartRequest
from telemark.servers.options import LOCAL, Option, ServerOption, check, find
from telemark.servers.process import ServerProcess


class LocalServer(ABC):
    """Base of the adapters that start a server here.

    Args:
        options: set by the user for this server; they win over the scenario's `server_options`.
    """

    name: str = ""
    # Whether each profile can be had, and what it means here. A profile without a sentence is refused.
    profiles: ClassVar[Mapping[Profile, str]] = {}
    offers: ClassVar[frozenset[str]] = frozenset()
    options: ClassVar[tuple[ServerOption, ...]] = LOCAL
    start_timeout_s: ClassVar[float] = 60.0
    stop_grace_s: ClassVar[float] = 10.0

    def __init__(self, options: Mapping[str, Option] | None = None) -> None:
        self._given = check(self.name, self.options, options or {})
        self._request: StartRequest | None = None
        self._ports: dict[str, int] = {}
        self._processes: list[ServerProcess] = []

    @property
    def user_options(self) -> dict[str, Option]:
        """What the user set for this server."""
        return dict(self._given)

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

    def access(self, kind: str) -> object | None:
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

    def option(self, name: str) -> Option:
        """The user's value, else the scenario's, else the declared default; of the default's type."""
        declared = find(self.options, name)
        if declared is None:
            raise ServerError(f"{self.name} asks for an option it does not declare: {name}")
        return declared.value(self.name, name, self._given.get(name, self.request.options.get(name, declared.default)))

    def certificates(self) -> Certificates:
        """The run's certificates, made when first asked for."""
        return make_certificates(
            self.directory / "certificates",
            clients=int(self.option("client_certificates")),
            expired=bool(self.option("expired_certificate")),
        )

    def consumer_tls(self) -> Tls | None:
        """How back-end consumers verify the server; None when they connect without TLS."""
        return self.certificates().tls() if self.request.consumer_tls else None

    def psk(self) -> Tls:
        """The run's pre-shared keys, one for each device."""
        return make_psk_file(self.directory / "certificates" / "psk.txt", max(1, self.request.devices))

    @property
    def bind_address(self) -> str:
        """What listeners are bound to: nothing but loopback, or everything when devices are on other hosts.

        Everything, so that the server is also found on the loopback address, where it is watched.
        """
        return LOOPBACK if is_loopback(self.request.address) else "0.0.0.0"

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
            tls = self.certificates().tls(int(self.option("client_certificates")))
        if listener.security == "psk":
            tls = self.psk()
        return Endpoint(listener.name, self.request.address, self._ports[listener.name], tls)

    def _choose_ports(self, listeners: Sequence[Listener]) -> dict[str, int]:
        """A free port for each listener; `port` (first listener) or `port_NAME` fixes one."""
        chosen = dict(zip((each.name for each in listeners), free_ports(len(listeners)), strict=True))
        for place, name in enumerate(chosen):
            fixed = int(self.option(f"port_{name}")) or (int(self.option("port")) if place == 0 else 0)
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
        if hard != resource.RLIM_INFINITY and devices + SERVER_FILES > hard:
            raise RequirementError(
                f"{self.name} would need {devices + SERVER_FILES} open files, the limit is {hard}",
                hint="raise the hard limit of open files (ulimit -Hn) or use fewer devices",
            )


def _wants(request: StartRequest) -> tuple[tuple[str, bool], ...]:
    consumers = ((request.consumers.kind, True),) if request.consumers else ()
    return (*consumers, ("ha-pair", request.ha))
