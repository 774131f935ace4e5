"""The offset of two clocks and the error it is stated with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.errors import DataError
from telemark.runner.clock import ClockOffset, Exchange, estimate, measure

DELAY = st.integers(0, 10**9)
OFFSET = st.integers(-(10**15), 10**15)


@given(offset=OFFSET, delays=st.lists(st.tuples(DELAY, DELAY), min_size=1, max_size=20), start=st.integers(0, 10**15))
def test_the_true_offset_is_never_further_away_than_the_stated_error(
    offset: int, delays: list[tuple[int, int]], start: int
) -> None:
    """Whatever the two ways cost, and however unequal they are."""
    exchanges = []
    for there, back in delays:
        exchanges.append(Exchange(start, start + there + offset, start + there + back))
        start += there + back
    found = estimate(exchanges)
    assert abs(found.offset_ns - offset) <= found.error_ns


@given(offset=OFFSET, delays=st.lists(DELAY, min_size=1, max_size=20))
def test_the_error_is_half_the_shortest_round_trip(offset: int, delays: list[int]) -> None:
    """A slow exchange does not spoil a fast one; one nanosecond is left to rounding."""
    found = estimate(Exchange(0, delay + offset, 2 * delay) for delay in delays)
    assert min(delays) <= found.error_ns <= min(delays) + 1


@given(offset=OFFSET, drift=st.floats(-1e-4, 1e-4), seconds=st.floats(0, 3600))
def test_a_drifting_clock_stays_within_the_widened_error(offset: int, drift: float, seconds: float) -> None:
    """After a while the offset is known less well, and says so."""
    later = offset + drift * seconds * 1e9
    found = ClockOffset(offset, 0).widened(seconds)
    assert abs(later - found.offset_ns) <= found.error_ns + 1


def test_no_exchange_gives_no_offset() -> None:
    """A missing answer is not an offset of zero."""
    with pytest.raises(DataError, match="0 exchanges"):
        estimate([])


def test_an_answer_before_its_question_is_refused() -> None:
    """Such a clock was set back."""
    with pytest.raises(DataError, match="-5 ns"):
        estimate([Exchange(10, 0, 5)])


def test_readings_are_taken_around_the_question() -> None:
    """`measure` asks so often and keeps the shortest exchange; the entry for run.json has what it found."""
    times = iter([100, 180, 200, 210, 300, 390])
    found = measure(iter([1_140, 1_205, 1_345]).__next__, times=3, now_ns=times.__next__)
    assert ClockOffset(1_000, 5) == found
    assert {"host": "b", "offset_ns": 1_000, "error_ns": 5} == found.as_host("b")
