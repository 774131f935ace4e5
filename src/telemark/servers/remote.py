"""A server that runs already, anywhere: it is reached, never started, stopped or killed.

A description (`servers/description.py`) gives defaults for its options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, cast

import psutil

from telemark.errors import ConfigError, ServerError
from telemark.host.secrets import read_secret
from telemark.model.plan import Endpoint, Profile, Secret, Tls
from telemark.model.slicing import address_name
from telemark.servers.contract import CAPABILITIES, Availability, Listener, Login, StartRequest
from telemark.servers.counter_pages import CounterPage, read_pages
from telemark.servers.description import Description
from telemark.servers.jms import JmsAccess
from telemark.servers.options import ServerOption, check
from telemark.servers.server_url import every_address, read_url
from telemark.servers.sys_topics import MOSQUITTO, SysWatcher
from telemark.servers.terms import Term
from telemark.servers.tiny_client import check_login

# Taken for granted unless `capabilities` says otherwise: nobody can ask a server for them without trying.
ASSUMED = frozenset(
    {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "psk", "shared", "shared-3.1.1", "durable"}
)
LONGEST_LAG_S = 120  # every run waits for it at its end


def _place(name: str, meaning: str) -> ServerOption:
    """An option that says where something is, or who we are: it does not change what is measured."""
    return ServerOption(name, "", meaning, recorded=False)


OPTIONS = (
    _place(
        "url", "mqtt://host:port or mqtts://host:port; several addresses of one server by commas: mqtt://a:1883,b:1883"
    ),
    _place("url_*", "the URL of a named listener"),
    _place("standby", "the URL of the second server of a pair"),
    _place("standby_*", "the standby's URL of a named listener"),
    _place("label", "what reports call the server"),
    ServerOption("version", "", "the server's version, for reports"),
    ServerOption("capabilities", "", "comma list, when the assumed ones are wrong"),
    _place("ca", "file of the CA certificates that signed the server's"),
    _place("server_name", "name in the server's certificate, when it is not the host's"),
    ServerOption("verify", True, "whether the server's certificate is verified"),
    ServerOption("tls_version", "", "1.2 or 1.3"),
    ServerOption("cipher", "", "OpenSSL name of the cipher devices insist on"),
    _place("certificate", "client certificate, a path pattern"),
    _place("key", "its private key, a path pattern"),
    _place("psk_identity", "identity of a pre-shared key, a pattern"),
    _place("psk_file", "file of pre-shared keys: identity:key in hex"),
    _place("username", "user name of the devices"),
    _place("password_env", "name of the variable that holds the password"),
    _place("password_file", "file whose first line is the password"),
    ServerOption("sys", False, "read Mosquitto's $SYS topics as counters", recorded=False),
    ServerOption("counter_lag", 0.0, "seconds until counters show the last message", recorded=False),
    _place("prometheus", "URL of a metrics page"),
    _place("prometheus_*", "metric of that page that is a counter, as prometheus_messages_in"),
    ServerOption("pid", 0, "the server's process on this host, for its CPU and memory", recorded=False),
    _place("jms_url", "URL for JMS consumers"),
    ServerOption("jms_provider", "", "artemis, activemq, amlen or the path of a provider file"),
    _place("jms_ca", "CA certificates for JMS consumers"),
    _place("jms_classpath", "jar files of the provider's client"),
    ServerOption("jms_api", "jakarta", "jakarta or javax"),
)


class Remote:
    """Reaches a running server by URL."""

    def __init__(
        self, options: Mapping[str, str | int | float | bool] | None = None, description: Description | None = None
    ) -> None:
        self._description = description or Description()
        variables = tuple(_place(name, "of the server's description") for name in self._description.variables)
        self.options = (*OPTIONS, *variables)
        given = check("remote", OPTIONS, options or {})
        self._options = {**self._description.options, **{name: str(value) for name, value in given.items()}}
        self._pages = (*self._description.pages, *self._option_page())
        self.name = self._options.get("label", "remote")
        self._endpoints: dict[str, Endpoint] = {}
        self.counter_lag_s = self._counter_lag()
        self._consumer_tls = False
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
        return Availability("url" in self._options, self._options.get("version"), self._how_to_reach())

    def _how_to_reach(self) -> str:
        if not self._description.asked_for:
            return "give the URL of a running server: mqtt://host:port"
        options = " ".join(f"--option {name}=..." for name in self._description.asked_for)
        return f"start it yourself, then give {options} ({self._description.tried})"

    def prepare(self) -> None:
        if not any(name.startswith("url") for name in self._options):
            raise ConfigError(
                f"{self.name}: option url is missing, expected mqtt://host:port or mqtts://host:port",
                hint=self._how_to_reach(),
            )

    def profile_note(self, profile: Profile) -> str:
        return f"the server was set up by others: whether it keeps messages as {profile} asks is not known here"

    def start(self, request: StartRequest) -> None:
        """Log in once on every listener, so that a wrong address, certificate or password is found now."""
        self.prepare()
        if request.ha and not self._has_standby():
            raise ConfigError(
                f"{self.name}: this run needs a pair, and no second URL is given",
                hint="give the standby's URL: --option standby=mqtt://host:port",
            )
        self._consumer_tls = request.consumer_tls
        self._check_jms(request)
        self._endpoints = self._find_active(request.listeners)
        if self._description.sys or self._flag("sys", False):
            self._watch()

    def _has_standby(self) -> bool:
        return any(name.startswith("standby") for name in self._options)

    def _find_active(self, listeners: Sequence[Listener]) -> dict[str, Endpoint]:
        """The server that lets us in: the first URL's, or that of its standby, which refuses while it is one."""
        try:
            return self._log_in(listeners, "url")
        except ServerError:
            if not self._has_standby():
                raise
        return self._log_in(listeners, "standby")

    def _log_in(self, listeners: Sequence[Listener], node: str) -> dict[str, Endpoint]:
        endpoints = self._all_endpoints(listeners, node)
        for endpoint in endpoints.values():
            if endpoint.tls is None or endpoint.tls.psk_file is None:  # Python 3.11 cannot do PSK; the engine can
                check_login(endpoint, *self._credentials())
        return endpoints

    def planned_endpoints(self, listeners: Sequence[Listener]) -> dict[str, Endpoint]:
        """Where devices would connect to, without trying it."""
        self.prepare()
        return self._all_endpoints(listeners, "url")

    def _all_endpoints(self, listeners: Sequence[Listener], node: str) -> dict[str, Endpoint]:
        found: dict[str, Endpoint] = {}
        for listener in listeners:
            for number, endpoint in enumerate(self._addresses(listener, node)):
                name = address_name(listener.name, number)
                found[name] = replace(endpoint, name=name)
        return found

    def _watch(self) -> None:
        role = self._description.sys_endpoint
        listener = Listener(role, "tls" if role == "tls" else "none")
        endpoint = (
            self._addresses(listener, "url")[0] if self._description.sys else next(iter(self._endpoints.values()))
        )
        self._watcher = SysWatcher(endpoint, self._description.sys or MOSQUITTO, *self._credentials())
        self._watcher.start()

    def share_prefix(self, version: str) -> str | None:
        """See the contract."""
        return self._description.share_prefix.get(version)

    def login(self) -> Login | None:
        username = self._options.get("username")
        if username is None:
            return None
        env, file = self._options.get("password_env"), self._options.get("password_file")
        return Login(username, Secret(env, file) if env or file else None)

    def _credentials(self) -> tuple[str | None, str | None]:
        login = self.login()
        if login is None or login.password is None:
            return login.username if login else None, None
        return login.username, read_secret(login.password.env, login.password.file)

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
        watched = self._watcher.counters() if self._watcher is not None else {}
        return watched | read_pages(self._pages)

    def _option_page(self) -> tuple[CounterPage, ...]:
        """The page of the option `prometheus`, with the metrics of prometheus_COUNTER."""
        if "prometheus" not in self._options:
            return ()
        prefix = "prometheus_"
        named = {key.removeprefix(prefix): each for key, each in self._options.items() if key.startswith(prefix)}
        counters = {name: (Term(metric),) for name, metric in named.items()}
        return (CounterPage(self._options["prometheus"], "prometheus", counters),)

    def access(self, kind: str) -> JmsAccess | None:
        given = self._options.get
        url = given("jms_url")
        if kind != "jms" or url is None:
            return None
        tls = Tls(ca=given("jms_ca"), verify=self._flag("verify", True)) if self._consumer_tls else None
        return JmsAccess(
            given("jms_provider", ""), url, self.login(), tls, given("jms_classpath"), given("jms_api", "jakarta")
        )

    def _check_jms(self, request: StartRequest) -> None:
        if request.awaits("jms") and not ("jms_url" in self._options and "jms_provider" in self._options):
            raise ConfigError(
                "remote: JMS consumers need the options jms_url and jms_provider",
                hint="jms_provider is artemis, activemq or the path of a provider file (docs/servers.md)",
            )
        if self._options.get("jms_api", "jakarta") not in ("jakarta", "javax"):
            raise ConfigError(f"remote: option jms_api is {self._options['jms_api']!r}, expected jakarta or javax")
        if "jms_ca" in self._options and not request.consumer_tls:
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

    def _addresses(self, listener: Listener, node: str) -> list[Endpoint]:
        """The listener's own URL, else that of its role, else the general one; its scheme must fit its security."""
        url = next((url for url in map(self._options.get, _names(listener, node)) if url), "")
        scheme, hosts = read_url(url, listener.name)
        if (scheme == "mqtts") != (listener.security != "none"):
            raise ConfigError(
                f"remote: listener {listener.name} needs security {listener.security}, its URL is {url!r}",
                hint=f"give url_{listener.name}={'mqtts' if listener.security != 'none' else 'mqtt'}://host:port",
            )
        tls = self._tls(listener.security) if scheme == "mqtts" else None
        return [
            Endpoint(listener.name, address, port, tls and replace(tls, server_name=tls.server_name or name))
            for host, port in hosts
            for address, name in every_address(host)
        ]

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

    def _counter_lag(self) -> float:
        lag = float(self._options.get("counter_lag", 0))
        if not 0 <= lag <= LONGEST_LAG_S:
            raise ConfigError(f"{self.name}: counter_lag is {lag:g}, expected seconds from 0 to {LONGEST_LAG_S}")
        return lag

    def _flag(self, name: str, default: bool) -> bool:
        return self._options.get(name, str(default)).lower() in ("true", "1", "yes")


def _names(listener: Listener, node: str) -> tuple[str, ...]:
    """Options that may hold a listener's URL, the nearest first."""
    role = "backend" if listener.name.endswith("subscribers") else None
    role = listener.security if listener.security != "none" else role
    return (f"{node}_{listener.name}", *([f"{node}_{role}"] if role else []), node)
