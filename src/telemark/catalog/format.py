"""The scenario file format as data: every table, every key, what it may hold and what it means.

The checker (`check.py`) and the reference page (`describe.py`) both read these definitions, so that neither can
disagree with the other. Tables that become dataclasses of the plan are described there, at the fields.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from telemark.consumers.registry import KINDS
from telemark.consumers.registry import TAG as KIND
from telemark.errors import ConfigError
from telemark.model.capabilities import CAPABILITIES
from telemark.model.keys import Key, keys_of
from telemark.model.plan import Group, ListenerPlan, Phases
from telemark.model.plan.shapes import SHAPES
from telemark.model.plan.shapes import TAG as SHAPE
from telemark.verdicts.metrics import COLUMNS
from telemark.verdicts.thresholds import parse_thresholds

FORMAT_VERSION = 1
SIZES = ("quick", "laptop", "published")


@dataclass(frozen=True, slots=True)
class Variants:
    """A table whose keys depend on the value of one of them, the tag."""

    tag: str
    about: str  # of the tag
    members: Mapping[str, type]  # value of the tag -> the dataclass it stands for

    def keys(self, table: Mapping[str, Any]) -> Mapping[str, Key]:
        """The keys of the variant a table names; those of all variants when it names none that is known."""
        tag = Key("text", self.about, required=True, allowed=tuple(self.members))
        chosen = self.members.get(str(table.get(self.tag)))
        if chosen is not None:
            return {self.tag: tag} | keys_of(chosen)
        every = {name: key for member in self.members.values() for name, key in keys_of(member).items()}
        return {self.tag: tag} | {name: replace(key, required=False) for name, key in every.items()}


def _text(about: str, *, required: bool = False, allowed: tuple[str, ...] | None = None) -> Key:
    return Key("text", about, required=required, allowed=allowed)


def _whole(about: str, minimum: float = 0, *, required: bool = False, allowed: tuple[int, ...] | None = None) -> Key:
    return Key("integer", about, required=required, allowed=allowed, minimum=minimum)


def _fixed(key: Key) -> Key:
    """The same key, without expressions: it is read before any parameter has a value."""
    return replace(key, expression=False)


@lru_cache(maxsize=1024)
def _threshold_problem(text: str) -> str | None:
    """What is wrong with a rule; None when it can be judged."""
    try:
        parse_thresholds(text)
    except ConfigError as error:
        return "; ".join(error.problems) or error.message
    return None


def _headline_problem(text: str) -> str | None:
    if text in COLUMNS:
        return None
    near = difflib.get_close_matches(text, COLUMNS, 3) or ["latency_p99_us"]
    return f"found {text!r}, expected a numeric column of the table points, for example {', '.join(near)}"


FILE: dict[str, Key] = {
    "format": _fixed(_whole("version of this format; this one is 1", required=True, allowed=(FORMAT_VERSION,))),
    "suite": Key("table", "facts about the report the scenarios come from", required=True, table="suite"),
    "family": Key("tables", "scenarios that differ only in parameters", required=True, table="family"),
}

SUITE: dict[str, Key] = {
    "name": _fixed(_text("short name, the SUITE of SUITE/CASE", required=True)),
    "title": _fixed(_text("title of the report or benchmark", required=True)),
    "source": _fixed(_text("who published it", required=True)),
    "date": _fixed(_text("when, as year, year-month or year-month-day", required=True)),
    "hardware": Key("texts", "machines it was measured on", expression=False),
    "notes": Key("texts", "what holds for every scenario: how ours differ from the report", expression=False),
}

# What a family, and each of its `when` tables, may say about the scenario.
BODY: dict[str, Key] = {
    "title": _fixed(_text("one line")),
    "about": _fixed(_text("what the scenario does and asks, in words")),
    "where": _fixed(_text("section, table or page of the report")),
    "measures": _fixed(
        _text("what the answer is", allowed=("throughput", "latency", "connections", "memory", "scaling"))
    ),
    "headline": Key(
        "text", "the column of `points` that is the result; chosen by `measures` when left out", rule=_headline_problem
    ),
    "search": _fixed(
        Key("boolean", "the published value is a maximum: `telemark search` finds it, `run` plans a rate")
    ),
    "search_over": _fixed(
        _text(
            "parameter whose highest value `telemark search` finds, where it is not the rate", allowed=("publishers",)
        )
    ),
    "groups": Key("map", "devices by group name; subscribers first, they connect first", table="group"),
    "listeners": Key("map", "what the scenario asks of the server's listeners, by name", table="listener"),
    "load": Key("table", "how often messages are sent", table="load"),
    "consumers": Key("table", "back-end consumers that are not MQTT devices", table="consumers"),
    "server": Key("scalars", "options for the server adapter, for example max_queued_messages"),
    "profile": _text("how durable the server must be", allowed=("memory", "durable", "fsync")),
    "needs": Key("texts", "capabilities the server must have", allowed=tuple(CAPABILITIES)),
    "thresholds": Key(
        "texts", "rules that make the verdict, for example `mean_latency < 500 ms`", rule=_threshold_problem
    ),
    "connect_rate": Key(
        "number", "devices connected a second, all processes together; 0: as fast as possible", minimum=0
    ),
    "connect_parallel": _whole("connection attempts under way at once", 1),
    "notes": Key("texts", "how the scenario differs from the report, printed with every result"),
    "sizes": Key("table", "what each size sets and sweeps", table="sizes", expression=False),
}

FAMILY: dict[str, Key] = {
    "name": _fixed(_text("name template: {axis} stands for the text of the case's value", required=True)),
    "axes": Key("names", "axis -> values and the text each puts into the name; the first is the default"),
    "cases": Key("rows", "the cases that exist: axis values, a list of values gives one case each", expression=False),
    "parameters": Key("scalars", "what each parameter means, by name", expression=False),
    "when": Key("tables", "changes to the scenario when parameters have certain values", table="when"),
    **BODY,
}

WHEN: dict[str, Key] = {
    "match": Key("lists", "parameter -> value or list of values; all must hold", required=True, expression=False),
    **BODY,
}

SIZES_TABLE: dict[str, Key] = {size: Key("table", f"--size {size}", table="size") for size in SIZES}

SIZE: dict[str, Key] = {
    "set": Key("scalars", "parameter -> value, or { published = metric, by = [...], like = { CASE = CASE } }"),
    "sweep": Key("lists", "parameter -> list of values; every combination is a point", expression=False),
    "points": Key("rows", "parameters that change together: one row each, combined with the sweep", expression=False),
    "phases": Key("table", "lengths of the phases", table="phases"),
    "notes": Key("texts", "how this size differs from the published one"),
}

TABLES: Mapping[str, Mapping[str, Key] | Variants] = {
    "file": FILE,
    "suite": SUITE,
    "family": FAMILY,
    "when": WHEN,
    "sizes": SIZES_TABLE,
    "size": SIZE,
    "phases": keys_of(Phases),
    "group": keys_of(Group)
    | {
        "password_env": _text("environment variable that holds the password"),
        "password_file": _text("file whose first line is the password"),
    },
    "listener": keys_of(ListenerPlan),
    "load": Variants(SHAPE, "load shape", SHAPES),
    "consumers": Variants(KIND, "kind of consumers", KINDS),
}

# Tables that a `when` replaces as a whole when it names another variant: the keys of the old one do not fit.
TAGGED = {name: table.tag for name, table in TABLES.items() if isinstance(table, Variants)}


def definition_of(table: str | type, value: Mapping[str, Any]) -> Mapping[str, Key]:
    """The keys of a table: by its name above, or by the dataclass it becomes."""
    if isinstance(table, type):
        return keys_of(table)
    found = TABLES[table]
    return found.keys(value) if isinstance(found, Variants) else found


# Lists that a `when` table adds to instead of replacing.
ADDING = frozenset({"needs", "thresholds", "notes"})
