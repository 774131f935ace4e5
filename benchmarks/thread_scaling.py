"""What a second engine thread is worth, with the cost of the built-in server taken out.

Two processes of one thread share nothing. The same devices at the same rate in one process of two threads cost the same
processor time a message if its threads share nothing either; whatever they share (locks, cache lines, the thread that
writes files) makes it grow. Two threads then do 2 x (processor time with two processes / with two threads) times the
work of one. Both sides have two reactor threads, beside the same server with two threads, so that both are late alike:
late threads send more at once and look cheap, which one thread with half the load on an emptier machine is not. The two
take turns and the median of the turns counts; it holds only if the rate was kept and every message arrived.
"""

from __future__ import annotations

from statistics import median

from harness import LEAST_KEPT, EngineRun, Spent, loopback, plan, report, spend_together

from telemark.model.plan import EnginePlan, Group, Publish, Subscription
from telemark.model.plan.shapes.paced import Paced

RATE, PAIRS = 40_000, 500  # of each thread
THREADS = 2
TURNS = 5
LIMIT = 1.7


def pairs(port: int, threads: int, process: int = 0) -> EnginePlan:
    """Publishers with a subscriber each, dealt out to the threads."""
    count = PAIRS * threads
    topic = f"pair/{process}/{{index}}"
    takers = Group("takers", count, client_id=f"s{process}-{{index}}", subscriptions=(Subscription(topic),))
    givers = Group("givers", count, first_device=count, client_id=f"p{process}-{{index}}", publish=Publish(topic))
    return plan(port, (takers, givers), load=Paced(rate=RATE * threads), threads=threads, connect_rate=0)


def processes() -> Spent:
    """One thread in each of two processes."""
    with (
        loopback(threads=THREADS) as ports,
        EngineRun(pairs(ports["plain"], 1, 0)) as first,
        EngineRun(pairs(ports["plain"], 1, 1)) as second,
    ):
        return spend_together((first, second), RATE * THREADS)


def threads() -> Spent:
    """Two threads in one process."""
    with loopback(threads=THREADS) as ports, EngineRun(pairs(ports["plain"], THREADS)) as run:
        return spend_together((run,), RATE * THREADS)


def main() -> None:
    """Take turns."""
    turns = [(processes(), threads()) for _ in range(TURNS)]
    one, two = (median(pair[place].us_per_message for pair in turns) for place in (0, 1))
    scaling = [THREADS * first.us_per_message / second.us_per_message for first, second in turns]
    kept = min(each.rate_kept for pair in turns for each in pair)
    missing = sum(each.lost for pair in turns for each in pair)
    value = median(scaling)
    report(
        "thread_scaling",
        value,
        LIMIT,
        value >= LIMIT and kept >= LEAST_KEPT and missing == 0,
        us_per_message_two_processes=round(one, 2),
        us_per_message_two_threads=round(two, 2),
        turns=[round(each, 2) for each in scaling],
        least_rate_kept=round(kept, 3),
        lost=missing,
    )


if __name__ == "__main__":
    main()
