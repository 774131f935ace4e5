"""The correction of another host's clock: the truth is inside the stated interval, always."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.errors import DataError
from telemark.model.clock import DRIFT, STEP_NS, Correction, Exchange, correction

SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clocks and the ways between them. Each clock's rate changes at random, within what the module states."""

    seed: int
    seconds: float = 20.0
    every_s: float = 0.1

    def clocks(self) -> tuple[Callable[[float], int], Callable[[float], int]]:
        """Functions from true seconds to what the host's and the reference's clock read."""
        chance = random.Random(self.seed)
        return _clock(chance, self.seconds), _clock(chance, self.seconds)

    def exchanges(self) -> list[Exchange]:
        """One every so often; ways there and back have their own least delay and their own long tail."""
        host, reference = self.clocks()
        chance = random.Random(self.seed + 1)
        there_s, back_s = 10 ** chance.uniform(-6, -2), 10 ** chance.uniform(-6, -2)
        found, now = [], 0.0
        while now < self.seconds:
            asked = now
            told = asked + there_s + chance.expovariate(1 / there_s)
            answered = told + back_s + chance.expovariate(1 / back_s)
            found.append(Exchange(host(asked), reference(told), host(answered)))
            now = max(answered, asked + self.every_s * chance.uniform(0.5, 1.5))
        return found


def _clock(chance: random.Random, seconds: float) -> Callable[[float], int]:
    """A clock that starts anywhere and whose rate is off by another share in every stretch of time."""
    start = chance.randrange(-(10**16), 10**16)
    stretch = 10 ** chance.uniform(-1, 1.5)
    worst = chance.choice([DRIFT / 2, DRIFT / 2, 20e-6, 0.0])
    gained = [0.0]
    for _ in range(int(seconds * 2 / stretch) + 2):
        gained.append(gained[-1] + stretch * chance.choice([chance.uniform(-worst, worst), worst, -worst]))

    def read(now: float) -> int:
        part, whole = now % stretch / stretch, int(now // stretch)
        return start + int((now + gained[whole] + part * (gained[whole + 1] - gained[whole])) * SECOND)

    return read


@pytest.mark.parametrize("block", range(10))
def test_the_true_correction_is_inside_the_stated_interval_every_time(block: int) -> None:
    """1,000 pairs of clocks with unequal delays and wandering rates, each looked at 200 times."""
    for seed in range(block * 100, block * 100 + 100):
        pair = Pair(seed)
        found = correction(pair.exchanges())
        host, reference = pair.clocks()
        chance = random.Random(seed + 2)
        for _ in range(200):
            now = chance.uniform(0, pair.seconds - 0.2)
            correction_ns, error_ns = found.at(host(now))
            truth_ns = reference(now) - host(now)
            assert abs(correction_ns - truth_ns) <= error_ns, (seed, now)


def test_more_exchanges_make_the_interval_narrower() -> None:
    """Each exchange limits the correction; none widens it, however slow it was."""
    exchanges = Pair(7).exchanges()
    few = correction(exchanges[::10], first_ns=exchanges[0].asked_ns, last_ns=exchanges[-1].answered_ns)
    all_of_them = correction(exchanges)

    assert all_of_them.worst_error_ns < few.worst_error_ns


@given(delays=st.lists(st.integers(0, SECOND), min_size=1, max_size=20), offset=st.integers(-(10**16), 10**16))
def test_the_error_is_half_the_shortest_round_trip(delays: list[int], offset: int) -> None:
    """A slow exchange does not spoil a fast one at the same time; drift and rounding of one step are added."""
    found = correction(Exchange(0, delay + offset, 2 * delay) for delay in delays)
    between = STEP_NS * DRIFT / 2 + 2
    least = min(delays) * (1 + 2 * DRIFT) + between + 2

    assert min(delays) <= found.error_ns[0] <= least


def test_far_from_an_exchange_the_error_grows_with_the_drift() -> None:
    """Before the first and after the last exchange nothing but the limit of the drift is known."""
    found = correction([Exchange(0, 1_000, 0)], first_ns=-10 * SECOND, last_ns=10 * SECOND)

    assert found.at(9 * SECOND)[1] == pytest.approx(9 * SECOND * DRIFT, rel=0.05)
    assert found.at(-9 * SECOND)[1] == pytest.approx(9 * SECOND * DRIFT, rel=0.05)


def test_a_time_of_the_reference_is_found_on_the_host() -> None:
    """A common start is told to each host on its own clock, also when it lies ahead of all exchanges."""
    found = correction([Exchange(at, at + 12_345, at) for at in range(0, 2 * SECOND, STEP_NS)])

    assert SECOND == found.to_host(SECOND + 12_345)
    assert 3600 * SECOND == found.to_host(3600 * SECOND + 12_345)
    assert -5 == found.to_host(12_340)


def test_no_exchange_gives_no_correction() -> None:
    """A missing answer is not an offset of zero."""
    with pytest.raises(DataError, match="0 exchanges"):
        correction([])


def test_an_answer_before_its_question_is_refused() -> None:
    """Such a clock was set back."""
    with pytest.raises(DataError, match="-5 ns"):
        correction([Exchange(10, 0, 5)])


def test_exchanges_that_contradict_each_other_are_refused() -> None:
    """A clock that was set, or runs away: no interval would be true."""
    with pytest.raises(DataError, match=r"contradict.*200 parts per million"):
        correction([Exchange(0, 0, 10), Exchange(SECOND, SECOND + 10**7, SECOND + 10)])


def test_a_time_outside_of_all_knots_has_no_correction() -> None:
    """Rows of a host whose exchanges ended early are not guessed at."""
    with pytest.raises(DataError, match="no exchange around"):
        correction([Exchange(0, 0, 10)]).at(3 * STEP_NS)


def test_a_long_run_has_a_limited_number_of_knots() -> None:
    """Ten days: steps grow instead of the table."""
    found = correction([Exchange(0, 0, 0), Exchange(864_000 * SECOND, 864_000 * SECOND, 864_000 * SECOND)])

    assert isinstance(found, Correction)
    assert len(found.correction_ns) <= 36_002
