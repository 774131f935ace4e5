"""Plans the engine refuses: one clear message with field, value and remedy."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from telemark._native import Engine, PlanProblem
from telemark.model.plan import Endpoint, EnginePlan, Secret, Tls
from telemark.model.plan.shapes.paced import Paced
from tests.support.engine import engine_plan, plan_dict, publisher, subscriber

PLAN = engine_plan(1883, subscriber(), publisher(3), load=Paced(rate=10.0))
EMPTY_BATCHES = {"shape": "batched", "batch": 0, "period_ms": 0.0}
Change = Callable[[dict[str, Any]], None]


def problem(data: dict[str, Any] | EnginePlan, secrets: dict[str, str] | None = None) -> str:
    """The message a plan is refused with."""
    text = data.as_json() if isinstance(data, EnginePlan) else json.dumps(data)
    with pytest.raises(PlanProblem) as caught:
        Engine(text, secrets)
    return str(caught.value)


def test_the_plan_of_the_model_is_read_as_it_is() -> None:
    """Every field of the Python dataclasses is known to the engine."""
    assert Engine(PLAN.as_json()).status()["devices"] == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda plan: plan.update(surprise=1), ["unknown field", "surprise"]),
        (lambda plan: plan["load"].update(ratee=1), ["unknown field", "ratee", "rate"]),
        (lambda plan: plan["load"].update(rate=-5.0), ["load.rate", "-5", "negative"]),
        (lambda plan: plan["load"].update(shape="sine"), ["sine", "paced"]),
        (lambda plan: plan.update(load=EMPTY_BATCHES), ["load.batch", "0", "load.period_ms"]),
        (lambda plan: plan.update(slot=3), ["slot: found 3", "slots = 1"]),
        (lambda plan: plan["endpoints"][0].update(port=0), ["port", "0", "1 to 65535"]),
        (lambda plan: plan["endpoints"][0].update(host="no.such.host.invalid"), ["no.such.host.invalid", "resolved"]),
        (lambda plan: plan["groups"][0].update(endpoints=["tls"]), ["endpoints", '"tls"', "no endpoint"]),
        (lambda plan: plan["groups"][0].update(client_id="{number}"), ["client_id", "{number}", "{index}"]),
        (lambda plan: plan["groups"][1]["publish"].update(qos=3), ["publish.qos", "3", "0, 1 or 2"]),
        (lambda plan: plan["groups"][1]["publish"].update(size=16), ["publish.size", "16", "32 bytes"]),
        (lambda plan: plan["groups"][1]["publish"].update(topic="a/+"), ["publish.topic", "a/+"]),
        (lambda plan: plan["groups"][1]["publish"].update(topic_alias=True), ["topic_alias", "3.1.1", "version"]),
        (lambda plan: plan["groups"][0]["subscriptions"][0].update(filter="a/#/b"), ["a/#/b"]),
        (lambda plan: plan["groups"][0].update(source_addresses=["nine"]), ["source_addresses", "nine"]),
        (lambda plan: plan.update(threads=0), ["threads", "0", "1 to 64"]),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_the_remedy(change: Change, words: list[str]) -> None:
    """Whoever wrote the plan can repair it from the message alone."""
    data = plan_dict(PLAN)
    change(data)
    message = problem(data)
    assert [word for word in words if word not in message] == [], message


def test_all_problems_are_reported_together() -> None:
    """Nobody has to repair a plan one message at a time."""
    data = plan_dict(PLAN)
    data["load"]["rate"] = -1.0
    data["groups"][1]["publish"]["size"] = 1
    data["connect_parallel"] = 0
    lines = problem(data).splitlines()
    assert len(lines) == 3, lines


def test_more_devices_than_open_files_are_refused_before_anything_starts() -> None:
    """The file limit is met by a message, not by failing connects."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    message = problem(engine_plan(1883, publisher(limit), load=Paced(rate=1.0)))
    assert str(limit) in message
    assert "engine processes" in message


def test_more_devices_than_source_ports_are_refused_with_the_way_out() -> None:
    """One address has a limited number of ports for one destination."""
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    message = problem(engine_plan(1883, publisher(high - low + 2), load=Paced(rate=1.0)))
    assert "source_addresses" in message
    assert "127.0.0.0/8" in message


@pytest.mark.parametrize(
    ("tls", "words"),
    [
        (Tls(ca="/nowhere/ca.pem"), ["/nowhere/ca.pem"]),
        (Tls(cipher="AES-9000"), ["AES-9000", "openssl ciphers"]),
        (Tls(certificate="/nowhere/device.pem"), ["certificate", "key", "both"]),
        (Tls(psk_identity="a", psk_file="/nowhere/keys"), ["psk_file", "/nowhere/keys"]),
    ],
)
def test_what_tls_needs_is_checked_when_the_plan_is_read(tls: Tls, words: list[str]) -> None:
    """A missing file or an unknown cipher is a plan problem, not a failed handshake."""
    message = problem(replace(PLAN, endpoints=(Endpoint("plain", "127.0.0.1", 8883, tls),)))
    assert [word for word in words if word not in message] == [], message


def test_a_group_with_a_password_needs_its_secret() -> None:
    """The secret comes beside the plan and is never part of a message."""
    group = replace(publisher(), username="user", password=Secret(env="UNUSED"))
    plan = engine_plan(1883, group, load=Paced(rate=1.0))
    assert "publishers" in problem(plan)
    assert Engine(plan.as_json(), {"publishers": "hunter2"}).status()["devices"] == 1


def test_calls_in_the_wrong_order_are_refused() -> None:
    """An engine that was never connected cannot begin."""
    with pytest.raises(RuntimeError, match="connect must be called first"):
        Engine(PLAN.as_json()).begin(0)
