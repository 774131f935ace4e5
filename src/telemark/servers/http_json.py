"""Small HTTP GET for the management interfaces of servers on this host; no proxy, no redirects to elsewhere."""

from __future__ import annotations

import http.client
import json
from typing import Any

from telemark.servers.ports import LOOPBACK


def get_text(port: int, path: str, *, timeout_s: float = 0.8) -> str | None:
    """Body of a successful answer; None when there is none in time. Counters are missing then, never zero."""
    headers = {"Origin": f"http://{LOOPBACK}"}  # Jolokia answers only requests that say where they come from
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
    except (OSError, http.client.HTTPException, UnicodeDecodeError):
        return None
    finally:
        connection.close()
    return body if answer.status == 200 else None


def get_json(port: int, path: str, *, timeout_s: float = 0.8) -> Any:
    """The answer as data; None when there is none in time or it is not JSON."""
    body = get_text(port, path, timeout_s=timeout_s)
    try:
        return json.loads(body) if body is not None else None
    except ValueError:
        return None
