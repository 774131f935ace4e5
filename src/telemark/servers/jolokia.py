"""Reads attributes of a Java server's management beans through its Jolokia HTTP interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from telemark.host.ports import LOOPBACK
from telemark.servers.http_json import get_json, post_json

ORIGIN = {"Origin": f"http://{LOOPBACK}"}  # Jolokia answers only requests that say where they come from
MOST_BEANS = 1000  # reading more of them every second would weigh on the server that is measured


def read(port: int, path: str, bean: str, attributes: Sequence[str]) -> dict[str, Any]:
    """Values by attribute; empty when the server does not answer. With a pattern: values by bean, then attribute.

    Args:
        port: of the HTTP interface on this host.
        path: where Jolokia is mounted, for example "/api/jolokia".
        bean: object name, escaped by the caller where it holds `/` or `!`.
        attributes: names to read.
    """
    names = ",".join(attributes)
    value = _value(get_json(port, f"{path}/read/{quote(bean, safe=':,=*!')}/{names}?ignoreErrors=true", headers=ORIGIN))
    return value if isinstance(value, dict) else {}


class Queues:
    """Sums and maxima over the server's subscription queues, a bean each.

    A pattern is compared with every bean of the server, one for each topic among them: the names are searched again
    only when the number of queues has changed or one of them has gone.
    """

    def __init__(self, path: str, pattern: str, attributes: Sequence[str], wanted: Callable[[str], bool]) -> None:
        self._path = path
        self._pattern = pattern
        self._attributes = tuple(attributes)  # added up, they are the messages of a queue
        self._wanted = wanted
        self._names: list[str] = []
        self._count = -1.0

    def counters(self, port: int, count: float) -> dict[str, float]:
        """`buffered_messages` and `largest_queue`; empty with too many queues, or when one cannot be read.

        Args:
            port: of the HTTP interface on this host.
            count: the server's own number of queues or subscriptions: another number means another search.
        """
        if count > MOST_BEANS:
            return {}
        if count != self._count:
            found = _value(get_json(port, f"{self._path}/search/{quote(self._pattern, safe=':,=*!')}", headers=ORIGIN))
            self._names = [name for name in _list(found) if isinstance(name, str) and self._wanted(name)]
            self._count = count
        depths = self._depths(port)
        if None in depths:
            self._count = -1
            return {}
        known = [depth for depth in depths if depth is not None]
        return {"buffered_messages": sum(known), "largest_queue": max(known, default=0.0)}

    def _depths(self, port: int) -> list[float | None]:
        if not self._names:
            return []
        wanted = list(self._attributes)
        reads = [{"type": "read", "mbean": name, "attribute": wanted} for name in self._names]
        answers = post_json(port, f"{self._path}/", reads, headers=ORIGIN)
        return [_depth(_value(each)) for each in _list(answers)] or [None]


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _depth(values: Any) -> float | None:
    try:
        return float(sum(values.values())) if isinstance(values, dict) else None
    except (TypeError, OverflowError):  # an attribute that is no number
        return None


def _value(answer: Any) -> Any:
    return answer.get("value") if isinstance(answer, dict) and answer.get("status") == 200 else None
