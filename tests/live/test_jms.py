"""JMS consumers on real servers: every JMS case, and what happens when consumers fail."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from telemark.campaigns import CampaignOptions, run_campaign
from telemark.catalog import load, plan_points
from telemark.consumers.jms.application import JmsApplication
from telemark.consumers.jms.plan import JmsConsumers
from telemark.errors import ConsumerError, ExitCode
from telemark.model.plan import RunPlan
from telemark.pipeline import analyze
from telemark.runner.capability import describe_missing
from telemark.runner.conductor import RunControl
from telemark.runner.phases import Phase
from telemark.servers import registry
from telemark.servers.certificates import make_certificates
from telemark.servers.contract import ConsumerRequest, Listener, ServerAdapter, StartRequest
from telemark.servers.jms import JmsAccess
from telemark.store.result_reader import ResultTables
from tests.support.requirements import require_program
from tests.support.waiting import PATIENCE_S, eventually

pytestmark = [
    pytest.mark.live,
    pytest.mark.spark,
    pytest.mark.timeout(900),
]


@pytest.fixture(autouse=True, scope="module")
def _maven() -> None:
    """The JMS consumer and its servers are fetched with Maven."""
    require_program("mvn")


def jms_points() -> list[RunPlan]:
    """The first point of every JMS case at the quick size, shortened."""
    scenarios = [scenario for suite in load().suites.values() for scenario in suite.scenarios]
    points = [plan_points(scenario, "quick", {"duration": 1})[0] for scenario in scenarios]
    return [shortened(point) for point in points if point.consumers is not None]


def shortened(plan: RunPlan) -> RunPlan:
    """What is tested here needs no warm server."""
    return replace(plan, phases=replace(plan.phases, warmup_s=1.0))


def runnable_on(server: str) -> list[RunPlan]:
    adapter = registry.make(server)
    return [point for point in jms_points() if not describe_missing(point, adapter)]


def test_no_jms_case_leaves_the_list_unnoticed() -> None:
    """Artemis can run them all; ActiveMQ Classic lacks shared JMS subscriptions and a replicated pair."""
    everything = jms_points()
    on_activemq = runnable_on("activemq")

    assert len(everything) == 15
    assert runnable_on("artemis") == everything
    assert {point.consumers.subscription for point in on_activemq if point.consumers} == {"plain", "durable"}
    assert len(on_activemq) >= 4


@pytest.mark.parametrize("server", ["artemis", "activemq"])
def test_every_jms_case_delivers_everything_to_the_right_consumers(server: str, tmp_path: Path) -> None:
    """Zero lost; nothing twice where the consumer says what is done; every consumer takes part."""
    points = [point for point in runnable_on(server) if "ha-pair" not in point.needs]  # test_artemis_pair.py runs those
    outcome = run_campaign(points, [server], tmp_path, campaign="jms", options=CampaignOptions(keep_going=True))
    assert {run.run: run.reason for run in outcome.runs if run.state != "complete"} == {}
    analyze([outcome.folder])
    rows = ResultTables.open(outcome.folder).table("points").to_pylist()

    assert len(rows) == len(points)
    for row in rows:
        plan = next(p for p in points if (p.scenario, p.point) == (row["scenario"], row["point"]))
        check_point(row, plan)
        check_shares(outcome.folder / row["run"], plan)


def check_point(row: Mapping[str, Any], plan: RunPlan) -> None:
    assert plan.consumers is not None
    assert row["sent"] > 0, row["run"]
    assert row["lost"] == 0, row["run"]
    assert row["received"] == row["owed"] + row["duplicate"] > 0, row["run"]
    if plan.consumers.acknowledge in ("client", "transacted"):
        assert row["duplicate"] == 0, row["run"]
    assert row["subscribers"] == plan.consumers.count, row["run"]


def check_shares(folder: Path, plan: RunPlan) -> None:
    """Every consumer received something: its partition, or its share."""
    assert plan.consumers is not None
    receivers = set(pq.read_table(folder / "deliveries", columns=["subscription"])["subscription"].to_pylist())
    first = plan.consumers.first_subscription
    assert receivers == set(range(first, first + plan.consumers.count)), folder.name


def killing_the_consumer(pids: Callable[[], list[int]]) -> Callable[[RunControl], None]:
    """Steering that kills the consumer JVM once, in the middle of the measure phase."""
    killed = threading.Event()

    def steer(control: RunControl) -> None:
        if control.progress.phase is Phase.MEASURE and control.progress.totals.received > 500 and not killed.is_set():
            killed.set()
            for pid in pids():
                os.kill(pid, signal.SIGKILL)

    return steer


def test_durable_messages_reach_the_consumers_that_were_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM is killed mid-run; nothing acknowledged is forgotten, nothing unacknowledged is lost."""
    applications: list[JmsApplication] = []
    start = JmsApplication.start

    def remembering(self: JmsApplication) -> None:
        applications.append(self)
        start(self)

    monkeypatch.setattr(JmsApplication, "start", remembering)
    (point, *_) = plan_points(load().find("messagesight/FANIN.Q1.PERSISTENT.JMS.SHARED"), "quick", {"duration": 5})
    outcome = run_campaign(
        [point],
        ["artemis"],
        tmp_path,
        campaign="killed",
        steering=killing_the_consumer(lambda: list(applications[-1].pids())),
    )
    assert [run.state for run in outcome.runs] == ["complete"]
    analyze([outcome.folder])
    (row,) = ResultTables.open(outcome.folder).table("points").to_pylist()
    events = pq.read_table(outcome.runs[0].folder / "events").to_pylist()

    assert row["lost"] == 0
    assert ["consumer_died", "consumer_restarted"] == [e["kind"] for e in events if e["kind"].startswith("consumer_")]


@pytest.fixture(scope="module")
def activemq(tmp_path_factory: pytest.TempPathFactory) -> Any:
    adapter: ServerAdapter = registry.make("activemq")
    adapter.prepare()
    folder = tmp_path_factory.mktemp("activemq")
    adapter.start(StartRequest(folder, "memory", (Listener("plain"),), devices=300, consumers=ConsumerRequest("jms")))
    yield adapter
    adapter.stop()


def application(folder: Path, access: JmsAccess, **plan: Any) -> JmsApplication:
    return JmsApplication(JmsConsumers(**({"count": 2, "topic": "a/#"} | plan)), access, folder)


def test_a_refused_connection_is_a_clear_message_with_its_own_exit_code(tmp_path: Path) -> None:
    consumers = application(tmp_path, JmsAccess("artemis", "tcp://127.0.0.1:9"))

    with pytest.raises(ConsumerError, match=r"url: tcp://127\.0\.0\.1:9") as caught:
        consumers.start()
    assert caught.value.exit_code == ExitCode.CONSUMER_FAILED
    assert caught.value.hint


def test_an_unsupported_subscription_type_is_refused_before_connecting(tmp_path: Path) -> None:
    consumers = application(tmp_path, JmsAccess("activemq", "tcp://127.0.0.1:9"), subscription="shared")

    with pytest.raises(ConsumerError, match=r"no JMS 2\.0 shared subscriptions"):
        consumers.start()


def test_a_wrong_jar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.jar"
    wrong.write_bytes(b"not a jar")
    monkeypatch.setenv("TELEMARK_JMS_JAR", str(wrong))

    with pytest.raises(ConsumerError, match=r"wrong\.jar\) ended with status 1"):
        application(tmp_path, JmsAccess("artemis", "tcp://127.0.0.1:9")).start()


def test_a_jar_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEMARK_JMS_JAR", str(tmp_path / "none.jar"))

    with pytest.raises(ConsumerError, match="TELEMARK_JMS_JAR"):
        application(tmp_path, JmsAccess("artemis", "tcp://127.0.0.1:9")).start()


@pytest.mark.parametrize("receive", ["listener", "blocking"])
@pytest.mark.parametrize("acknowledge", ["auto", "client", "dups-ok", "transacted", "least"])
def test_every_way_of_receiving_gets_every_message(
    activemq: ServerAdapter, tmp_path: Path, acknowledge: str, receive: str
) -> None:
    """Few messages through every acknowledge mode, listener and blocking, in one JVM each."""
    access = activemq.access("jms")
    assert access is not None
    topic = f"{acknowledge}/{receive}/#"
    consumers = application(
        tmp_path, access, count=1, topic=topic, acknowledge=acknowledge, acknowledge_every=7, receive=receive
    )
    consumers.start()
    consumers.go(time.monotonic_ns())
    publish(activemq, f"{acknowledge}/{receive}/x", 50)
    assert eventually(lambda: consumers.received() >= 50)
    consumers.stop()

    assert pq.read_table(tmp_path / "deliveries").num_rows == 50


def publish(server: ServerAdapter, topic: str, count: int) -> None:
    import paho.mqtt.client as mqtt  # noqa: PLC0415 - a development dependency

    endpoint = server.endpoints()["plain"]
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.connect(endpoint.host, endpoint.port)
    client.loop_start()
    for _ in range(count):
        client.publish(topic, bytes(32), qos=1).wait_for_publish(PATIENCE_S)
    client.disconnect()
    client.loop_stop()


@pytest.fixture(scope="module", params=["artemis", "activemq"])
def with_tls(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    adapter: ServerAdapter = registry.make(request.param)
    adapter.prepare()
    folder = tmp_path_factory.mktemp("tls")
    adapter.start(
        StartRequest(folder, "memory", (Listener("plain"),), devices=10, consumers=ConsumerRequest("jms", tls=True))
    )
    yield adapter
    adapter.stop()


def test_consumers_receive_over_tls_and_verify_the_server(with_tls: ServerAdapter, tmp_path: Path) -> None:
    """The right authority: messages arrive. Another one: refused, unless the user asked not to verify."""
    access = with_tls.access("jms")
    assert access is not None
    assert access.tls is not None
    consumers = application(tmp_path, access, count=1, topic="secret/#")
    consumers.start()
    consumers.go(time.monotonic_ns())
    publish(with_tls, "secret/x", 20)
    assert eventually(lambda: consumers.received() >= 20)
    consumers.stop()
    assert pq.read_table(tmp_path / "deliveries").num_rows == 20

    other = make_certificates(tmp_path / "other").tls()
    for name in ("wrong", "unverified"):
        (tmp_path / name).mkdir()
    with pytest.raises(ConsumerError, match="url: "):
        application(tmp_path / "wrong", replace(access, tls=other)).start()
    unverified = application(tmp_path / "unverified", replace(access, tls=replace(other, verify=False)))
    unverified.start()
    unverified.stop()


def test_a_server_that_runs_elsewhere_is_reached_by_its_jms_url(activemq: ServerAdapter, tmp_path: Path) -> None:
    """`remote` with jms_url and jms_provider: the whole run, through the runner."""
    access, endpoint = activemq.access("jms"), activemq.endpoints()["plain"]
    assert access is not None
    (point, *_) = plan_points(load().find("messagesight/FANIN.Q0.JMS.PARTITIONS"), "quick", {"duration": 2})
    url = f"mqtt://{endpoint.host}:{endpoint.port}"
    options = CampaignOptions(server_options={"jms_url": access.url, "jms_provider": access.provider})
    outcome = run_campaign([point], [url], tmp_path, campaign="elsewhere", options=options)

    assert [(run.state, run.reason) for run in outcome.runs] == [("complete", None)]
    assert pq.read_table(outcome.runs[0].folder / "deliveries").num_rows > 0


def test_an_older_client_receives_through_the_javax_build(activemq: ServerAdapter, tmp_path: Path) -> None:
    """The same sources built for javax.jms, with ActiveMQ's own javax client."""
    access = activemq.access("jms")
    assert access is not None
    consumers = application(tmp_path, replace(access, api="javax"), count=1, topic="older/#")
    consumers.start()
    consumers.go(time.monotonic_ns())
    publish(activemq, "older/x", 20)
    deadline = time.monotonic() + 20
    while consumers.received() < 20 and time.monotonic() < deadline:
        time.sleep(0.1)
    consumers.stop()

    assert pq.read_table(tmp_path / "deliveries").num_rows == 20


def test_the_clock_of_the_jvm_is_the_engines_clock(activemq: ServerAdapter, tmp_path: Path) -> None:
    """`start` refuses a JVM whose nanoTime is not CLOCK_MONOTONIC; here it must agree."""
    access = activemq.access("jms")
    assert access is not None
    consumers = application(tmp_path, access, count=1)
    consumers.start()
    consumers.stop()
