"""The reference page of the scenario file format, written from its definition."""

from __future__ import annotations

from collections.abc import Mapping

from telemark.catalog.format import ADDING, TABLES, Variants
from telemark.model.capabilities import CAPABILITIES
from telemark.model.keys import Key, keys_of

_TITLES = {
    "file": "The file",
    "suite": "`[suite]`",
    "family": "`[[family]]`",
    "when": "`[[family.when]]`",
    "sizes": "`[family.sizes]`",
    "size": "`[family.sizes.SIZE]`",
    "phases": "`[family.sizes.SIZE.phases]`",
    "group": "`[family.groups.NAME]`",
    "listener": "`[family.listeners.NAME]`",
    "load": "`[family.load]`",
    "consumers": "`[family.consumers]`",
}
_CONTAINERS = {
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
{", ".join(f"`{name}`" for name in sorted(ADDING))} grow instead. A `load` of another shape replaces the whole table. A
change that depends on a point's parameters cannot change sizes.
"""


def scenario_file() -> str:
    """The page as Markdown."""
    parts = [_INTRODUCTION]
    for name, table in TABLES.items():
        if isinstance(table, Variants):
            parts += _variants(_TITLES[name], table)
        else:
            parts += _section(_TITLES[name], table)
    parts += ["## Capabilities for `needs`", "", "Most needs are read off the plan; these are all there are.", ""]
    parts += ["| name | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in CAPABILITIES.items())]
    return "\n".join(parts) + "\n"


def _section(title: str, keys: Mapping[str, Key], level: str = "##") -> list[str]:
    """One table, followed by the tables inside it that become dataclasses."""
    lines = [f"{level} {title}", "", "| key | value | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {_value(key)} | {_default(key)} | {_escape(key.about)} |" for name, key in keys.items()]
    lines.append("")
    for name, key in keys.items():
        if isinstance(key.table, type):
            inner = f"{title.strip('`[]')}.{name}"
            lines += _section(f"`[[{inner}]]`" if key.kind == "tables" else f"`[{inner}]`", keys_of(key.table), level)
    return lines


def _variants(title: str, table: Variants) -> list[str]:
    """A table whose keys depend on its tag: one part for each value."""
    lines = [f"## {title}", "", f"`{table.tag}` is required: {table.about}. The other keys depend on it.", ""]
    for name, member in table.members.items():
        about = (member.__doc__ or "").partition("\n")[0]
        part = _section(title, keys_of(member), "###")
        lines += [f'### `{table.tag} = "{name}"`', "", about, *part[1:]]
    return lines


def _value(key: Key) -> str:
    if key.kind == "texts" and key.allowed:
        return "list of capability names"
    text = _CONTAINERS.get(key.kind) or key.expectation()
    return text + (", a pattern" if key.pattern else "")


def _default(key: Key) -> str:
    if key.required:
        return "required"
    text = str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
    return "" if key.default in (None, "", ()) else f"`{text}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
