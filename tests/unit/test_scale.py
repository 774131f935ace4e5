"""How many machines a load takes, and the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from telemark.catalog.scale import Load, scale
from telemark.host.limits import HostFacts, HostLimits

HOST = HostFacts(HostLimits(1_048_576, 28_232), cores=32, memory_bytes=128 << 30, system_files=10_000_000)
PAGE = Path(__file__).parents[2] / "docs/concepts/scale.md"


def rows() -> list[list[str]]:
    """The examples of the page, cell by cell."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| [0-9]", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]} devices, {row[1]} in")
def test_the_page_shows_what_the_arithmetic_gives(row: list[str]) -> None:
    """A constant that changes must change the page."""
    devices, incoming, outgoing, destinations = (int(cell.replace(",", "")) for cell in row[:4])

    found = scale(Load(devices, incoming, outgoing, destinations=destinations), HOST)

    shown = (
        f"{found.hosts} ({found.limited_by})", f"{found.processes:,}", f"{found.source_addresses:,}",
        f"{found.memory_bytes / 2**30:,.0f}", f"{found.record_bytes_per_hour / 1e9:,.0f}", f"{found.spark_cores}",
    )  # fmt: skip
    assert tuple(row[4:]) == shown


def test_the_page_has_the_sizes_people_ask_for() -> None:
    """Ten and a hundred million devices, ten million messages a second."""
    assert {"10,000,000", "100,000,000"} <= {row[0] for row in rows()}
    assert "10,000,000" in {row[1] for row in rows()}


def test_a_calibrated_rate_takes_the_place_of_the_constant() -> None:
    """Half of the rate for each host takes twice the hosts."""
    load = Load(1000, 10e6, 10e6)

    assert scale(load, HOST, 1_000_000.0).hosts == 2 * scale(load, HOST, 2_000_000.0).hosts == 20
