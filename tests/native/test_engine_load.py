"""Load shapes as the engine plays them. What is tested is counts and due times, never speed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from telemark._native import PlanProblem
from telemark.model.plan.shapes.batched import Batched
from telemark.model.plan.shapes.every import Every
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.steps import Step, Steps
from telemark.model.plan.shapes.windowed import Windowed
from tests.support.engine import Played, engine_plan, limited, play, publisher, subscriber
from tests.support.loopback import Running, running

MS = 1_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One built-in server for all tests of this file."""
    with running() as found:
        yield found


def test_paced_messages_are_due_at_start_plus_n_over_rate(server: Running) -> None:
    """The intended times are exact, whatever the machine did; publishers take turns."""
    played = play(engine_plan(server.port, subscriber(), publisher(4), load=limited(100, rate=500.0)))
    rows = sorted(played.rows("deliveries"), key=lambda row: row["intended_ns"])
    assert [row["intended_ns"] - played.start_ns for row in rows] == [number * 2 * MS for number in range(100)]
    assert [row["stream"] for row in rows] == [number % 4 for number in range(100)]


def test_several_processes_interleave_by_their_slots(server: Running) -> None:
    """The second of two processes sends in the middle of the first one's gaps."""
    load = Paced(rate=100.0, limit=5)
    played = play(engine_plan(server.port, subscriber(), publisher(1), load=load, slot=1, slots=2))
    offsets = [row["intended_ns"] - played.start_ns for row in played.rows("deliveries")]
    assert offsets == [5 * MS, 15 * MS, 25 * MS, 35 * MS, 45 * MS]


def test_a_batch_is_due_at_once_and_partitions_take_turns(server: Running) -> None:
    """Two partitions of three publishers, four messages each and period."""
    load = Batched(batch=4, period_ms=50.0, partitions=2, limit=16)
    played = play(engine_plan(server.port, subscriber(), publisher(6), load=load))
    due = Counter((row["intended_ns"] - played.start_ns) // MS for row in played.rows("deliveries"))
    assert due == {0: 4, 25: 4, 50: 4, 75: 4}
    by_partition = Counter(row["stream"] // 3 for row in played.rows("deliveries"))
    assert by_partition == {0: 8, 1: 8}


def test_every_sends_from_the_first_publisher_alone(server: Running) -> None:
    """The heartbeat case: one message every 20 ms."""
    played = play(engine_plan(server.port, subscriber(), publisher(3), load=Every(every_s=0.02, limit=4)))
    assert played.messages() == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_steps_end_by_themselves(server: Running) -> None:
    """200/s for 0.1 s, nothing for 0.1 s, 100/s for 0.1 s."""
    steps = (Step(0.1, 200.0), Step(0.1, 0.0), Step(0.1, 100.0))
    plan = engine_plan(server.port, subscriber(), publisher(2), load=Steps(steps=steps), send_for_s=0.4)
    played = play(plan)
    offsets = sorted((row["intended_ns"] - played.start_ns) // MS for row in played.rows("deliveries"))
    assert len(offsets) == 30
    assert not [offset for offset in offsets if 100 <= offset < 200]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_windowed_load_never_has_more_outstanding_than_its_window(server: Running, threads: int) -> None:
    """Closed loop: replaying the rows in order of time, the number outstanding stays within the window."""
    load = Windowed(window=50, refill=5, limit=2_000)
    played = play(engine_plan(server.port, subscriber(), publisher(20), load=load, threads=threads))
    rows = played.rows("deliveries")
    assert len(set(played.messages())) == 2_000
    changes = [(row["sent_ns"], 1) for row in rows] + [(row["received_ns"], -1) for row in rows]
    outstanding = worst = 0
    for _, change in sorted(changes, key=lambda entry: (entry[0], entry[1])):
        outstanding += change
        worst = max(worst, outstanding)
    assert worst <= 50
    assert len({row["stream"] for row in rows}) == 20


def test_relayed_credits_release_messages(server: Running) -> None:
    """Over several processes the credits come from outside: nothing more is sent without them."""
    load = Windowed(window=10, refill=1)
    played = Played(engine_plan(server.port, subscriber(), publisher(4), load=load, relay_credits=True))
    played.connect()
    played.begin()
    played.until(lambda status: status["received"] == 10)
    assert played.engine.status()["received_for_credit"] == 10
    played.engine.credit(7)
    played.until(lambda status: status["received"] == 17)
    assert played.finish().engine.status()["sent"] == 17


def test_the_rate_changes_while_running_without_a_jump(server: Running) -> None:
    """Before the change every gap is the old one, after it the new one, and none is longer than both."""
    played = Played(engine_plan(server.port, subscriber(), publisher(2), load=Paced(rate=200.0)))
    played.connect()
    played.begin()
    played.until(lambda status: status["sent"] >= 20)
    played.engine.set_rate(1_000.0)
    played.until(lambda status: status["sent"] >= 200)
    played.engine.halt()
    played.until(lambda status: not status["sending"] and status["received"] == status["sent"])
    due = sorted(row["intended_ns"] for row in played.finish().rows("deliveries"))
    gaps = [later - earlier for earlier, later in itertools.pairwise(due)]
    change = next(at for at, gap in enumerate(gaps) if gap < 4_999_999)
    assert {round(gap, -3) for gap in gaps[:change]} == {5_000_000}
    assert gaps[change] <= 5_000_000
    assert {round(gap, -3) for gap in gaps[change + 1 :]} == {1_000_000}


def test_a_negative_rate_is_refused(server: Running) -> None:
    """The message names the value."""
    played = Played(engine_plan(server.port, publisher(1), load=Paced(rate=1.0)))
    played.connect()
    with pytest.raises(PlanProblem, match="-3"):
        played.engine.set_rate(-3.0)
    played.finish()


def test_halt_stops_new_messages_and_receiving_goes_on(server: Running) -> None:
    """After halt the sent count stands still; what was sent still arrives."""
    played = Played(engine_plan(server.port, subscriber(), publisher(5), load=Paced(rate=3_000.0)))
    played.connect()
    played.begin()
    played.until(lambda status: status["sent"] > 300)
    played.engine.halt()
    sent = played.until(lambda status: not status["sending"])["sent"]
    played.until(lambda status: status["received"] == sent)
    assert played.finish().engine.status()["sent"] == sent


def test_sending_ends_after_its_time(server: Running) -> None:
    """send_for_s is exact in due times: 0.2 s at 1,000/s are 200 messages."""
    plan = engine_plan(server.port, subscriber(), publisher(3), load=Paced(rate=1_000.0), send_for_s=0.2)
    assert len(play(plan).messages()) == 200


def test_poisson_arrivals_are_random_but_repeatable(server: Running) -> None:
    """The seed decides the gaps; the same plan gives the same due times."""
    load = Paced(rate=2_000.0, arrivals="poisson", limit=200)
    plan = engine_plan(server.port, subscriber(), publisher(2), load=load)
    runs = []
    for _ in range(2):
        played = play(plan)
        runs.append(sorted(row["intended_ns"] - played.start_ns for row in played.rows("deliveries")))
    assert runs[0] == runs[1]
    assert len({later - earlier for earlier, later in zip(runs[0], runs[0][1:], strict=False)}) > 150
