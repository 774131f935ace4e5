"""`telemark list`, `show` and `plan`: data on stdout, talk on stderr, nothing started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.catalog.describe import scenario_file
from telemark.catalog.estimate import doubts, estimate, obstacles
from telemark.catalog.format import TABLES, definition_of
from telemark.cli.main import main
from telemark.host.limits import HostFacts, read_host
from telemark.model.plan import Idle, LoadShape
from telemark.model.plan.shapes.batched import Batched
from telemark.model.plan.shapes.burst import Burst
from telemark.model.plan.shapes.every import Every
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.steps import Step, Steps
from telemark.model.plan.shapes.windowed import Windowed
from telemark.model.slicing import HostLimits

SMALL = HostFacts(HostLimits(open_files=20_000, source_ports=28_232), cores=2, memory_bytes=2**34, system_files=10**6)


@pytest.fixture
def telemark(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Run a command line; returns exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def test_list_names_every_scenario(telemark) -> None:  # type: ignore[no-untyped-def]
    """Suite by suite, with what a case needs beyond MQTT."""
    code, out, err = telemark("list")

    assert (0, "") == (code, err)
    for scenario in load().scenarios():
        assert f"\n{scenario.name} " in out
    assert "jms ha-pair" in out


def test_list_as_json_can_be_limited_to_a_suite(telemark) -> None:  # type: ignore[no-untyped-def]
    """For machines: one document."""
    _, out, _ = telemark("list", "--suite", "open-mqtt", "--json")

    (suite,) = json.loads(out)
    assert 8 == len(suite["scenarios"])
    assert {"conn-tcp-10K-100"} < {case["scenario"].split("/")[1] for case in suite["scenarios"]}


def test_list_takes_a_file_of_the_user(telemark, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A copy of a built-in suite under another name is as good as the original."""
    own = tmp_path / "own.toml"
    text = Path(load().suite("scalagent").file).read_text(encoding="utf-8")
    own.write_text(text.replace('name = "scalagent"', 'name = "own"'), encoding="utf-8")

    assert "own: Benchmark of MQTT servers" in telemark("list", str(own))[1]
    assert "own/multi-publisher" in telemark("show", f"{own}/multi-publisher", "--size", "quick")[1]
    assert "own/multi-publisher" in telemark("plan", str(own))[1]


def test_show_tells_words_numbers_and_published_values(telemark) -> None:  # type: ignore[no-untyped-def]
    """What it does, where it was published, its parameters at each size, its rules, and the report's numbers."""
    _, out, _ = telemark("show", "messagesight/FANIN.SEC.Q1.PERSISTENT.PARTITIONS", "--all")

    for expected in ("Asked is the highest rate", "2015-07-31", "--size quick", "--size published", "512000", "44,000"):
        assert expected in out
    assert "buffered_slope_low <= 0" in out
    assert "AES256-GCM-SHA384" in out


def test_show_as_json_has_the_complete_plans(telemark) -> None:  # type: ignore[no-untyped-def]
    """The same data `run` would use."""
    _, out, _ = telemark("show", "scalagent/multi-publisher", "--size", "published", "--json")

    facts = json.loads(out)
    assert 26 == len(facts["sizes"]["published"])
    assert 20 == len(facts["published"])


def test_show_of_a_whole_suite_asks_for_one_case(telemark) -> None:  # type: ignore[no-untyped-def]
    """With the names to choose from, on stderr, and the exit code for a wrong value."""
    code, out, err = telemark("show", "messagesight")

    assert (3, "") == (code, out)
    assert "messagesight/BROADCAST" in err


def test_plan_says_whether_this_host_can(telemark) -> None:  # type: ignore[no-untyped-def]
    """Nothing is started; the numbers are those of the plan."""
    code, out, _ = telemark("plan", "messagesight/FANIN.Q0.PARTITIONS", "--publishers", "50,100", "--duration", "3")

    assert 0 == code
    assert "publishers=50" in out
    assert "publishers=100" in out
    assert "can run" in out


def test_plan_with_a_server_names_what_it_lacks(telemark) -> None:  # type: ignore[no-untyped-def]
    """Before anything starts."""
    _, out, _ = telemark("plan", "messagesight/FANIN.Q0.JMS.PARTITIONS", "--server", "mosquitto", "--json")

    (point,) = json.loads(out)["points"]
    assert not point["can"]
    assert any("JMS consumers (jms)" in reason for reason in point["obstacles"])


def test_plan_refuses_a_wrong_override(telemark) -> None:  # type: ignore[no-untyped-def]
    """Exit code 3: a value that cannot be used."""
    assert 3 == telemark("plan", "scalagent", "--set", "colour=3")[0]
    assert 3 == telemark("plan", "scalagent", "--set", "colour")[0]
    assert 3 == telemark("plan", "scalagent", "--qos", "9")[0]


def test_the_largest_point_does_not_fit_a_small_host_and_the_reason_is_given() -> None:
    """Half a million sockets in one server process with 20,000 files."""
    plan = plan_points(load().find("messagesight/FANIN.Q0.PARTITIONS"), "published")[-1]
    needed = estimate(plan, SMALL)

    assert (512_100, 512_000, 100, 512_000) == (needed.devices, needed.publishers, needed.subscriptions, needed.topics)
    assert (26, 11) == (needed.processes, needed.source_addresses)
    assert "open files" in obstacles(needed, SMALL)[0]
    assert "calibrate" in doubts(plan, needed, SMALL)[0]


def test_a_host_without_memory_is_told_how_much_is_missing() -> None:
    """Memory is an estimate, and said to be about."""
    plan = plan_points(load().find("open-mqtt/p2p-1K-1K-1K-1K"), "laptop")[0]
    tiny = HostFacts(SMALL.limits, 1, 10_000_000, 10**6)

    (reason,) = obstacles(estimate(plan, tiny), tiny)
    assert "memory" in reason


def test_scalagent_has_ten_thousand_topics_per_partition() -> None:
    """Ten parameters for each of a thousand devices, and every message goes to one subscriber."""
    plan = plan_points(load().find("scalagent/multi-publisher"), "published", {"publishers": 2000, "qos": 0})[0]
    needed = estimate(plan, SMALL)

    assert (20_000, 2000.0, 2000.0) == (needed.topics, needed.messages_in, needed.messages_out)


@pytest.mark.parametrize(
    ("load_", "rate"),
    [
        (Idle(), 0.0),
        (Paced(rate=7.0), 7.0),
        (Batched(batch=100, period_ms=100.0, partitions=3), 3000.0),
        (Every(every_s=20.0), 0.05),
        (Burst(rate=10.0, burst_rate=110.0, burst_s=1.0, burst_every_s=10.0), 20.0),
        (Steps(steps=(Step(1.0, 100.0), Step(3.0, 20.0))), 40.0),
        (Windowed(window=500, refill=100), None),
    ],
)
def test_the_offered_rate_of_every_shape(load_: LoadShape, rate: float | None) -> None:
    """On average; a closed loop has none, the server paces it."""
    assert rate == load_.offered_rate()


def test_this_host_can_be_read() -> None:
    """Limits come from the system, not from a guess."""
    host = read_host()

    assert host.cores >= 1
    assert host.limits.open_files > 100
    assert host.memory_bytes > 0


def test_the_reference_page_has_every_table_and_key() -> None:
    """Generated from the definition the checker uses."""
    page = scenario_file()

    for name in TABLES:
        for key in definition_of(name, {}):
            assert f"`{key}" in page
