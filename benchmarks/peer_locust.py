"""The users that `peers.py` lets Locust simulate: one subscriber, all others publish. Locust runs this file."""

from __future__ import annotations

import os
import time

from locust import constant_throughput, task
from locust.contrib.mqtt import MqttClient, MqttUser

RATE = float(os.environ["PEER_RATE"])


class OneName(MqttClient):
    """One row for all topics."""

    def _generate_event_name(self, event_type: str, qos: int, topic: str) -> str:
        return event_type


class Device(MqttUser):
    """Connected to the server under test."""

    abstract = True
    host, port = "127.0.0.1", int(os.environ["PEER_PORT"])
    client_cls = OneName
    use_loop_selectors = True

    def on_start(self) -> None:
        """Nothing is sent before the connection stands."""
        while not self.client.is_connected():
            time.sleep(0.01)


class Subscriber(Device):
    """Takes every message."""

    fixed_count = 1
    wait_time = constant_throughput(1)

    def on_start(self) -> None:
        """Subscribe once."""
        super().on_start()
        self.client.subscribe("bench/#")

    @task
    def receive(self) -> None:
        """Messages arrive in the background."""


class Publisher(Device):
    """Sends at its share of the rate, or as fast as it can."""

    if RATE:
        wait_time = constant_throughput(RATE)

    @task
    def publish(self) -> None:
        """One message."""
        self.client.publish("bench/1", b"x" * int(os.environ["PEER_PAYLOAD"]))
