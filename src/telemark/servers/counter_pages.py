"""Counters of a server that runs elsewhere, from pages it serves: Prometheus text or JSON."""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from telemark.errors import ConfigError
from telemark.host.pages import ask, parsed
from telemark.host.secrets import read_secret
from telemark.model.plan import Secret
from telemark.servers.prometheus import by_labels
from telemark.servers.terms import Counters, Term, add_up

PATIENCE_S = 0.9  # for all pages together: counters are asked for once a second


@dataclass(frozen=True, slots=True)
class CounterPage:
    """One page, and what its numbers are called here."""

    url: str
    form: Literal["prometheus", "json"]
    counters: Counters
    headers: Mapping[str, str] = field(default_factory=dict)
    username: str | None = None  # HTTP basic authentication
    password: Secret | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"counters: url is {self.url!r}, expected an http:// or https:// URL")


def read_pages(pages: Sequence[CounterPage]) -> dict[str, float]:
    """Counters of all pages; those of a page that does not answer in time are missing."""
    deadline = time.monotonic() + PATIENCE_S
    found: dict[str, float] = {}
    for page in pages:
        text = _fetch(page, deadline - time.monotonic())
        found |= {} if text is None else _counters(page, text)
    return found


def _fetch(page: CounterPage, timeout_s: float) -> str | None:
    headers = dict(page.headers)
    if page.username is not None:
        password = read_secret(page.password.env, page.password.file) if page.password else ""
        headers["Authorization"] = "Basic " + base64.b64encode(f"{page.username}:{password}".encode()).decode()
    return fetch_text(page.url, timeout_s, headers)


def fetch_text(url: str, timeout_s: float, headers: Mapping[str, str] | None = None) -> str | None:
    """The text of a page; None when it does not answer in time."""
    body = ask(url, timeout_s, headers=headers)
    return None if body is None else body.decode("utf-8", "replace")


def _counters(page: CounterPage, text: str) -> dict[str, float]:
    values = _Prometheus(text) if page.form == "prometheus" else _Json(text)
    added = {name: add_up(terms, values.of) for name, terms in page.counters.items()}
    return {name: value for name, value in added.items() if value is not None and math.isfinite(value)}


class _Prometheus:
    def __init__(self, text: str) -> None:
        self._metrics = by_labels(text)

    def of(self, term: Term) -> float | None:
        return term.together(self._metrics.get(term.name, {}))


class _Json:
    def __init__(self, text: str) -> None:
        self._document = parsed(text)

    def of(self, term: Term) -> float | None:
        return term.together(dict(_walk(self._document, term.name.split("."), "")))


def _walk(value: Any, path: Sequence[str], key: str) -> Iterator[tuple[str, float]]:
    """Numbers at a path whose `*` stands for every entry of a list or table, with the entries' keys."""
    if not path:
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)
            if math.isfinite(number):
                yield key, number
        return
    step, rest = path[0], path[1:]
    if step == "*":
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, entry in entries:
            yield from _walk(entry, rest, f"{key}/{name}")
    elif isinstance(value, dict) and step in value:
        yield from _walk(value[step], rest, key)
