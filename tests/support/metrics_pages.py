"""A local HTTP server whose pages look like those of node_exporter and of a server's own process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CORES = 4
BUSY = 0.9  # share of every core, in user mode
SERVER_CORES = 1.5
RESIDENT_BYTES = 123_000_000


def node_page(seconds: float) -> str:
    """As node_exporter has it after so many seconds."""
    lines = ["# TYPE node_cpu_seconds_total counter"]
    for core in range(CORES):
        shares = {"user": BUSY, "idle": 1 - BUSY, "system": 0.0, "steal": 0.0}
        lines += [
            f'node_cpu_seconds_total{{cpu="{core}",mode="{mode}"}} {1000 + share * seconds}'
            for mode, share in shares.items()
        ]
    lines += [
        "node_memory_MemTotal_bytes 8e+09", "node_memory_MemAvailable_bytes 6e+09",
        f'node_disk_written_bytes_total{{device="sda"}} {1e6 * seconds}',
        f'node_disk_io_time_seconds_total{{device="sda"}} {0.25 * seconds}',
        f'node_disk_written_bytes_total{{device="loop0"}} {5e6 * seconds}',
        f'node_network_receive_bytes_total{{device="eth0"}} {300 * seconds}',
        f'node_network_transmit_bytes_total{{device="eth0"}} {200 * seconds}',
        "node_netstat_Tcp_RetransSegs 7", "process_resident_memory_bytes 1.0e+07", "process_cpu_seconds_total 99",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def server_page(seconds: float) -> str:
    """As a server with a Prometheus client library tells about itself."""
    return (
        f"process_cpu_seconds_total {5 + SERVER_CORES * seconds}\nprocess_resident_memory_bytes {RESIDENT_BYTES}\n"
        "process_open_fds 321\n"
    )


@contextmanager
def metrics_pages() -> Iterator[str]:
    """Base URL of a server with the pages /node and /server, whose counters grow with time."""
    started = time.monotonic()
    pages = {"/node": node_page, "/server": server_page}

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            self.send_response(200 if page else 404)
            self.end_headers()
            self.wfile.write(page(time.monotonic() - started).encode() if page else b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
