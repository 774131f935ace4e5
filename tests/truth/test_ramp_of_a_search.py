"""The ramp of a search, in a real run: load generators tend to overshoot at the start, this one may not."""

from __future__ import annotations

import pytest

from telemark.campaigns.peak.bracket import Stage, Try
from telemark.campaigns.peak.probe import Probe
from telemark.campaigns.peak.scale import SearchCase
from telemark.model.plan.shapes.paced import Paced
from tests.support.truth import Answers, light_fan_in, plan

TARGET = 3000.0
FIDELITY = 0.01


CASE = plan("ramp", light_fan_in(), Paced(rate=100.0))
PLANS = [Probe(SearchCase(CASE)).plan(Try(TARGET, Stage.RAMP), 0)]  # one try, as the search itself plans it


def test_no_second_sends_more_than_the_target(answers: Answers) -> None:
    """Steps rise to the rate and stop there. A busy machine may send late, so the schedule itself is checked too."""
    counted = [row["intended"] for row in answers.rows("intervals", "ramp") if row["intended"] is not None]
    assert max(counted) <= TARGET * (1 + FIDELITY)
    sent = answers.records("ramp", "deliveries").column("sent_ns").to_pylist()
    due = sorted(answers.records("ramp", "deliveries").column("intended_ns").to_pylist())
    assert busiest_second(due) <= TARGET * (1 + FIDELITY)
    # What was late is sent as soon as possible: it may add to a second what an earlier one lacked, never more.
    assert all(early <= late for early, late in zip(due, sorted(sent), strict=True)), "a message was sent too early"


def busiest_second(times_ns: list[int]) -> int:
    """Most messages in any stretch of one second, wherever it begins."""
    most, first = 0, 0
    for place, time_ns in enumerate(times_ns):
        while time_ns - times_ns[first] >= 1_000_000_000:
            first += 1
        most = max(most, place - first + 1)
    return most


def test_the_load_rises_to_the_target_before_measuring(answers: Answers) -> None:
    """The warm-up starts at a quarter of the rate; the measure phase has the full rate in every second."""
    rows = sorted(
        (row for row in answers.rows("intervals", "ramp") if row["second"] >= 0), key=lambda row: row["second"]
    )
    assert rows[0]["intended"] == pytest.approx(TARGET * (0.25 + 0.5 + 0.75) / 3, rel=0.02)
    measured = [row["intended"] for row in rows if row["phase"] == "measure"]
    assert measured
    assert all(count == pytest.approx(TARGET, rel=FIDELITY) for count in measured)
