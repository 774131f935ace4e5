"""The JVM of JMS consumers: its heap and flags, and how many bytes a prefetch stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.consumers.jms.application import settings_for
from telemark.consumers.jms.plan import JmsConsumers
from telemark.errors import ConfigError
from telemark.servers.jms import JmsAccess


def test_the_published_case_has_the_heap_of_its_report() -> None:
    """Appendix B: -Xms20G -Xmx20G -Xss256K."""
    (plan, *_) = plan_points(load().find("messagesight/FANIN.Q0.JMS.PARTITIONS"), "published")

    assert isinstance(plan.consumers, JmsConsumers)
    assert plan.consumers.heap == "20g"
    assert {"-Xms20g", "-Xss256k"} <= set(plan.consumers.jvm_flags.split())
    assert plan.consumers.memory_bytes == 20 << 30


def test_a_prefetch_in_bytes_follows_the_size_of_the_messages(tmp_path: Path) -> None:
    """The consumer program is told the payload; a window of 1,000 messages must hold 1,000 of 262,144 bytes."""
    plans = plan_points(load().find("fanin-jms/TPUT.FANIN.JMS"), "published", {"payload": [64, 262144]})
    payloads = {
        settings_for(plan.consumers, JmsAccess("artemis", "tcp://x:1"), tmp_path)["payload"]
        for plan in plans
        if isinstance(plan.consumers, JmsConsumers)
    }

    assert payloads == {64, 262144}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("consumer_heap", "2"),
        ("consumer_heap", "lots"),
        ("consumer_flags", "-XX:OnOutOfMemoryError=reboot"),
        ("consumer_flags", "-XX:Flags=file"),
        ("consumer_flags", "-javaagent:evil.jar"),
        ("consumer_flags", "@file"),
    ],
)
def test_a_scenario_may_size_the_jvm_and_nothing_else(name: str, value: str) -> None:
    """Scenario files travel: a flag that runs a program, loads code or reads a file is refused by its field."""
    with pytest.raises(ConfigError) as refused:
        plan_points(load().find("messagesight/FANIN.Q0.JMS.PARTITIONS"), "quick", {name: value})

    assert "heap" in str(refused.value.problems) or "jvm_flags" in str(refused.value.problems)
