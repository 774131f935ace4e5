"""How numbers are written in every report."""

from __future__ import annotations

import pytest

from telemark.model.columns import Unit
from telemark.report import format as fmt


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, fmt.MISSING),
        (float("nan"), fmt.MISSING),
        (float("inf"), fmt.MISSING),
        (0, "0"),
        (42, "42"),
        (1234567, "1,234,567"),
        (0.5, "0.5"),
        (12.3456, "12.3"),
        (1234.56, "1,235"),
        (0.000123456, "0.000123"),
        (-0.25, "-0.25"),
    ],
)
def test_number_keeps_about_three_digits_and_never_turns_missing_into_zero(value: float | None, written: str) -> None:
    """What was not measured is a dash; small and large values stay readable."""
    assert written == fmt.number(value)


@pytest.mark.parametrize(
    ("unit", "value", "written"),
    [
        ("messages_per_second", 19_900.0, "19.9K msg/s"),
        ("connections_per_second", 1800.0, "1.8K conn/s"),
        ("us", 857.4, "857 µs"),
        ("us", 12_345.0, "12.3 ms"),
        ("us", 2_500_000.0, "2.5 s"),
        ("bytes", 15_000_000.0, "14.3 MiB"),
        ("cores", 0.204, "0.20"),
        ("ratio", 4.2, "4.2x"),
        ("share", 0.853, "85.3 %"),
        ("seconds", 90.0, "1.5 min"),
        ("count", 1200, "1,200"),
        ("messages_per_second", None, fmt.MISSING),
    ],
)
def test_units_are_part_of_the_text(unit: Unit, value: float | None, written: str) -> None:
    """The same value is written the same way everywhere."""
    assert written == fmt.value_in(unit, value)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("latency_p99_us", "us"),
        ("received_rate", "messages_per_second"),
        ("buffered_slope_per_s", "messages_per_second"),
        ("connect_rate", "connections_per_second"),
        ("server_rss_bytes_max", "bytes"),
        ("server_cpu_cores_mean", "cores"),
        ("host_core_busy_max", "share"),
        ("server_cpu_us_per_message", "us"),
        ("lost", "count"),
    ],
)
def test_a_value_of_a_column_is_written_in_its_own_unit(metric: str, unit: Unit) -> None:
    """Comparisons and verdicts show values of any column."""
    assert fmt.value_in(unit, 0.5) == fmt.point_value(metric, 0.5)


def test_text_of_a_stranger_becomes_one_line_without_control_characters() -> None:
    """A server's name must not move the cursor of a terminal or break a table."""
    assert "evil [31mred next" == fmt.one_line("evil\x1b[31mred\r\nnext\x07")
    assert 10 == len(fmt.one_line("x" * 100, 10))
