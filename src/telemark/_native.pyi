"""The native part: the load engine, the built-in server, and the clock they share.

Everything here releases the GIL while it waits, returns within a fraction of a second to let Ctrl-C through,
and turns a panic of a native thread into EngineFailure.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

class PlanProblem(ValueError):
    """The plan cannot be used. The message names the field, the value and the remedy."""

class EngineFailure(RuntimeError):
    """A native thread failed. What was recorded before is still returned by `Engine.drain`."""

class Column:
    """One column of records, owned by the native side and read through the buffer protocol without a copy."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """int8, int16, int32, int64, bool (an Arrow bitmap) or string (which comes as a list from `values`)."""
    def values(self) -> list[str]:
        """String columns only."""
    @property
    def valid(self) -> Column | None:
        """Validity bitmap (Arrow layout) as an int8 column; None when no value is null."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Batch:
    """Some finished rows of one record table of `telemark.store.schemas`, columns in schema order."""

    @property
    def table(self) -> str: ...
    @property
    def rows(self) -> int: ...
    def columns(self) -> Sequence[Column]:
        """Made anew by every call; rows of messages are decoded for it."""

class RecordFile:
    """A Parquet file of one table, written without help of Python. Raises OSError."""

    def __init__(self, path: Path) -> None:
        """The file is made when the first batch is written."""
    def write(self, batch: Batch) -> None:
        """Add rows; all batches of a file are of one table."""
    def close(self) -> None:
        """Write the rest and what a reader needs."""

class Engine:
    """Simulated devices of one process. Order of calls: connect, begin, (set_rate, credit)*, halt, finish."""

    def __init__(self, plan_json: str, secrets: Mapping[str, str] | None = None) -> None:
        """Read and check an EnginePlan. `secrets` maps group names to passwords. Raises PlanProblem."""
    def connect(self) -> None:
        """Start the reactor threads and begin connecting and subscribing at the plan's rate. Returns at once."""
    def begin(self, start_ns: int) -> None:
        """Send by the plan's load shape from this CLOCK_MONOTONIC time on, for `send_for_s`."""
    def set_rate(self, rate: float, at_ns: int = 0) -> int:
        """New aggregate rate from `at_ns` on, or from now on when that has passed, without a jump; returns which."""
    def credit(self, messages: int) -> None:
        """Windowed load with relayed credits: so many messages were received elsewhere; send as many."""
    def halt(self) -> None:
        """Stop sending new messages; go on receiving and acknowledging."""
    def finish(self) -> None:
        """Disconnect all devices in order, write the `senders` and `subscribed` rows, end the threads."""
    def status(self) -> Mapping[str, int | bool]:
        """devices, connected, ready (connected and subscribed), failed, pending, intended, sent, acked, dropped,
        received, disconnects, sending (bool), finished (bool), received_for_credit. Cheap; for live views."""
    def latency_last_second(self) -> tuple[int, int, int]:
        """(count, p50_us, p99_us) of the last full second, from a live histogram: for display, never for results."""
    def drain(self, timeout_s: float) -> list[Batch]:
        """Full batches since the last call; waits up to timeout_s for one. After finish: the rest, then [].

        When a native thread has failed: first all that was recorded, then EngineFailure once, then []."""
    def flush(self) -> None:
        """Make partly filled batches available to the next `drain`, so that little is lost if the process dies."""

class Loopback:
    """The built-in server, running in native threads of this process."""

    def __init__(self, config_json: str) -> None: ...
    def start(self) -> Mapping[str, int]:
        """Listen; returns the port of each listener by name (and `control`, the HTTP port)."""
    def wait(self, timeout_s: float) -> bool:
        """True when it has stopped."""
    def stop(self) -> None: ...

class ClockResponder:
    """The runner's side of clock exchanges: answers every question that a key vouches for with CLOCK_MONOTONIC.

    Its thread is native. Raises OSError when it cannot listen."""

    def __init__(self, address: tuple[str, int]) -> None: ...
    def admit(self, line: int, key: bytes) -> None:
        """Answer questions of this line from now on."""
    def dismiss(self, line: int) -> None:
        """Answer it no more."""
    def close(self) -> None:
        """Stop answering."""

class ClockAsker:
    """The host's side of clock exchanges: asks until it is closed and keeps every exchange until it is taken.

    Its thread is native. The first `burst` questions follow each other at once."""

    def __init__(
        self, address: tuple[str, int], line: int, key: bytes, *, every_s: float, patience_s: float, burst: int
    ) -> None: ...
    def drain(self) -> tuple[list[int], list[int], list[int]]:
        """Columns asked_ns, told_ns and answered_ns of the exchanges since the last call."""
    def close(self) -> None:
        """Ask no more."""

def monotonic_ns() -> int:
    """CLOCK_MONOTONIC in nanoseconds: the clock of every time in a run folder."""

def expand(pattern: str, index: int, sequence: int = 0) -> str:
    """The pattern language of plans, as the engine reads it. Raises PlanProblem."""

def topic_matches(filter: str, topic: str) -> bool:
    """Whether an MQTT topic filter ($share/name/ prefix allowed) matches a topic name."""

def decode(data: bytes, version: str) -> list[str]:
    """Debug text of every MQTT packet in the bytes; raises ValueError on malformed input. For tests and fuzzing."""

class ReceivedPacket:
    """A packet from a server; fields that its kind does not have are empty."""

    @property
    def kind(self) -> str:
        """connack, publish or other."""
    @property
    def code(self) -> int:
        """Return code of a CONNACK."""
    @property
    def topic(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def retain(self) -> bool: ...

def encode_connect(
    client_id: str, keep_alive_s: int = 0, username: str | None = None, password: bytes | None = None
) -> bytes:
    """CONNECT of MQTT 3.1.1 with a clean session. Raises ValueError for what MQTT cannot say."""

def encode_subscribe(filters: Sequence[str]) -> bytes:
    """SUBSCRIBE at QoS 0. Raises ValueError for a filter that is none."""

def encode_pingreq() -> bytes:
    """PINGREQ."""

def encode_disconnect() -> bytes:
    """DISCONNECT."""

def decode_packet(data: bytes) -> tuple[ReceivedPacket, int] | None:
    """The MQTT 3.1.1 packet at the front of the data and its length; None: not complete. Raises ValueError."""
