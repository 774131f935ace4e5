"""Small HTTP requests for the management interfaces of servers on this host; no proxy, no redirects to elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from telemark.host.pages import ask, parsed
from telemark.host.ports import LOOPBACK

Headers = Mapping[str, str]


def get_text(port: int, path: str, *, timeout_s: float = 0.8) -> str | None:
    """Body of a successful answer; None when there is none in time. Counters are missing then, never zero."""
    body = ask(_url(port, path), timeout_s)
    try:
        return None if body is None else body.decode()
    except UnicodeDecodeError:
        return None


def get_json(port: int, path: str, *, timeout_s: float = 0.8, headers: Headers = MappingProxyType({})) -> Any:
    """The answer as data; None when there is none in time or it is not JSON."""
    return parsed(ask(_url(port, path), timeout_s, headers=headers))


def post_json(
    port: int, path: str, data: Any, *, timeout_s: float = 0.8, headers: Headers = MappingProxyType({})
) -> Any:
    """The answer to data that is posted; None when there is none in time or it is not JSON."""
    return parsed(ask(_url(port, path), timeout_s, method="POST", body=json.dumps(data), headers=headers))


def _url(port: int, path: str) -> str:
    return f"http://{LOOPBACK}:{port}{path}"
