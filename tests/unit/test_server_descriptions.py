"""Servers described in a file: what the file says, what it gets wrong, and what is made of its pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from telemark.errors import ConfigError, ServerError
from telemark.host.ports import free_ports
from telemark.model.plan import EnginePlan, Group, Subscription
from telemark.runner.adapting import with_share_syntax
from telemark.servers import description, registry
from telemark.servers.contract import Listener, StartRequest

HEAD = 'format = 1\nname = "mine"\n[options]\nhost = ""\nport = 1883\n[endpoints]\ndevices = "mqtt://{host}:{port}"\n'
JSON = {"Server": {"Read": "7", "Write": 3}, "Subscription": [{"Mark": 4}, {"Mark": 9}, {"Mark": None}]}
PROMETHEUS = 'in_total{qos="0"} 5\nin_total{qos="1"} 6\nstored 10\nretained 4\nbroken NaN\n'


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = {"/json": json.dumps(JSON), "/metrics": PROMETHEUS, "/torn": '{"Server": '}
        allowed = self.path != "/secret" or self.headers["Authorization"] == "Basic YWRtaW46aHVudGVyMg=="
        body = known.get(self.path, PROMETHEUS).encode()
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(body if allowed else b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def written(folder: Path, *tables: str) -> str:
    path = folder / "mine.toml"
    path.write_text(HEAD + "\n".join(tables))
    return str(path)


@pytest.mark.parametrize("name", description.names())
def test_every_description_that_is_shipped_can_be_used(name: str) -> None:
    """Without its host it says how to reach the server; with it there is a URL for every role."""
    adapter = registry.make(name)
    assert not adapter.availability().available
    assert "--option host=" in adapter.availability().how_to_get
    assert "not tried here" in adapter.availability().how_to_get

    reached = registry.make(name, {"host": "broker.example"})
    assert reached.availability().available
    assert reached.name == name
    assert {"mqtt-3.1.1", "qos-1", "durable"} <= reached.capabilities()


def test_a_json_page_gives_numbers_by_path(tmp_path: Path, web: str) -> None:
    """A star stands for every entry; what is no number is passed over; a path that leads nowhere is missing."""
    counters = [
        "[[counters]]",
        'from = "json"',
        f'url = "{web}/json"',
        'messages_in = "Server.Read"',
        'messages_out = ["Server.Read", { name = "Server.Write", minus = true }]',
        'largest_queue_hwm = { name = "Subscription.*.Mark", take = "max" }',
        'bytes_in = "Server.Nothing"',
    ]
    adapter = registry.make(written(tmp_path, *counters), {"host": "localhost"})

    assert adapter.counters() == {"messages_in": 7, "messages_out": 4, "largest_queue_hwm": 9}


def test_a_prometheus_page_gives_sums_over_labels(tmp_path: Path, web: str) -> None:
    """Label sets may be left out by a regular expression; a metric without a number is missing."""
    counters = [
        "[[counters]]",
        'from = "prometheus"',
        f'url = "{web}/metrics"',
        'messages_in = "in_total"',
        'messages_out = { name = "in_total", except = \'qos="0"\' }',
        'buffered_messages = ["stored", { name = "retained", minus = true }]',
        'connections = "broken"',
    ]
    adapter = registry.make(written(tmp_path, *counters), {"host": "localhost"})

    assert adapter.counters() == {"messages_in": 11, "messages_out": 6, "buffered_messages": 6}


def test_a_page_behind_a_login_is_read_with_a_named_password(
    tmp_path: Path, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password is looked up when the page is read and is not part of the file."""
    monkeypatch.setenv("PAGE_PASSWORD", "hunter2")
    source = ["[[counters]]", 'from = "prometheus"', f'url = "{web}/secret"', 'connections = "stored"']
    opened = written(tmp_path, *source, 'username = "admin"', 'password_env = "PAGE_PASSWORD"')

    assert registry.make(opened, {"host": "x"}).counters() == {"connections": 10}
    assert registry.make(written(tmp_path, *source), {"host": "x"}).counters() == {}


def test_pages_that_do_not_answer_leave_their_counters_missing(tmp_path: Path, web: str) -> None:
    """Neither a closed port nor half a document is a zero."""
    gone = f"http://127.0.0.1:{free_ports(1)[0]}/"
    tables = [
        f'[[counters]]\nfrom = "json"\nurl = "{url}"\nmessages_in = "Server.Read"' for url in (gone, f"{web}/torn")
    ]

    assert registry.make(written(tmp_path, *tables), {"host": "x"}).counters() == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("colour = 1", "colour: unknown"),
        ('[jms]\nurls = "x"', "jms.urls: unknown"),
        ('[[counters]]\nfrom = "snmp"', "counters 1: from: 'snmp'"),
        ('[[counters]]\nfrom = "json"', "counters 1: url: missing"),
        ('[[counters]]\nfrom = "sys"\nmessages = "x"', "messages: no counter"),
        ('[[counters]]\nfrom = "sys"\nmessages_in = { name = "x", take = "mean" }', "take is 'mean'"),
        ('[[counters]]\nfrom = "sys"\nmessages_in = { name = "x", except = "(" }', "no regular expression"),
        ("counters = 3", "counters: 3, expected a list"),
        ("counter_lag = true", "counter_lag: True, expected a float"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text((HEAD + text) if text.startswith("[") else text + "\n" + HEAD)

    with pytest.raises(ConfigError) as caught:
        registry.make(str(path))
    assert problem in " ".join(caught.value.problems)


@pytest.mark.parametrize("lag", ["-1", "nan", "121"])
def test_a_lag_of_counters_that_no_run_can_wait_for_is_refused(lag: str) -> None:
    with pytest.raises(ConfigError, match=r"counter_lag is .*expected seconds from 0 to 120"):
        registry.make("mqtt://127.0.0.1:1883", {"counter_lag": lag})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        registry.make(str(tmp_path / "nowhere.toml"))


def test_roles_give_a_listener_its_url(tmp_path: Path) -> None:
    """By the listener's own name first, then by its role, then the devices' URL."""
    roles = 'tls = "mqtts://{host}:8883"\nbackend = "mqtt://{host}:16901"\nplain-2 = "mqtt://{host}:2"\n'
    (tmp_path / "roles.toml").write_text(HEAD + roles)
    adapter = registry.make(str(tmp_path / "roles.toml"), {"host": "a.example", "port": 1884})
    listeners = [Listener("plain-1"), Listener("plain-2"), Listener("plain-subscribers"), Listener("tls-1", "tls")]
    found = adapter.planned_endpoints(listeners)  # type: ignore[attr-defined]

    assert [1884, 2, 16901, 8883] == [found[each.name].port for each in listeners]


def test_a_pair_needs_its_second_url_and_falls_back_to_it(tmp_path: Path) -> None:
    """Both addresses are tried; the message names the last."""
    first, second = free_ports(2)
    path = written(tmp_path, f'[pair]\ndevices = "mqtt://127.0.0.1:{second}"')
    request = StartRequest(tmp_path, "memory", (Listener("plain"),), devices=1, ha=True)

    with pytest.raises(ServerError, match=str(second)):
        registry.make(path, {"host": "127.0.0.1", "port": first}).start(request)
    with pytest.raises(ConfigError, match="no second URL"):
        registry.make(f"mqtt://127.0.0.1:{first}").start(request)


def test_shared_subscriptions_are_written_as_the_server_wants_them(tmp_path: Path) -> None:
    """Only those of the MQTT version that the file names, and only shared ones."""
    path = written(tmp_path, '[shared]\n"3.1.1" = "$SharedSubscription/{share}/"')
    adapter = registry.make(path, {"host": "x"})
    filters = (Subscription("$share/fanin/p/#"), Subscription("q/{index}"))
    old, new = (Group(f"g{version}", 1, version=version, subscriptions=filters) for version in ("3.1.1", "5"))
    plan = with_share_syntax(EnginePlan("r", 0, 0, (), (old, new)), adapter)

    assert [each.filter for each in plan.groups[0].subscriptions] == ["$SharedSubscription/fanin/p/#", "q/{index}"]
    assert [each.filter for each in plan.groups[1].subscriptions] == ["$share/fanin/p/#", "q/{index}"]
