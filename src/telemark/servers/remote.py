"""A server that runs already, anywhere: it is reached, never started, stopped or killed.

Options (`docs/servers.md`): url, url_LISTENER, label, version, capabilities; ca, server_name, verify, tls_version,
cipher, certificate, key, psk_identity, psk_file; username, password_env, password_file; sys, prometheus,
prometheus_COUNTER; jms_url, jms_provider, jms_ca, jms_classpath; pid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal, cast
from urllib.parse import urlsplit

import psutil

from telemark.errors import ConfigError, ServerError
from telemark.model.plan import Endpoint, Profile, Secret, Tls
from telemark.servers.contract import CAPABILITIES, Availability, JmsAccess, Listener, Login, StartRequest
from telemark.servers.passwords import reveal
from telemark.servers.prometheus import require_url, scrape
from telemark.servers.sys_topics import TOPICS, SysWatcher, counters_from
from telemark.servers.tiny_client import check_login

# Taken for granted unless `capabilities` says otherwise: nobody can ask a server for them without trying.
ASSUMED = frozenset(
    {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "psk", "shared", "shared-3.1.1", "durable"}
)
DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}
KNOWN = frozenset(
    {"url", "label", "version", "capabilities", "ca", "server_name", "verify", "tls_version", "cipher", "certificate"}
    | {"key", "psk_identity", "psk_file", "username", "password_env", "password_file", "sys", "prometheus", "pid"}
    | {"jms_url", "jms_provider", "jms_ca", "jms_classpath"}
)


class Remote:
    """Reaches a running server by URL."""

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        self._options = {name: str(value) for name, value in (options or {}).items()}
        self._refuse_unknown_options()
        self.name = self._options.get("label", "remote")
        self._endpoints: dict[str, Endpoint] = {}
        self._jms_tls = False
        self._watcher: SysWatcher | None = None

    def capabilities(self) -> frozenset[str]:
        if "capabilities" not in self._options:
            return ASSUMED | ({"jms", "jms-shared"} if "jms_url" in self._options else frozenset())
        named = frozenset(each.strip() for each in self._options["capabilities"].split(","))
        if unknown := named - CAPABILITIES.keys():
            raise ConfigError(
                f"remote: option capabilities names {sorted(unknown)}, expected of {sorted(CAPABILITIES)}"
            )
        return named

    def availability(self) -> Availability:
        return Availability(
            "url" in self._options, self._options.get("version"), "give the URL of a running server: mqtt://host:port"
        )

    def prepare(self) -> None:
        if not any(name.startswith("url") for name in self._options):
            raise ConfigError("remote: option url is missing, expected mqtt://host:port or mqtts://host:port")

    def profile_note(self, profile: Profile) -> str:
        return f"the server was set up by others: whether it keeps messages as {profile} asks is not known here"

    def start(self, request: StartRequest) -> None:
        """Log in once on every listener, so that a wrong address, certificate or password is found now."""
        self.prepare()
        if request.ha:
            raise ConfigError("remote: pairs are not supported for a server that runs elsewhere")
        self._jms_tls = request.jms_tls
        self._check_jms(request)
        self._endpoints = {each.name: self._endpoint(each) for each in request.listeners}
        login = self.login()
        username, password = (login.username, reveal(login.password)) if login else (None, None)
        for endpoint in self._endpoints.values():
            if endpoint.tls is None or endpoint.tls.psk_file is None:  # Python 3.11 cannot do PSK; the engine can
                check_login(endpoint, username, password)
        if self._flag("sys", False):
            self._watcher = SysWatcher(next(iter(self._endpoints.values())), list(TOPICS.values()), username, password)
            self._watcher.start()

    def login(self) -> Login | None:
        username = self._options.get("username")
        if username is None:
            return None
        env, file = self._options.get("password_env"), self._options.get("password_file")
        return Login(username, Secret(env, file) if env or file else None)

    def endpoints(self) -> Mapping[str, Endpoint]:
        return dict(self._endpoints)

    def pids(self) -> Sequence[int]:
        process = self._process()
        if process is None:
            return []
        with suppress(psutil.Error):
            return [process.pid, *(each.pid for each in process.children(recursive=True))]
        return []

    def alive(self) -> bool:
        return "pid" not in self._options or self._process() is not None

    def counters(self) -> Mapping[str, float]:
        found: dict[str, float] = {}
        if self._watcher is not None:
            found |= counters_from(self._watcher.readings())
        if "prometheus" in self._options:
            prefix = "prometheus_"
            named = {key.removeprefix(prefix): each for key, each in self._options.items() if key.startswith(prefix)}
            found |= scrape(require_url(self._options["prometheus"]), named)
        return found

    def jms(self) -> JmsAccess | None:
        given = self._options.get
        url = given("jms_url")
        if url is None:
            return None
        tls = Tls(ca=given("jms_ca"), verify=self._flag("verify", True)) if self._jms_tls else None
        return JmsAccess(given("jms_provider", ""), url, self.login(), tls, given("jms_classpath"))

    def _check_jms(self, request: StartRequest) -> None:
        if request.jms and not ("jms_url" in self._options and "jms_provider" in self._options):
            raise ConfigError(
                "remote: JMS consumers need the options jms_url and jms_provider",
                hint="jms_provider is artemis, activemq or the path of a provider file (docs/servers.md)",
            )
        if "jms_ca" in self._options and not request.jms_tls:
            raise ConfigError(
                "remote: jms_ca is given, but this run's JMS consumers connect without TLS",
                hint="add --set consumer_tls=true, or leave jms_ca out",
            )

    def stop(self) -> None:
        """Leave the server; it goes on running."""
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def kill(self) -> None:
        raise ServerError("remote: a server that was started elsewhere is never killed from here")

    def restart(self) -> None:
        raise ServerError("remote: a server that was started elsewhere is never restarted from here")

    def log_tail(self, lines: int = 20) -> str:
        return ""

    def _process(self) -> psutil.Process | None:
        with suppress(psutil.Error, ValueError):
            process = psutil.Process(int(self._options.get("pid", "")))
            return process if process.status() != psutil.STATUS_ZOMBIE else None
        return None

    def _endpoint(self, listener: Listener) -> Endpoint:
        """The listener's own URL, else the general one; its scheme must fit the security asked for."""
        url = self._options.get(f"url_{listener.name}") or self._options.get("url", "")
        parts = urlsplit(url)
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise ConfigError(f"remote: the URL of listener {listener.name} is {url!r}, expected mqtt(s)://host:port")
        if (parts.scheme == "mqtts") != (listener.security != "none"):
            raise ConfigError(
                f"remote: listener {listener.name} needs security {listener.security}, its URL is {url!r}",
                hint=f"give url_{listener.name}={'mqtts' if listener.security != 'none' else 'mqtt'}://host:port",
            )
        if parts.password:
            raise ConfigError(
                "remote: a password in the URL would be seen by all, expected password_env or password_file"
            )
        tls = self._tls(listener.security) if parts.scheme == "mqtts" else None
        return Endpoint(listener.name, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme], tls)

    def _tls(self, security: str) -> Tls:
        given = self._options.get
        if security == "psk":
            if not (given("psk_file") and given("psk_identity")):
                raise ConfigError("remote: a PSK listener needs the options psk_identity and psk_file")
            return Tls("1.2", given("cipher"), psk_identity=given("psk_identity"), psk_file=given("psk_file"))
        return Tls(
            version=cast("Literal['1.2', '1.3'] | None", given("tls_version")),
            cipher=given("cipher"),
            ca=given("ca"),
            verify=self._flag("verify", True),
            server_name=given("server_name"),
            certificate=given("certificate"),
            key=given("key"),
        )

    def _flag(self, name: str, default: bool) -> bool:
        return self._options.get(name, str(default)).lower() in ("true", "1", "yes")

    def _refuse_unknown_options(self) -> None:
        unknown = [name for name in self._options if name not in KNOWN and not name.startswith(("url_", "prometheus_"))]
        if unknown:
            raise ConfigError(f"remote: option {unknown[0]} is not known, expected one of {', '.join(sorted(KNOWN))}")
