"""Load shapes: each one file that knows everything about itself, and no other module that knows a shape by name."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from telemark.catalog import load, plan_points
from telemark.catalog.describe import scenario_file
from telemark.catalog.estimate import estimate
from telemark.cli.show import command as show
from telemark.errors import ConfigError
from telemark.host.limits import HostLimits, read_host
from telemark.model.plan import SHAPES, Endpoint, RunPlan, shapes
from telemark.model.plan.shapes import read_load
from telemark.model.plan.shapes.burst import Burst
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.steps import Step, Steps
from telemark.model.plan.shapes.windowed import Windowed
from tests.support import shapes as fakes
from tests.support.slicing import slice_plan

SOURCE = Path(__file__).parents[2] / "src" / "telemark"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "my-scenario.toml"


@pytest.fixture
def sawtooth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of shapes with one more file in it."""
    monkeypatch.setattr(shapes, "__path__", [*shapes.__path__, *fakes.__path__])
    found = shapes.discover()
    for name in found.keys() - SHAPES.keys():
        monkeypatch.setitem(SHAPES, name, found[name])


def a_file(folder: Path, load_lines: str) -> Path:
    """The guide's scenario under another load."""
    path = folder / "mine.toml"
    path.write_text(GUIDE.read_text().replace('shape = "paced"\nrate = "<rate>"', load_lines))
    return path


def sawtooth_plan(folder: Path) -> RunPlan:
    path = a_file(folder, 'shape = "sawtooth"\ntop = "<rate>"\ntooth_s = 4\nlimit = 1001')
    return plan_points(load([path]).find("my-company/sensors"), "quick")[0]


@pytest.mark.usefixtures("sawtooth")
def test_a_new_shape_is_one_file(tmp_path: Path) -> None:
    """From the scenario file to the plan, the engine processes, the words and the JSON."""
    plan = sawtooth_plan(tmp_path)
    engines = slice_plan(
        plan, {"plain": Endpoint("plain", "127.0.0.1", 1883)}, run="r", limits=HostLimits(), processes=2
    )

    assert {"shape": "sawtooth", "top": 500.0, "tooth_s": 4.0, "limit": 1001, "max_lateness_s": 1.0} == (
        plan.as_dict()["load"]
    )
    assert 250.0 == estimate(plan, read_host()).messages_in
    assert [250.0, 250.0] == [json.loads(engine.as_json())["load"]["top"] for engine in engines]
    assert 1001 == sum(json.loads(engine.as_json())["load"]["limit"] for engine in engines)
    assert [(0, 2), (1, 2)] == [(engine.slot, engine.slots) for engine in engines]
    assert plan.load == read_load(json.loads(json.dumps(plan.as_dict()))["load"])


@pytest.mark.usefixtures("sawtooth")
def test_a_new_shape_is_described_where_people_look(tmp_path: Path) -> None:
    """`telemark show` and the reference page."""
    sawtooth_plan(tmp_path)

    printed = CliRunner().invoke(show, [str(tmp_path / "mine.toml/sensors"), "--size", "quick"]).output

    printed = " ".join(printed.split())  # lines are as long as the terminal is wide
    assert "teeth of 4 s that rise to 500 messages a second, 1,001 messages in all" in printed
    assert '`shape = "sawtooth"`' in scenario_file()
    assert "A rate that rises from nothing to its top" in scenario_file()
    assert "| `tooth_s` | a number above 0 | `10.0` | length of a tooth |" in scenario_file()


@pytest.mark.usefixtures("sawtooth")
def test_the_keys_and_rules_of_a_new_shape_are_checked(tmp_path: Path) -> None:
    """Ranges by its fields, relations by its rules, other shapes' keys not at all."""

    def problems(lines: str) -> str:
        with pytest.raises(ConfigError) as caught:
            load([a_file(tmp_path, lines)])
        return "\n".join(caught.value.problems)

    assert "load.top: found 0, expected a number above 0" in problems('shape = "sawtooth"\ntop = 0')
    assert "load.top: missing" in problems('shape = "sawtooth"')
    assert "load.window: unknown key" in problems('shape = "sawtooth"\ntop = 3\nwindow = 5')
    assert "load.tooth_s: found 9, expected at most top = 3" in problems('shape = "sawtooth"\ntop = 3\ntooth_s = 9')


# The same words in another sense: the server before any device is there, the period of a planted fault, a core's rest.
OTHER_SENSES = {("idle", "pipeline"), ("every", "servers/loopback_faults.py"), ("idle", "runner/health/pages.py")}
FORMAT_1 = "store/documents/upgrade.py"  # reads run folders whose plans held the fields of all shapes


def allowed(word: str, place: str) -> bool:
    return place == FORMAT_1 or any(word == other and place.startswith(where) for other, where in OTHER_SENSES)


def test_no_other_module_names_a_shape() -> None:
    """A module that did would have to be found and changed with every new shape."""
    places = {
        str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py")) if "shapes" not in path.parts
    }
    named = [
        f"{place}:{node.lineno}: {node.value!r}"
        for place, path in places.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in SHAPES and not allowed(str(node.value), place)
    ]

    assert [] == named


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Windowed(5, 6), "refill: found 6, expected at most the window of 5: it would never happen"),
        (Burst(1, 2, 3, 3), "burst_every_s: found 3, expected more than burst_s = 3"),
        (Steps(()), "steps: found none, expected at least one"),
    ],
)
def test_a_shape_knows_what_its_fields_must_not_be_together(found: shapes.LoadShape, expected: str) -> None:
    """What no single field can tell."""
    assert [expected] == list(found.problems())


def test_a_search_starts_from_the_highest_rate_of_a_shape_that_has_one() -> None:
    """And has nothing to search for where the server paces the load."""
    assert 7.0 == Paced(7.0).searched_rate()
    assert 9.0 == Steps((Step(1, 3), Step(1, 9))).searched_rate()
    assert Windowed(5).searched_rate() is None


@pytest.mark.parametrize("table", [{"shape": "wavy"}, {"shape": "paced", "speed": 3}, {"shape": "paced"}, {"rate": 3}])
def test_a_load_of_a_stranger_is_read_or_refused(table: dict[str, object]) -> None:
    """run.json may hold anything."""
    with pytest.raises(ConfigError, match="load"):
        read_load(table)
