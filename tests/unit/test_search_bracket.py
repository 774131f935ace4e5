"""The search for the peak, against servers whose true peak is known."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.campaigns.peak.bracket import Bracket, Limits, Stage
from telemark.campaigns.peak.forecast import Forecast


def search(peak: float, limits: Limits, noise: random.Random | None = None, flake: float = 0.0) -> Bracket:
    """Run a search against a server that holds up to `peak`, failing at random with probability `flake`."""
    bracket = Bracket(limits)
    while (tried := bracket.next()) is not None:
        unlucky = noise is not None and noise.random() < flake
        bracket.report(tried, tried.rate <= peak and not unlucky)
    return bracket


@given(st.floats(min_value=1_050, max_value=900_000))
def test_the_confirmed_rate_is_within_the_resolution_below_the_peak(peak: float) -> None:
    bracket = search(peak, Limits(start=1_000, ceiling=1_000_000))

    assert bracket.ending == "confirmed"
    assert bracket.confirmed is not None
    assert peak * 0.95 <= bracket.confirmed <= peak


@given(st.integers(min_value=1, max_value=900), st.integers(min_value=1, max_value=40))
def test_only_multiples_of_the_step_are_tried_and_the_highest_is_found(peak: int, start: int) -> None:
    """Devices come in partitions: a search must end when two neighbouring numbers are told apart."""
    step = 100
    bracket = search(peak * step, Limits(start=start * step, ceiling=100_000, step=step))

    assert all(tried.rate % step == 0 and tried.rate > 0 for tried, _ in bracket.history)
    assert bracket.confirmed is not None
    assert bracket.confirmed <= peak * step
    assert bracket.confirmed >= min(peak * step - step, peak * step * 0.95) or bracket.confirmed == peak * step


def test_a_search_in_steps_ends_when_not_even_one_step_holds() -> None:
    bracket = search(50, Limits(start=400, ceiling=10_000, step=100))

    assert (bracket.confirmed, bracket.ending) == (None, "nothing held")


def test_a_search_in_steps_may_end_at_its_ceiling() -> None:
    bracket = search(1e9, Limits(start=400, ceiling=10_050, step=100))

    assert (bracket.confirmed, bracket.ending) == (10_000, "ceiling reached")


@given(st.floats(min_value=1_050, max_value=900_000))
def test_the_ramp_comes_from_below_and_overshoots_by_one_step_at_most(peak: float) -> None:
    limits = Limits(start=1_000, ceiling=1_000_000)
    bracket = search(peak, limits)

    assert max(tried.rate for tried, _ in bracket.history) <= peak * limits.growth
    ramp = [tried.rate for tried, _ in bracket.history if tried.stage is Stage.RAMP and not tried.repeated]
    assert ramp == sorted(ramp)


@given(st.floats(min_value=1_050, max_value=900_000))
def test_the_forecast_of_tries_is_about_what_it_takes_at_every_moment(peak: float) -> None:
    bracket = Bracket(Limits(start=1_000, ceiling=1_000_000))
    forecasts = []
    while (tried := bracket.next()) is not None:
        forecasts.append(bracket.tries_left(further=max(1.0, peak / (bracket.held or 1_000))))
        bracket.report(tried, tried.rate <= peak)
    left = range(len(forecasts), 0, -1)

    assert all(abs(forecast - true) <= 5 for forecast, true in zip(forecasts, left, strict=True))
    assert bracket.tries_left(further=1) == 0


def test_a_peak_below_the_start_is_found_by_halving() -> None:
    bracket = search(130.0, Limits(start=1_000, ceiling=10_000))

    assert bracket.confirmed is not None
    assert 130.0 * 0.95 <= bracket.confirmed <= 130.0


def test_a_server_that_holds_nothing_has_no_peak() -> None:
    bracket = search(0.0, Limits(start=1_000, ceiling=10_000))

    assert (bracket.confirmed, bracket.ending) == (None, "nothing held")


def test_a_server_faster_than_the_ceiling_is_reported_as_such() -> None:
    """The answer is then a statement about the engine or the user's limit, not a peak of the server."""
    bracket = search(1e9, Limits(start=1_000, ceiling=50_000))

    assert (bracket.confirmed, bracket.ending) == (50_000, "ceiling reached")


def test_a_rate_that_fails_its_full_length_hold_is_stepped_back_from() -> None:
    bracket = Bracket(Limits(start=1_000, ceiling=100_000))
    while (tried := bracket.next()) is not None:
        limit = 9_000 if tried.stage is Stage.CONFIRM else 10_000
        bracket.report(tried, tried.rate <= limit)

    assert bracket.confirmed is not None
    assert 9_000 * 0.93 <= bracket.confirmed <= 9_000


def search_with_engine(peak: float, engine: float) -> Bracket:
    """Run a search with an engine that gives out above `engine`."""
    bracket = Bracket(Limits(start=1_000, ceiling=1_000_000))
    while (tried := bracket.next()) is not None:
        if tried.rate > engine:
            bracket.report_bound(tried)
        else:
            bracket.report(tried, tried.rate <= peak)
    return bracket


@given(st.floats(min_value=1_050, max_value=200_000), st.floats(min_value=1.06, max_value=4.0))
def test_a_ramp_that_jumps_beyond_the_engine_still_finds_the_peak_below(peak: float, ahead: float) -> None:
    bracket = search_with_engine(peak, peak * ahead)

    assert bracket.ending == "confirmed"
    assert bracket.confirmed is not None
    assert peak * 0.95 <= bracket.confirmed <= peak


@given(st.floats(min_value=1_050, max_value=200_000), st.floats(min_value=1.0, max_value=4.0))
def test_a_server_that_holds_all_the_engine_can_make_has_no_peak(engine: float, ahead: float) -> None:
    bracket = search_with_engine(engine * ahead, engine)

    assert bracket.ending == "engine bound"
    assert engine * 0.95 <= bracket.held <= engine


def test_an_engine_that_can_make_nothing_ends_the_search() -> None:
    bracket = search_with_engine(1e9, 0.0)

    assert (bracket.held, bracket.ending) == (0.0, "engine bound")


@pytest.mark.parametrize("seed", range(20))
def test_single_unlucky_tries_do_not_move_the_answer(seed: int) -> None:
    """Every failure is looked at twice; with one unlucky run in twenty the answer stays within ten percent."""
    bracket = search(10_000, Limits(start=1_000, ceiling=100_000), random.Random(seed), flake=0.05)

    assert bracket.confirmed is not None
    assert 9_000 <= bracket.confirmed <= 10_000


def test_a_search_always_ends() -> None:
    noise = random.Random(7)
    bracket = Bracket(Limits(start=1_000, ceiling=100_000, tries=30))
    while (tried := bracket.next()) is not None:
        bracket.report(tried, noise.random() < 0.5)

    assert len(bracket.history) <= 30


def test_the_forecast_counts_with_the_time_tries_have_taken() -> None:
    """Before the first try the planned time, afterwards the measured one; fewer tries are left after each."""
    bracket = Bracket(Limits(start=1_000, ceiling=1_000_000))
    forecast = Forecast(planned_s=10.0)
    before = forecast.sentence(bracket)
    for seconds in (20.0, 20.0, 20.0):
        tried = bracket.next()
        assert tried is not None
        bracket.report(tried, tried.rate <= 1_500)
        forecast.add(seconds)
    after = forecast.sentence(bracket)

    assert before == "about 10 to 15 more tries, 2 min"
    assert after == "about 7 more tries, 2 min"
