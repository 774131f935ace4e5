"""Reads attributes of a Java server's management beans through its Jolokia HTTP interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from telemark.servers.http_json import get_json


def read(port: int, path: str, bean: str, attributes: Sequence[str]) -> dict[str, Any]:
    """Values by attribute; empty when the server does not answer. With a pattern: values by bean, then attribute.

    Args:
        port: of the HTTP interface on this host.
        path: where Jolokia is mounted, for example "/api/jolokia".
        bean: object name, escaped by the caller where it holds `/` or `!`.
        attributes: names to read.
    """
    names = ",".join(attributes)
    answer = get_json(port, f"{path}/read/{quote(bean, safe=':,=*!')}/{names}?ignoreErrors=true")
    value = answer.get("value") if isinstance(answer, dict) and answer.get("status") == 200 else None
    return value if isinstance(value, dict) else {}
