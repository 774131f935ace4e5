"""Ctrl-C, SIGTERM and a closed terminal: the first signal ends the work in order, at whatever place it is."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """Raised in the main thread by the first signal. Not an Exception: nobody swallows it by accident."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.signal_name = name


class Interruption:
    """Signal handling while runs are made or analysed.

    Signals are only remembered, except inside `allowed`: there the first one raises `Interrupted` right where the
    program is, so that no wait is too long. Ending a run happens outside of it and is never cut in the middle;
    further signals change nothing, for the end is under way and bounded in time.
    """

    def __init__(self) -> None:
        self._allowed = 0
        self._previous: dict[int, Any] = {}
        self._raised = False
        self.received: str | None = None  # name of the first signal

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A stretch that a signal may leave at any place."""
        self._allowed += 1
        try:
            self._raise_if_due()
            yield
        finally:
            self._allowed -= 1

    @contextmanager
    def shield(self) -> Iterator[None]:
        """A short stretch inside `allowed` that must not be cut: a signal waits for its end."""
        held, self._allowed = self._allowed, 0
        try:
            yield
        finally:
            self._allowed = held
        self._raise_if_due()

    def check(self) -> None:
        """Raise what a library has swallowed: it may meet a signal in a place where exceptions are only printed."""
        if self.received:
            raise Interrupted(self.received)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.received = self.received or signal.Signals(number).name
        self._raise_if_due()

    def _raise_if_due(self) -> None:
        if self.received and self._allowed and not self._raised:
            self._raised = True
            raise Interrupted(self.received)
