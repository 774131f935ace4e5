"""Several values of one option: by commas, by repetition, and both."""

from __future__ import annotations

import json

import pytest

from telemark.cli.main import main
from telemark.cli.sweeping import split_servers
from telemark.model.plan import RunPlan


def points(capsys: pytest.CaptureFixture[str], *options: str) -> list[tuple[int, int]]:
    """(publishers, qos) of every point `telemark plan` makes."""
    with pytest.raises(SystemExit):
        main(["plan", "scalagent/multi-publisher", "--json", *options])
    plans = [each["plan"]["parameters"] for each in json.loads(capsys.readouterr().out)["points"]]
    return [(each["publishers"], each["qos"]) for each in plans]


@pytest.mark.parametrize(
    "options",
    [
        ("--qos", "0,1", "--publishers", "100,200"),
        ("--qos", "0", "--qos", "1", "--publishers", "100", "--publishers", "200"),
        ("--qos", "0,1", "--qos", "1", "--set", "publishers=100", "--set", "publishers=200"),
        ("--qos", "0,1", "--set", "publishers=100,200"),
    ],
    ids=["commas", "repetition", "both", "set"],
)
def test_commas_and_repetition_mean_the_same(capsys: pytest.CaptureFixture[str], options: tuple[str, ...]) -> None:
    """Every combination once."""
    assert sorted(points(capsys, *options)) == [(100, 0), (100, 1), (200, 0), (200, 1)]


def test_load_sweeps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run for each combination on each server; rules are part of every plan."""
    made: list[tuple[list[RunPlan], list[str]]] = []

    def note(points: list[RunPlan], servers: list[str], _settings: object) -> int:
        made.append((points, servers))
        return 0

    monkeypatch.setattr("telemark.cli.load.make_runs", note)
    swept = ("--qos", "0", "--qos", "1", "--rate", "10,20")
    with pytest.raises(SystemExit):
        main(["load", "--server", "loopback,mosquitto", *swept, "--require", "p99 < 10ms, lost == 0"])
    ((points, servers),) = made

    assert servers == ["loopback", "mosquitto"]
    assert [(each.parameters["qos"], each.parameters["rate"]) for each in points] == [
        (0, 10),
        (1, 10),
        (0, 20),
        (1, 20),
    ]
    assert {each.thresholds for each in points} == {("p99 < 10ms", "lost == 0")}


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        (["mosquitto,rabbitmq"], ["mosquitto", "rabbitmq"]),
        (["mosquitto", "rabbitmq"], ["mosquitto", "rabbitmq"]),
        (["mosquitto, mosquitto", "loopback"], ["mosquitto", "loopback"]),
        (["mqtt://a:1883,b:1883"], ["mqtt://a:1883,b:1883"]),
        (["mqtt://a:1883,b:1883,mosquitto"], ["mqtt://a:1883,b:1883", "mosquitto"]),
        (["mqtt://a:1883,mqtts://b:8883,c:8883"], ["mqtt://a:1883", "mqtts://b:8883,c:8883"]),
        (["nosuch,mosquitto"], ["nosuch", "mosquitto"]),
    ],
)
def test_servers_are_separated_by_commas_and_hosts_stay_with_their_url(given: list[str], servers: list[str]) -> None:
    """A URL with several hosts is one server with several addresses."""
    assert split_servers(given) == servers
