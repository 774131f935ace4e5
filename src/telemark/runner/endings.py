"""What the end of a run is called: state, reason, exit code and the event row that tells of it."""

from __future__ import annotations

from dataclasses import dataclass

from telemark.errors import ConfigError, ExitCode, TelemarkError
from telemark.host.interruption import Interrupted


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a run in the words of run.json."""

    state: str
    reason: str | None
    hint: str | None
    exit_code: ExitCode
    event: str  # kind of the event row


_EVENTS = {
    ExitCode.SERVER_FAILED: "server_died",
    ExitCode.ENGINE_FAILED: "engine_died",
    ExitCode.CONSUMER_FAILED: "consumer_died",
}


def describe_end(problem: BaseException | None) -> Ending:
    """How a run that met this problem (or none) has ended."""
    if problem is None:
        return Ending("complete", None, None, ExitCode.PASSED, "note")
    if isinstance(problem, Interrupted):
        return Ending("interrupted", f"interrupted by {problem.signal_name}", None, ExitCode.INTERRUPTED, "note")
    if isinstance(problem, KeyboardInterrupt):
        return Ending("interrupted", "interrupted", None, ExitCode.INTERRUPTED, "note")
    if isinstance(problem, TelemarkError):
        event = _EVENTS.get(problem.exit_code, "note")
        details = problem.problems if isinstance(problem, ConfigError) else ()
        reason = ": ".join([problem.message, "; ".join(details)]) if details else problem.message
        return Ending("failed", reason, problem.hint, problem.exit_code, event)
    reason = f"fault of the runner: {type(problem).__name__}: {problem}"
    return Ending("failed", reason, "please report this", ExitCode.ENGINE_FAILED, "note")
