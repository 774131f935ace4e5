"""The phase machine, with a clock of its own."""

from __future__ import annotations

from telemark.model.plan import Phases
from telemark.runner.phases import Order, Owed, Phase, PhaseMachine
from telemark.runner.totals import Totals, add_up

S = 1_000_000_000
LENGTHS = Phases(connect_timeout_s=5, warmup_s=2, measure_s=10, drain_timeout_s=4, hold_s=0)
NOT_YET = Totals(devices=10, ready=4)
ALL = Totals(devices=10, connected=10, ready=10, sending=True)


def connected(machine: PhaseMachine, at_ns: int = 100 * S) -> PhaseMachine:
    """A machine whose devices are connected at that time."""
    machine.enter(Phase.CONNECT, at_ns - S)
    machine.step(at_ns, ALL, Owed())
    return machine


def test_a_run_walks_through_all_its_phases() -> None:
    """Start, warm-up, measure, drain and stop follow each other at the planned times, whenever one looks."""
    machine = PhaseMachine(LENGTHS, lead_ns=S // 2)
    machine.enter(Phase.CONNECT, 100 * S)
    orders = [machine.step(100 * S + S // 10, NOT_YET, Owed()), machine.step(101 * S, ALL, Owed())]
    start = machine.start_ns or 0
    for late in range(0, 13):
        orders.append(machine.step(start + late * S + 7, ALL, Owed(deliveries=50)))
    received = Totals(devices=10, ready=10, sent=50, received=50)
    orders.append(machine.step(start + 13 * S, received, Owed(deliveries=50)))
    orders.append(machine.step(start + 14 * S, received, Owed(deliveries=50)))

    assert start == 101 * S + S // 2
    assert [order for given in orders for order in given] == [Order.BEGIN, Order.HALT, Order.FINISH]
    assert machine.times["connect"] == [100 * S, 101 * S]
    assert machine.times["warmup"] == [start, start + 2 * S]
    assert machine.times["measure"] == [start + 2 * S, start + 12 * S]
    assert machine.times["drain"] == [start + 12 * S, start + 14 * S]
    assert "hold" not in machine.times


def test_devices_that_do_not_connect_in_time_are_a_problem_in_words() -> None:
    """The message says how many were missing and the limit."""
    machine = PhaseMachine(LENGTHS)
    machine.enter(Phase.CONNECT, 0)
    machine.step(6 * S, NOT_YET, Owed())

    assert machine.problem == "6 of 10 devices were not connected and subscribed within 5 s"


def test_devices_that_gave_up_do_not_keep_the_others_waiting() -> None:
    """Ready and failed together are all: the caller decides whether a run with failed devices may go on."""
    machine = PhaseMachine(LENGTHS)
    machine.enter(Phase.CONNECT, 0)

    assert machine.step(S, Totals(devices=10, ready=7, failed=3), Owed()) == [Order.BEGIN]


def test_without_messages_the_run_ends_after_the_hold() -> None:
    """Connection cases hold their devices and stop; there is no common start."""
    machine = PhaseMachine(Phases(hold_s=3), sends=False)
    machine.enter(Phase.CONNECT, 0)
    orders = [machine.step(second * S, ALL, Owed()) for second in range(1, 5)]

    assert orders == [[], [], [], [Order.FINISH]]
    assert machine.times["hold"] == [S, 4 * S]
    assert machine.start_ns is None


def test_a_load_with_a_limit_ends_the_measuring_when_it_is_reached() -> None:
    """A closed loop of so many messages is over when they are sent; the rate counts the time it took."""
    machine = connected(PhaseMachine(Phases(measure_s=60), ends_early=True))
    start = machine.start_ns or 0
    machine.step(start + 2 * S, ALL, Owed())
    stopped = Totals(devices=10, ready=10, sent=500, stopped_ns=start + 5 * S // 2)
    orders = machine.step(start + 3 * S, stopped, Owed())

    assert orders == [Order.HALT]
    assert machine.times["measure"] == [start, start + 5 * S // 2]  # when it stopped, not when somebody noticed


def test_draining_waits_for_the_acknowledgements_too() -> None:
    """All deliveries have arrived, one acknowledgement has not: it ends by the timeout, not before."""
    machine = connected(PhaseMachine(LENGTHS))
    end = (machine.start_ns or 0) + 12 * S
    machine.step(end, ALL, Owed())
    machine.step(end, ALL, Owed())
    missing = Totals(devices=10, ready=10, sent=5, received=5, acked=4)
    early = machine.step(end + 3 * S, missing, Owed(deliveries=5, acks=5))
    late = machine.step(end + 4 * S, missing, Owed(deliveries=5, acks=5))

    assert early == []
    assert late == [Order.FINISH]


def test_draining_when_nobody_knows_what_is_owed_ends_in_silence() -> None:
    """Streams with different audiences: nobody counts live; two quiet seconds end the drain."""
    machine = connected(PhaseMachine(Phases(warmup_s=2, measure_s=10, drain_timeout_s=60)))
    end = (machine.start_ns or 0) + 12 * S
    machine.step(end, ALL, Owed())
    machine.step(end, ALL, Owed())
    orders = [machine.step(end + n * S, Totals(devices=10, ready=10, received=min(n, 3)), Owed()) for n in range(7)]

    assert [bool(given) for given in orders] == [False] * 5 + [True, False]


def test_totals_are_sums_and_a_silent_process_has_no_latency() -> None:
    """p50 is weighted by what each process received; without any message there is none."""
    busy = {"devices": 2, "sent": 5, "latency_count": 3, "p50_us": 100, "p99_us": 900}
    idle = {"devices": 1, "sent": 0, "latency_count": 0, "p50_us": 0, "p99_us": 0}

    assert add_up([busy, idle]).p50_us == 100
    assert add_up([busy, idle]).devices == 3
    assert add_up([idle]).p99_us is None


def test_a_limited_load_has_stopped_when_every_process_has() -> None:
    """Processes without such a load do not count."""
    assert add_up([{"stopped_ns": 5}, {"stopped_ns": 7}, {}]).stopped_ns == 7
    assert add_up([{"stopped_ns": 5}, {"stopped_ns": None}]).stopped_ns is None
    assert add_up([{}]).stopped_ns is None
