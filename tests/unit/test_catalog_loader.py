"""Scenario files of users: they work like ours, and every problem is reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.errors import ConfigError, ExitCode

GOOD = """
format = 1

[suite]
name = "mine"
title = "My own"
source = "me"
date = "2026"

[[family]]
name = "CHAT{kind}"
title = "Devices chat"
about = "Everyone talks."
where = "nowhere"
thresholds = ["lost == 0"]
cases = [{ kind = ["plain", "loud"] }]

[family.axes]
kind = { plain = "", loud = ".LOUD" }

[family.groups.devices]
count = "<devices>"
subscriptions = [{ filter = "room/{index%<rooms>}", qos = 1 }]
publish = { topic = "room/{index%<rooms>}", qos = 1, size = "<payload>" }

[family.load]
shape = "paced"
rate = "<devices*2>"

[[family.when]]
match = { kind = "loud" }
load.rate = "<devices*20>"

[[family.when]]
match = { rooms = 5 }
notes = ["five rooms"]

[family.sizes.quick]
set = { devices = 20, payload = 64 }
sweep = { rooms = [1, 5] }
phases = { measure_s = 3 }
"""


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(folder: Path, text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load([write(folder, text)])
    assert ExitCode.BAD_CONFIG == caught.value.exit_code
    return caught.value.problems


def test_a_users_file_is_loaded_beside_the_built_in_suites(tmp_path: Path) -> None:
    """Its scenarios are found, expanded and planned in the same way."""
    catalog = load([write(tmp_path, GOOD)])

    assert {"messagesight", "mine"} <= set(catalog.suites)
    assert ["CHAT", "CHAT.LOUD"] == [scenario.name for scenario in catalog.suite("mine").scenarios]
    plain, loud = (plan_points(catalog.find(name), "quick") for name in ("mine/CHAT", "mine/CHAT.LOUD"))
    assert [40, 40] == [plan.load.rate for plan in plain]
    assert [400, 400] == [plan.load.rate for plan in loud]
    assert ["rooms=1", "rooms=5"] == [plan.point for plan in plain]
    assert [(), ("five rooms",)] == [plan.notes for plan in plain]


def test_a_users_published_results_are_read_from_beside_the_file(tmp_path: Path) -> None:
    """`published/<file name>.csv`, with the built-in columns."""
    (tmp_path / "published").mkdir()
    header = "scenario,parameters,server,metric,value,unit,source,note\n"
    write(tmp_path / "published", header + "CHAT,rooms=5,Acme 1,received_rate,12.5,msg/s,Table 1,\n", "mine.csv")

    (result,) = load([write(tmp_path, GOOD)]).find("mine/CHAT").published

    assert (12.5, {"rooms": 5}, "Acme 1") == (result.value, result.parameters, result.server)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With its path, because that is what the user mistyped."""
    with pytest.raises(ConfigError) as caught:
        load([tmp_path / "missing.toml"])

    assert "missing.toml" in caught.value.problems[0]


def test_every_problem_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    """File, table and key, value found, values allowed: one line each."""
    text = (
        GOOD.replace('date = "2026"', "colour = 3")
        .replace("qos = 1, size", "qos = 7, size")
        .replace('shape = "paced"', 'shape = "wavy"')
        .replace('{index%<rooms>}", qos = 1 }]', '{indx}", qos = true }]')
        .replace("measure_s = 3", "measure_s = -3")
        .replace('thresholds = ["lost == 0"]', 'needs = ["teleport"]')
    )

    found = problems_of(tmp_path, text)

    expected = {
        "suite.colour": "unknown key",
        "suite.date": "missing",
        "family[0].groups.devices.publish.qos": "found 7, expected one of 0, 1, 2",
        "family[0].load.shape": "found 'wavy', expected one of batched, burst",
        "family[0].groups.devices.subscriptions[0].filter": "pattern 'room/{indx}': found {indx}",
        "family[0].groups.devices.subscriptions[0].qos": "found true",
        "family[0].sizes.quick.phases.measure_s": "found -3",
        "family[0].needs[0]": "found 'teleport'",
    }
    for place, words in expected.items():
        (line,) = [problem for problem in found if f"mine.toml: {place}:" in problem]
        assert words in line
    assert len(expected) == len(found)


def test_an_unknown_key_suggests_the_nearest_one(tmp_path: Path) -> None:
    """A typing mistake must not be taken for a default."""
    (line,) = problems_of(tmp_path, GOOD.replace("thresholds = ", "threshold = "))

    assert "did you mean thresholds?" in line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"<devices*2>"', '"<device*2>"'), "unknown parameter <device>"),
        (("payload = 64", "payload = 16"), "expected a whole number of at least 32"),
        (("rooms = [1, 5]", "rooms = [0]"), "division by zero"),
        (('name = "CHAT{kind}"', 'name = "CHAT{mood}"'), "only axes of this family"),
        (('name = "CHAT{kind}"', 'name = "CHAT"'), "another scenario has this one"),
        (('["plain", "loud"]', '["plain", "soft"]'), "kind to be one of plain, loud"),
        (('count = "<devices>"', "count = 0"), "no devices"),
        (("format = 1", "format = 2"), "found 2, expected one of 1"),
        (("match = { rooms = 5 }", "match = { rooms = 5 }\nsizes.quick.set.devices = 3"), "sizes only in a `when`"),
        (("[suite]", "[suite"), "valid TOML"),
        (('"lost == 0"', '"lots == 0"'), "unknown metric 'lots'"),
        (('"lost == 0"', '"mean_latency < 500"'), "needs a unit"),
    ],
)
def test_a_mistake_is_explained(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    """Also those that show only when the scenario is planned."""
    found = problems_of(tmp_path, GOOD.replace(*change))

    assert any(words in problem for problem in found), found


def test_problems_of_the_published_results_name_their_line(tmp_path: Path) -> None:
    """A number that is none, a pair that is none, and a scenario that does not exist."""
    (tmp_path / "published").mkdir()
    rows = [
        "scenario,parameters,server,metric,value,unit,source,note",
        "CHAT,,Acme,received_rate,many,msg/s,Table 1,",
        "CHAT,rooms,Acme,received_rate,3,msg/s,Table 1,",
        "NOSUCH,,Acme,received_rate,3,msg/s,Table 1,",
        "CHAT,,,received_rate,3,msg/s,Table 1,",
    ]
    write(tmp_path / "published", "\n".join(rows) + "\n", "mine.csv")

    found = problems_of(tmp_path, GOOD)

    assert any("line 2: value: found 'many'" in line for line in found)
    assert any("line 3: parameters: found 'rooms'" in line for line in found)
    assert any("line 5: server missing" in line for line in found)
    assert any("NOSUCH" in line for line in found)


def test_a_name_that_is_not_in_the_catalogue_suggests_near_ones() -> None:
    """People write names by heart."""
    with pytest.raises(ConfigError, match=r"FANIN\.Q0\.PARTITIONS"):
        load().find("messagesight/FANIN.Q0.PARTITION")
    with pytest.raises(ConfigError, match="messagesight"):
        load().suite("message-sight")


def test_mistakes_of_every_stage_are_reported_together(tmp_path: Path) -> None:
    """What is wrong with a table, with a rule, with a parameter's value and between fields: one round of repairs."""
    text = (
        GOOD.replace('date = "2026"', 'date = "2026"\ncolour = 3')  # an unknown key
        .replace("qos = 1, size", "qos = 7, size")  # a value that is not allowed
        .replace('"lost == 0"', '"lots == 0"')  # a rule without a metric
        .replace('rate = "<devices*2>"', 'rate = "<device*2>"')  # a parameter that is not there
        .replace('{index%<rooms>}", qos = 1 }]', '", qos = 1 }]\nsend_buffer = "<payload-64>"')  # out of range
    )

    found = problems_of(tmp_path, text)

    for words in ("suite.colour", "publish.qos: found 7", "unknown metric 'lots'", "<device>", "send_buffer: found 0"):
        assert 1 <= sum(words in line for line in found) <= 2, (words, found)  # a family of two scenarios


def test_a_mistake_is_reported_once_and_not_its_consequences(tmp_path: Path) -> None:
    """A value that is wrong is left out of what is checked later; that it then is missing is no news."""
    text = GOOD.replace('topic = "room/{index%<rooms>}", qos', "topic = 5, qos").replace(
        "measure_s = 3", "measure_s = -3"
    )

    found = problems_of(tmp_path, text)

    assert 2 == len(found)
    assert "publish.topic: found 5" in found[0]
    assert "phases.measure_s: found -3" in found[1]


@pytest.mark.parametrize(
    "expression", ["<devices/0>", "<devices%0>", "<devices>/0", "<devices/nosuch>", "<devices-99>"]
)
@pytest.mark.parametrize(
    "place",
    [
        'count = "<devices>"', 'rate = "<devices*2>"', 'size = "<payload>"', "payload = 64", "measure_s = 3",
        'thresholds = ["lost == 0"]', "rooms = [1, 5]", 'where = "nowhere"',
    ],
)  # fmt: skip
def test_an_expression_that_gives_no_value_is_one_clear_message(tmp_path: Path, place: str, expression: str) -> None:
    """Wherever it stands, and never a traceback."""
    key, _, old = place.partition(" = ")
    if key == "where":
        new = f'headline = "{expression}"'
    else:
        new = f'{key} = ["{expression}"]' if old.startswith("[") else f'{key} = "{expression}"'

    found = problems_of(tmp_path, GOOD.replace('cases = [{ kind = ["plain", "loud"] }]', "").replace(place, new))

    assert len(found) == len({line.split(": ", 2)[1] for line in found}), found
