"""`telemark serve`: pages, names and headers, over a real socket of this host."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemark.errors import ConfigError
from telemark.host import web
from telemark.host.web import MOST_CLIENTS
from telemark.report.serve import ReportServer, make_server
from telemark.store.documents.live import LiveFile
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun
from tests.support.waiting import eventually

HOSTILE = "<script>alert(1)<_script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good campaigns, one with a hostile name, and a secret beside them."""
    root = tmp_path_factory.mktemp("served")
    make_campaign(root / "runs" / "one", [FakeRun()])
    make_campaign(root / "runs" / "two", [FakeRun(latency_us=1600.0)])
    make_campaign(root / "runs" / HOSTILE, [FakeRun(server="<img src=x onerror=alert(1)>")])
    make_campaign(root / "outside", [FakeRun()])
    (root / "runs" / "link").symlink_to(root / "outside")
    return root / "runs"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ReportServer]:
    """Running until the module's tests are done."""
    made = make_server(folder, 0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def get(
    server: ReportServer, path: str, host: str | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of one request, sent exactly as written."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def test_it_listens_on_the_loopback_address_only(server: ReportServer) -> None:
    """Nobody else on the network can reach it."""
    assert "127.0.0.1" == server.server_address[0]


def test_the_first_page_lists_the_campaigns(server: ReportServer) -> None:
    """Each with a link to its page and its report."""
    status, _, text = get(server, "/")

    assert 200 == status
    assert 'href="/campaign/one"' in text
    assert 'href="/campaign/two/report.html"' in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "", "[::1]:80"])
def test_a_foreign_host_name_gets_nothing(server: ReportServer, host: str) -> None:
    """A web page whose name was re-pointed at this address must not read the folders."""
    status, _, text = get(server, "/", host or "nothing")

    assert 421 == status
    assert "campaign" not in text


def test_localhost_is_our_name_too(server: ReportServer) -> None:
    """People type it."""
    assert 200 == get(server, "/", f"localhost:{server.server_port}")[0]


@pytest.mark.parametrize(
    "path",
    ["/campaign/one", "/campaign/one/report.html", "/campaign/one/score-card.json", "/campaign/one/score-card.md",
     "/campaign/one/live.json", "/compare?a=one&b=two", "/assets/report.css", "/assets/charts.js"],
)  # fmt: skip
def test_every_page_forbids_outside_resources(server: ReportServer, path: str) -> None:
    """The headers hold for data and assets as well."""
    status, headers, _ = get(server, path)

    assert 200 == status
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "nosniff" == headers["X-Content-Type-Options"]
    assert "no-store" == headers["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    ["/campaign/..", "/campaign/..%2foutside", "/campaign/%2e%2e", "/campaign/one/run.json", "/campaign/link",
     "/campaign/../outside/report.html", "/assets/../../model.py", "/assets/parts.html.j2", "/nothing",
     "/campaign/a%00b"],
)  # fmt: skip
def test_nothing_outside_the_folder_can_be_read(server: ReportServer, path: str) -> None:
    """Neither by dots, nor by encoded dots, nor through a link."""
    assert 404 == get(server, path)[0]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_only_reading_is_possible(server: ReportServer, method: str) -> None:
    """It starts and changes nothing."""
    assert 501 == get(server, "/", method=method)[0]


def test_hostile_names_are_escaped_on_every_page(server: ReportServer) -> None:
    """Folder and server names come from strangers."""
    name = "%3Cscript%3Ealert(1)%3C_script%3E"
    for path in ("/", f"/campaign/{name}", f"/compare?a={name}&b=one"):
        status, _, text = get(server, path)
        assert 200 == status
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_a_running_campaign_is_shown_live(server: ReportServer, folder: Path) -> None:
    """The page asks for live.json; without a run under way it is empty."""
    assert json.loads(get(server, "/campaign/one/live.json")[2])["live"] is None
    live = LiveFile("002-x", "mosquitto", "publishers=1", 2, 3)
    live.add([1.0, "measure", 10.0, 10.0, 1.0, 2.0, 0.1, 1e6, 0.1, 5, 0])
    live.write(folder / "one")
    try:
        found = json.loads(get(server, "/campaign/one/live.json")[2])["live"]
        assert "002-x" == found["run"]
        assert "running" in get(server, "/")[2]
    finally:
        (folder / "one" / "live.json").unlink()


def test_a_live_file_from_the_future_is_no_sign_of_life(server: ReportServer, folder: Path) -> None:
    """Nor is one of a campaign that was killed (see test_live_trace)."""
    LiveFile("r", "s", "", 1, 1).write(folder / "two")
    os.utime(folder / "two/live.json", (9e9, 9e9))

    assert json.loads(get(server, "/campaign/two/live.json")[2])["live"] is None
    (folder / "two/live.json").unlink()


def test_a_folder_whose_name_is_no_text_does_not_break_the_list(server: ReportServer, folder: Path) -> None:
    """The others are listed."""
    odd = folder / os.fsdecode(b"odd\xff")
    odd.mkdir()
    (odd / "campaign.json").write_text("{}")
    status, _, text = get(server, "/")
    shutil.rmtree(odd)

    assert 200 == status
    assert "/campaign/one" in text


def test_slow_clients_hold_no_more_than_their_places(server: ReportServer) -> None:
    """Silent connections beyond the limit are closed at once; when one ends, the next is served."""
    address = ("127.0.0.1", server.server_port)
    silent = [socket.create_connection(address, timeout=30) for _ in range(MOST_CLIENTS)]
    try:
        with socket.create_connection(address, timeout=30) as late:
            assert b"" == late.recv(1)
    finally:
        for each in silent:
            each.close()

    assert eventually(lambda: _answers(server))


def test_a_client_that_drips_its_request_loses_its_place(server: ReportServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte before each read gives up must not keep a place for ever."""
    monkeypatch.setattr(web, "REQUEST_S", 0.5)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=0.05) as slow:
        assert eventually(lambda: _closed_after(slow, b"G"))


def _closed_after(line: socket.socket, byte: bytes) -> bool:
    """Send one more byte and look whether the other side has closed."""
    try:
        line.sendall(byte)
        return line.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_bad_clients_leave_no_traceback_on_the_terminal(
    server: ReportServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """One asks for an address that is none, one is gone in the middle of its request."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as gone:
        gone.sendall(b"GET")
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as line:
        line.sendall(b"GET http://[ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.server_port)
        assert line.recv(100).startswith(b"HTTP/1.1 400")
    assert eventually(lambda: _answers(server))
    assert "" == capfd.readouterr().err


def _answers(server: ReportServer) -> bool:
    try:
        return get(server, "/")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_a_comparison_that_cannot_be_made_says_why(server: ReportServer) -> None:
    """The message, not a stack trace."""
    status, _, text = get(server, "/compare?a=one:emqx&b=two")

    assert 422 == status
    assert "no run of server" in text


def test_a_port_in_use_has_a_clear_message(server: ReportServer, folder: Path) -> None:
    """With the remedy."""
    with pytest.raises(ConfigError, match="--port"):
        make_server(folder, server.server_port)
