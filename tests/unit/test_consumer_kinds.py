"""Consumers are a kind: one file and a line of the registry, and nothing else knows it by name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.catalog.describe import scenario_file
from telemark.catalog.estimate import estimate
from telemark.consumers.registry import KINDS
from telemark.errors import ConfigError
from telemark.host.limits import read_host
from telemark.model.plan import RunPlan
from telemark.runner.run_point import PointJob, run_point
from telemark.store.documents.run import RunFile
from telemark.store.reader import read_records
from tests.support import fake_engine
from tests.support.fake_server import FakeServer
from tests.support.pigeons import MESSAGES, Pigeons

SOURCE = Path(__file__).parents[2] / "src" / "telemark"
SCENARIO = """
format = 1
[suite]
name = "birds"
title = "Birds"
source = "us"
date = "2026"
[[family]]
name = "post"
groups.publishers = { count = 4, publish = { topic = "t/{index}" } }
load = { shape = "paced", rate = 10 }
consumers = { kind = "pigeons", count = "<pigeons>", topic = "t/#", loft = "south", tls = true }
sizes.quick.set.pigeons = 2
sizes.quick.phases = { connect_timeout_s = 30, warmup_s = 0.2, measure_s = 0.5, drain_timeout_s = 0.5 }
"""
OFFERS = frozenset({"mqtt-3.1.1", "tls-1.2", "pigeons"})


class Lofts(FakeServer):
    """A server that lets pigeons in."""

    def access(self, kind: str) -> object | None:
        assert self.request is not None
        assert self.request.awaits("pigeons")
        assert self.request.consumer_tls
        return "the south window" if kind == "pigeons" else None


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, Pigeons.kind, Pigeons)


def a_plan(folder: Path, text: str = SCENARIO) -> RunPlan:
    path = folder / "birds.toml"
    path.write_text(text)
    return plan_points(load([path]).find("birds/post"), "quick")[0]


def job(plan: RunPlan, folder: Path) -> PointJob:
    return PointJob(plan, folder / "run", "campaign", engine_command=(sys.executable, fake_engine.__file__))


def test_the_plan_has_the_kinds_fields_needs_and_subscriptions(tmp_path: Path) -> None:
    """From the scenario file; the JSON names the kind."""
    plan = a_plan(tmp_path)

    assert Pigeons(count=2, topic="t/#", loft="south", tls=True) == plan.consumers
    assert plan.needs == {"mqtt-3.1.1", "tls-1.2", "pigeons"}
    assert ("pigeons", 2, "south") == tuple(plan.as_dict()["consumers"][name] for name in ("kind", "count", "loft"))
    needed = estimate(plan, read_host())
    assert (2, 2, 10.0) == (needed.consumers, needed.subscriptions, needed.messages_out)


def test_a_run_starts_them_with_the_servers_access_and_keeps_their_rows(tmp_path: Path) -> None:
    """Plan, access, start, rows: nothing in between knows what they are."""
    outcome = run_point(job(a_plan(tmp_path), tmp_path), Lofts(OFFERS))

    assert "complete" == outcome.state, outcome.reason
    assert MESSAGES == read_records(outcome.folder, "deliveries").num_rows
    assert ["$share/south/t/#"] * 2 == read_records(outcome.folder, "subscriptions")["filter"].to_pylist()
    assert [-1, -1] == read_records(outcome.folder, "subscriptions")["device"].to_pylist()
    assert "pigeons" == RunFile.read(outcome.folder).plan["consumers"]["kind"]


def test_a_server_that_cannot_let_them_in_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """Its capabilities say so."""
    with pytest.raises(ConfigError, match="pigeons"):
        run_point(job(a_plan(tmp_path), tmp_path), FakeServer(OFFERS - {"pigeons"}))


def test_a_server_without_a_way_in_fails_the_run_with_their_name(tmp_path: Path) -> None:
    """It declared the capability and then gave no access."""
    outcome = run_point(job(a_plan(tmp_path), tmp_path), FakeServer(OFFERS))

    assert "failed" == outcome.state
    assert "no way for pigeons consumers" in (outcome.reason or "")


def test_their_keys_are_checked_and_described(tmp_path: Path) -> None:
    """By the same rules as every other table."""
    with pytest.raises(ConfigError) as caught:
        a_plan(tmp_path, SCENARIO.replace('loft = "south"', 'loft = "east", prefetch = 3'))

    assert ["consumers.loft: found 'east'", "consumers.prefetch: unknown key"] == sorted(
        re.sub(r".*family\[0\]\.|, expected.*", "", problem) for problem in caught.value.problems
    )
    assert '### `kind = "pigeons"`' in scenario_file()
    assert "| `loft` | one of north, south | `north` | where they live |" in scenario_file()


# JMS itself, the adapters of servers that let it in, the name of a capability, and names of suites and their figures.
NAMES_JMS = (
    "consumers/jms/", "consumers/registry.py", "servers/jms.py", "servers/artemis.py", "servers/artemis_config.py",
    "servers/activemq.py", "servers/remote.py",
    "servers/description.py", "model/capabilities.py", "store/documents/upgrade.py",
)  # fmt: skip


def test_nothing_else_names_jms() -> None:
    """A module that did would have to be found and changed with the next kind."""
    named = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not str(path.relative_to(SOURCE)).startswith(NAMES_JMS)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "jms" in re.sub(r"fanin[-_.]jms", "", line.lower())
    ]

    assert [] == named
