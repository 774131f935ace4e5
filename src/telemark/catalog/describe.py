"""The reference page of the scenario file format, written from its definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from telemark.catalog.check import expectation
from telemark.catalog.format import ADDING, TABLES, Key
from telemark.model.capabilities import CAPABILITIES
from telemark.model.plan import Group, JmsConsumers, ListenerPlan, Load, Phases, Publish, Reconnect, Subscription, Will

_TITLES = {
    "file": "The file",
    "suite": "`[suite]`",
    "family": "`[[family]]`",
    "when": "`[[family.when]]`",
    "sizes": "`[family.sizes]`",
    "size": "`[family.sizes.SIZE]`",
    "phases": "`[family.sizes.SIZE.phases]`",
    "group": "`[family.groups.NAME]`",
    "publish": "`[family.groups.NAME.publish]`",
    "subscription": "`[[family.groups.NAME.subscriptions]]`",
    "will": "`[family.groups.NAME.will]`",
    "reconnect": "`[family.groups.NAME.reconnect]`",
    "listener": "`[family.listeners.NAME]`",
    "load": "`[family.load]`",
    "step": "`[[family.load.steps]]`",
    "consumers": "`[family.consumers]`",
}
_DEFAULTS = {
    "phases": Phases, "group": Group, "publish": Publish, "subscription": Subscription, "will": Will,
    "reconnect": Reconnect, "listener": ListenerPlan, "load": Load, "consumers": JmsConsumers,
}  # fmt: skip
_SHAPES = {
    "texts": "list of texts",
    "table": "table",
    "tables": "list of tables",
    "map": "table of tables",
    "scalars": "table of values",
    "lists": "table: a value or a list of values each",
    "rows": "list of tables of values",
    "names": "table of tables of texts",
}

_INTRODUCTION = f"""\
# Scenario files

A scenario file is TOML. It holds one suite: facts about where the scenarios come from, and families of scenarios.
`telemark run my.toml` runs all of its scenarios, `telemark run my.toml/CASE` one of them; `telemark list my.toml`,
`show` and `plan` take it the same way. Every problem of a file is reported at once, and a key that is not listed
here is refused. Published results may lie beside the file, in `published/<file name>.csv`.

## Parameters

A parameter is a name with a value. It gets its value from the case (see `axes` and `cases`) or from the size: `set`
gives one value, `sweep` a list of which every combination is a point, `points` rows of values that belong together.
`--publishers`, `--set NAME=VALUE` and their kin override them; `--duration` sets `measure_s`, or `hold_s` where nothing
is sent.

`<name>` stands for a parameter's value: alone it keeps its type (`count = "<publishers>"`), inside other text it
becomes text (`"p{{index%<subscribers>}}/#"`). A chain of `+ - * / %` with numbers or other parameters may follow,
applied left to right: `<publishers/partition>`. Whole numbers divide to whole numbers. In `set`, a table looks the
value up in the published results: `{{ published = "received_rate", by = ["vm"], like = {{ CASE = "OTHER CASE" }} }}`.

`{{index}}` and `{{sequence}}` in topics, filters and client ids are filled in by the engine: the device's number in its
group and the message's number in its stream, with any of `/n`, `%n`, `+n` after the name.

## Families and changes

The `name` of a family holds `{{axis}}` for each axis; `cases` lists the combinations that exist, so a family of two
axes with two values may have three scenarios. `[[family.when]]` tables change the scenario for cases or points whose
parameters match, in the order of the file. Tables merge, values and lists replace what was there; the lists
{", ".join(f"`{name}`" for name in sorted(ADDING))} grow instead. A change that depends on a point's parameters cannot
change sizes.
"""


def scenario_file() -> str:
    """The page as Markdown."""
    parts = [_INTRODUCTION]
    for name, table in TABLES.items():
        parts += [f"## {_TITLES[name]}", "", *_table(name, table), ""]
    parts += ["## Capabilities for `needs`", "", "Most needs are read off the plan; these are all there are.", ""]
    parts += ["| name | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in CAPABILITIES.items())]
    return "\n".join(parts) + "\n"


def _table(name: str, table: Mapping[str, Key]) -> list[str]:
    defaults = _default_values(name)
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key, rule in table.items():
        default = "required" if rule.required else defaults.get(key, "")
        lines.append(f"| `{key}` | {_value(rule)} | {default} | {_escape(rule.about)} |")
    return lines


def _value(rule: Key) -> str:
    if rule.kind == "texts" and rule.allowed:
        return "list of capability names"
    text = _SHAPES.get(rule.kind) or expectation(rule)
    return text + (", a pattern" if rule.pattern else "")


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _default_values(name: str) -> dict[str, str]:
    """Defaults of the plan's dataclass behind a table."""
    if name not in _DEFAULTS:
        return {}
    simple = (str, int, float, bool, tuple)
    return {
        field.name: f"`{field.default}`"
        for field in fields(_DEFAULTS[name])
        if isinstance(field.default, simple) and field.default not in ("", ())
    }
