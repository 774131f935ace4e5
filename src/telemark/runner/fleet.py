"""All engine processes of a run: started, listened to, given orders, ended."""

from __future__ import annotations

import selectors
import sys
import time
from collections.abc import Callable, Sequence

from telemark.errors import ConfigError, EngineError, RequirementError, TelemarkError
from telemark.model.shares import share_out
from telemark.model.slicing import PlacedPlan
from telemark.runner.engine_link import EngineLink
from telemark.runner.totals import Totals, add_up

ENGINE_COMMAND = (sys.executable, "-m", "telemark.runner.engine_process")
TELL_NS = 5_000_000  # to reckon a time on the clock of a process's host and send it there, with a thousand lines alive
_ERRORS: dict[str, type[TelemarkError]] = {
    "plan": ConfigError,
    "ConfigError": ConfigError,
    "RequirementError": RequirementError,
}


class Fleet:
    """The engine processes of one run. Not for several threads.

    Args:
        placed: one for each process.
        start: starts one of them.
    """

    def __init__(self, placed: Sequence[PlacedPlan], start: Callable[[PlacedPlan], EngineLink]) -> None:
        plans = [each.plan for each in placed]
        self._placed = list(placed)
        self._plans = plans
        self._start = start
        self._selector = selectors.DefaultSelector()
        self._links: list[EngineLink] = []
        self._publishers = [sum(group.count for group in plan.groups if group.publish) for plan in plans]
        self._closed_loop = next((plan.load for plan in plans if plan.load.closed_loop), None)
        self._received = 0  # for relayed credits
        self._credited = [0] * len(self._plans)
        self.late_rates: list[tuple[int, int]] = []  # (process, nanoseconds) that heard of a new rate too late
        self.events: list[str] = []  # the first things that went wrong, in words

    def start(self) -> None:
        """Start every process; they begin to connect as soon as they have read their plan."""
        for placed in self._placed:
            link = self._start(placed)
            self._links.append(link)
            self._selector.register(link.output, selectors.EVENT_READ, link)

    def poll(self, timeout_s: float) -> None:
        """Read what the processes say, for at most `timeout_s` when they are silent.

        Raises:
            TelemarkError: a process failed or ended without having finished.
        """
        for key, _ in self._selector.select(timeout_s):
            link: EngineLink = key.data
            for message in link.read():
                self._hear(link, message)
            if link.ended:
                self._selector.unregister(link.output)
        self._relay_credits()
        self._refuse_dead_processes()

    @property
    def telling_ns(self) -> int:
        """How long it may take until every process has heard an order."""
        return len(self._links) * TELL_NS

    def begin(self, start_ns: int) -> None:
        """Tell every process the common start."""
        for link in self._links:
            link.begin(start_ns)

    def halt(self) -> None:
        """Stop sending; receiving goes on."""
        self._order_all({"do": "halt"})

    def finish(self) -> None:
        """Disconnect all devices and close the records."""
        self._order_all({"do": "finish"})

    def set_rate(self, rate: float, at_ns: int) -> None:
        """New aggregate rate from a common time on, shared out by the publishers each process plays."""
        total = sum(self._publishers) or 1
        for link, publishers in zip(self._links, self._publishers, strict=True):
            if publishers:
                link.set_rate(rate * publishers / total, at_ns)

    def totals(self) -> Totals:
        """Newest counts of all processes together; devices are known from the plans before anybody reported."""
        statuses = [
            link.status or {"devices": sum(group.count for group in plan.groups)}
            for link, plan in zip(self._links, self._plans, strict=True)
        ]
        return add_up(statuses)

    def pids(self) -> list[int]:
        """Processes that run, to be watched."""
        return [link.pid for link in self._links if not link.ended]

    @property
    def finished(self) -> bool:
        """Every process has closed its records and ended in order."""
        return bool(self._links) and all(link.finished and link.ended for link in self._links)

    def stop(self, grace_s: float) -> list[str]:
        """End what still runs, whatever state it is in; records are closed if that works within `grace_s`.

        Returns:
            What went wrong on the way, in words. Never raises, safe to call twice.
        """
        self._order_all({"do": "finish"})
        deadline = time.monotonic() + grace_s
        problems: list[str] = []
        while not all(link.ended for link in self._links) and time.monotonic() < deadline:
            try:
                self.poll(0.05)
            except TelemarkError as error:
                problems += [error.message] if error.message not in problems else []
                time.sleep(0.01)
        for link in self._links:
            if link.kill():
                problems.append(f"{link.name} did not end in {grace_s:g} s and was killed")
        self._selector.close()
        return problems

    def _order_all(self, order: dict[str, object]) -> None:
        for link in self._links:
            link.order(order)

    def _hear(self, link: EngineLink, message: dict[str, object]) -> None:
        match message.get("is"):
            case "received":
                self._received += int(str(message["messages"]))
            case "rate" if int(str(message["late_ns"])) > 0:
                self.late_rates.append((link.process, int(str(message["late_ns"]))))
            case "event" if len(self.events) < 20:
                self.events.append(f"{message['kind']}: {message['detail']}")

    def _relay_credits(self) -> None:
        """What is received anywhere allows messages to be sent everywhere, shared out by publishers."""
        allowed = self._closed_loop.credits(self._received) if self._closed_loop else 0
        if allowed == sum(self._credited):
            return
        shares = share_out(allowed, self._publishers)
        for number, (link, share) in enumerate(zip(self._links, shares, strict=True)):
            if share > self._credited[number]:
                link.order({"do": "credit", "messages": share - self._credited[number]})
                self._credited[number] = share

    def _refuse_dead_processes(self) -> None:
        for link in self._links:
            if link.failure:
                kind = _ERRORS.get(link.failure.get("kind", ""), EngineError)
                raise kind(f"{link.name}: {link.failure['message']}", hint=link.failure.get("hint"))
            if link.ended and not link.finished:
                raise EngineError(f"{link.name} {link.last_words()}")
