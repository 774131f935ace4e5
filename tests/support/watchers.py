"""The real Prometheus and the real carbon, in folders of their own."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from telemark.host.ports import free_ports
from tests.support.requirements import require_program
from tests.support.waiting import eventually

CARBON_CONF = """[cache]
STORAGE_DIR = {folder}
LOCAL_DATA_DIR = {folder}/whisper
CONF_DIR = {folder}
LOG_DIR = {folder}
PID_DIR = {folder}
USER =
MAX_CREATES_PER_MINUTE = inf
MAX_UPDATES_PER_SECOND = inf
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {line}
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = {pickle}
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {query}
WHISPER_AUTOFLUSH = True
"""


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    """A program until the end of the block."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as child:
        try:
            yield
        finally:
            child.terminate()
            child.wait(30)


class Prometheus:
    """Reads a page once a second."""

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=30) as answer:
            return answer.read()

    def ready(self) -> bool:
        try:
            return bool(self.get("/-/ready"))
        except OSError:
            return False

    def ask(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of every series of an answer; a query that it does not understand raises."""
        answer = json.loads(self.get("/api/v1/query?" + urllib.parse.urlencode({"query": query})))
        return [(found["metric"], float(found["value"][1])) for found in answer["data"]["result"]]


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[Prometheus]:
    """Prometheus with the configuration of the guide, reading this port."""
    program, port = require_program("prometheus"), free_ports(1)[0]
    guide = Path(__file__).parents[2] / "docs" / "monitoring" / "prometheus.yml"
    (folder / "prometheus.yml").write_text(guide.read_text().replace("9464", str(target)))
    command = [
        program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with running(command, folder / "prometheus.log"):
        found = Prometheus(port)
        assert eventually(found.ready), (folder / "prometheus.log").read_text()
        yield found


class Carbon:
    """Keeps what it is sent in files."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self.port = port

    def last(self, path: str) -> float | None:
        """The newest value of a path."""
        file = self._folder / "whisper" / f"{path.replace('.', '/')}.wsp"
        if not file.exists():
            return None
        fetch = [require_program("whisper-fetch"), "--json", "--from=0", str(file)]
        done = subprocess.run(fetch, capture_output=True, text=True, check=False)
        values = json.loads(done.stdout)["values"] if done.returncode == 0 else []
        return next((value for value in reversed(values) if value is not None), None)


@contextmanager
def carbon(folder: Path) -> Iterator[Carbon]:
    """The carbon daemon with the storage rule of the guide."""
    program, ports = require_program("carbon-cache"), free_ports(3)
    (folder / "carbon.conf").write_text(
        CARBON_CONF.format(folder=folder, line=ports[0], pickle=ports[1], query=ports[2])
    )
    schemas = Path(__file__).parents[2] / "docs" / "monitoring" / "storage-schemas.conf"
    (folder / "storage-schemas.conf").write_text(schemas.read_text().replace("1s:1d,10s:30d", "1s:1h"))
    command = [program, f"--config={folder}/carbon.conf", "--nodaemon", "start"]
    with running(command, folder / "carbon.log"):
        assert eventually(lambda: _listens(ports[0])), (folder / "carbon.log").read_text()
        yield Carbon(folder, ports[0])


def _listens(port: int) -> bool:
    table = Path("/proc/net/tcp").read_text()
    return f"0100007F:{port:04X} 00000000:0000 0A" in table
