"""Telemark benchmarks MQTT servers: every message is a row, every number can be re-queried."""

__version__ = "0.1.0"
