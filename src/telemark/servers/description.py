"""A server described in one TOML file: where it is, what it can do, what its counters are called.

`docs/guides/describe-a-server.md` has every key. A description says nothing that an option of the `remote` adapter
could not say too, apart from counters of several pages: its tables become those options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from telemark.errors import ConfigError
from telemark.host.toml import read_toml
from telemark.model.capabilities import CAPABILITIES
from telemark.model.plan import Secret
from telemark.servers.counter_pages import CounterPage
from telemark.servers.terms import COUNTERS, Counters, Term

FORMAT = 1
FOLDER = Path(__file__).parent / "descriptions"
NOT_TRIED = "not tried here"
# table -> its keys and the option of the remote adapter each of them is
TABLES: dict[str, dict[str, str]] = {
    "tls": {each: each for each in ("ca", "server_name", "verify", "tls_version", "cipher", "certificate", "key")},
    "psk": {"identity": "psk_identity", "file": "psk_file"},
    "login": {each: each for each in ("username", "password_env", "password_file")},
    "jms": {each: f"jms_{each}" for each in ("url", "provider", "ca", "classpath", "api")},
}
_KINDS: dict[str, type] = {
    "format": int,
    "counter_lag": float,
    **dict.fromkeys(("name", "title", "tried", "version"), str),
    **dict.fromkeys(("notes", "capabilities", "counters"), list),
    **dict.fromkeys(("options", "endpoints", "pair", "shared", *TABLES), dict),
}
_PAGE_KEYS = {"from", "url", "endpoint", "headers", "username", "password_env", "password_file"}
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Description:
    """What a file says, with the user's values filled in."""

    name: str = "remote"
    title: str = ""
    tried: str = ""
    notes: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)  # of the remote adapter
    variables: tuple[str, ...] = ()  # options of its own, which fill its texts
    asked_for: tuple[str, ...] = ()  # options its address needs, without a default, that were not given
    share_prefix: Mapping[str, str] = field(default_factory=dict)  # MQTT version -> what stands for $share/NAME/
    sys: Counters = field(default_factory=dict)
    sys_endpoint: str = "devices"
    pages: tuple[CounterPage, ...] = ()


def names() -> tuple[str, ...]:
    """Servers whose descriptions are shipped."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def read(path: Path, given: Mapping[str, str]) -> tuple[Description, dict[str, str]]:
    """A description, and those of the given options that are not its own.

    Raises:
        ConfigError: with every problem of the file.
    """
    try:
        document = read_toml(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"server description {path}: {error}") from error
    problems = _problems(document)
    if problems:
        raise ConfigError(
            f"server description {path} cannot be used",
            hint="docs/guides/describe-a-server.md has every key",
            problems=tuple(problems),
        )
    variables = {name: str(value) for name, value in document.get("options", {}).items()}
    rest = {name: value for name, value in given.items() if name not in variables}
    return _description(document, variables | {name: given[name] for name in variables if name in given}), rest


def _description(document: Mapping[str, Any], variables: Mapping[str, str]) -> Description:
    filled = _fill(document, variables)
    pages, sys = [], {}
    for source in filled.get("counters", ()):
        counters = {name: _terms(value) for name, value in source.items() if name not in _PAGE_KEYS}
        if source["from"] == "sys":
            sys = counters
        elif source["url"]:  # empty when an option it needs was not given
            pages.append(_page(source, counters))
    return Description(
        name=filled["name"],
        title=filled.get("title", ""),
        tried=filled.get("tried", NOT_TRIED),
        notes=tuple(filled.get("notes", ())),
        options=_options(filled),
        variables=tuple(variables),
        asked_for=tuple(name for name in _PLACE.findall(document["endpoints"]["devices"]) if not variables.get(name)),
        share_prefix=filled.get("shared", {}),
        sys=sys,
        sys_endpoint=next((each["endpoint"] for each in filled.get("counters", ()) if "endpoint" in each), "devices"),
        pages=tuple(pages),
    )


def _options(filled: Mapping[str, Any]) -> dict[str, str]:
    """The tables as options of the remote adapter. Values that stayed empty are not given."""
    found = {"label": filled["name"], "version": filled.get("version", "")}
    if "counter_lag" in filled:
        found["counter_lag"] = str(filled["counter_lag"])
    if "capabilities" in filled:
        found["capabilities"] = ",".join(filled["capabilities"])
    for prefix, table in (("url", "endpoints"), ("standby", "pair")):
        for role, url in filled.get(table, {}).items():
            found[prefix if role == "devices" else f"{prefix}_{role}"] = url
    for table, keys in TABLES.items():
        found |= {keys[key]: str(value) for key, value in filled.get(table, {}).items()}
    return {name: value for name, value in found.items() if value}


def _page(source: Mapping[str, Any], counters: Counters) -> CounterPage:
    secret = Secret(source.get("password_env"), source.get("password_file"))
    return CounterPage(
        source["url"],
        source["from"],
        counters,
        source.get("headers", {}),
        source.get("username") or None,
        secret if secret.env or secret.file else None,
    )


def _terms(value: Any) -> tuple[Term, ...]:
    entries = value if isinstance(value, list) else [value]
    return tuple(Term(each) if isinstance(each, str) else _term(each) for each in entries)


def _term(entry: Mapping[str, Any]) -> Term:
    leave_out = re.compile(entry["except"]) if "except" in entry else None
    return Term(entry["name"], entry.get("take", "sum"), leave_out, bool(entry.get("minus", False)))


def _fill(value: Any, variables: Mapping[str, str]) -> Any:
    """The same document with `{name}` replaced; what has no value becomes empty as a whole."""
    if isinstance(value, dict):
        return {key: _fill(entry, variables) for key, entry in value.items()}
    if isinstance(value, list):
        return [_fill(entry, variables) for entry in value]
    if not isinstance(value, str):
        return value
    wanted = [name for name in _PLACE.findall(value) if name in variables]
    if any(not variables[name] for name in wanted):
        return ""
    return _PLACE.sub(lambda match: variables.get(match[1], match[0]), value)


def _problems(document: Mapping[str, Any]) -> list[str]:
    """Everything wrong with a file, so that it is mended once."""
    found = [] if document.get("format") == FORMAT else [f"format: {document.get('format')!r}, expected {FORMAT}"]
    for key, value in document.items():
        kind = _KINDS.get(key)
        if kind is None:
            found.append(f"{key}: unknown, expected one of {', '.join(_KINDS)}")
        elif type(value) not in ((int, float) if kind is float else (kind,)):
            found.append(f"{key}: {value!r}, expected a {kind.__name__}")
    return found or _inner_problems(document)


def _inner_problems(document: Mapping[str, Any]) -> list[str]:
    found = [] if document.get("name") else ["name: missing"]
    known = ", ".join(CAPABILITIES)
    found += [
        f"capabilities: {each!r} is unknown, expected of {known}"
        for each in document.get("capabilities", ())
        if each not in CAPABILITIES
    ]
    if "devices" not in document.get("endpoints", {}):
        found.append("endpoints.devices: missing, expected a URL such as mqtt://{host}:1883")
    found += [
        f"{table}.{key}: unknown, expected one of {', '.join(keys)}"
        for table, keys in TABLES.items()
        for key in document.get(table, {})
        if key not in keys
    ]
    for number, source in enumerate(document.get("counters", ()), 1):
        found += [f"counters {number}: {problem}" for problem in _source_problems(source)]
    return found


def _source_problems(source: Any) -> list[str]:
    if not isinstance(source, dict):
        return [f"{source!r}, expected a table"]
    found = []
    if source.get("from") not in ("sys", "prometheus", "json"):
        found.append(f"from: {source.get('from')!r}, expected sys, prometheus or json")
    elif source["from"] != "sys" and not source.get("url"):
        found.append("url: missing")
    for name, value in source.items():
        if name in _PAGE_KEYS:
            continue
        if name not in COUNTERS:
            found.append(f"{name}: no counter, expected one of {', '.join(COUNTERS)}")
        for entry in value if isinstance(value, list) else [value]:
            found += [f"{name}: {problem}" for problem in _term_problems(entry)]
    return found


def _term_problems(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return []
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return [f"{entry!r}, expected a text or {{ name = ..., take = ..., except = ..., minus = ... }}"]
    found = [f"{key} is unknown" for key in entry if key not in ("name", "take", "except", "minus")]
    if entry.get("take", "sum") not in ("sum", "max"):
        found.append(f"take is {entry['take']!r}, expected sum or max")
    try:
        re.compile(entry.get("except", ""))
    except (re.error, TypeError) as error:
        found.append(f"except is no regular expression: {error}")
    return found
