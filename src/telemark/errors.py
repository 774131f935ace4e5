"""Every error a user can meet, and the exit code each kind ends the program with.

The kinds say who has to act: a wrong input is the user's, a server that will not start is the
server's, and so on. What happens to *messages* is never an exception: it is a row in the run folder.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line, documented for CI use."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """A number with the sentence the reference prints."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    PASSED = 0, "everything asked for was done, and every threshold passed"
    THRESHOLD_FAILED = 1, "a threshold failed, or a comparison found something worse"
    USAGE = 2, "unknown option or argument"
    BAD_CONFIG = 3, "a scenario, plan or option value that cannot be used"
    MISSING_REQUIREMENT = 4, "this host lacks something: Java, a server program, a file limit, disk space"
    SERVER_FAILED = 5, "the server did not start, refused us or died"
    ENGINE_FAILED = 6, "the load engine failed: nothing is said about the server"
    BAD_DATA = 7, "a run folder that cannot be read"
    NO_VERDICT = 8, "the run ended, but its numbers do not allow a verdict"
    CONSUMER_FAILED = 9, "a back-end consumer could not start, connect or subscribe"
    NOT_COMPARABLE = 10, "two campaigns that differ in what must be equal"
    HOST_LOST = 11, "a host of the bed could not be reached or was lost: nothing is said about the server"
    INTERNAL_ERROR = 70, "a defect of Telemark; the message names the file with the traceback"
    INTERRUPTED = 130, "interrupted by Ctrl-C, SIGTERM or a closed pipe"


class TelemarkError(Exception):
    """Base of all errors shown to the user as one message and, when there is one, a remedy.

    Args:
        message: what was expected, what was found, and in which field or file.
        hint: what to do about it; printed on its own line.
    """

    exit_code = ExitCode.ENGINE_FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(TelemarkError):
    """A field of a scenario, plan or option is wrong. `problems` lists every one found."""

    exit_code = ExitCode.BAD_CONFIG

    def __init__(self, message: str, *, hint: str | None = None, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class RequirementError(TelemarkError):
    """This host lacks something the command needs."""

    exit_code = ExitCode.MISSING_REQUIREMENT


class ServerError(TelemarkError):
    """The server under test did not start, refused us, or died."""

    exit_code = ExitCode.SERVER_FAILED


class EngineError(TelemarkError):
    """The load engine failed: nothing may be concluded about the server."""

    exit_code = ExitCode.ENGINE_FAILED


class ConsumerError(TelemarkError):
    """A back-end consumer failed."""

    exit_code = ExitCode.CONSUMER_FAILED


class DataError(TelemarkError):
    """A run folder or a record file cannot be read."""

    exit_code = ExitCode.BAD_DATA


class NotComparableError(TelemarkError):
    """Two campaigns differ in something that must be equal for a comparison."""

    exit_code = ExitCode.NOT_COMPARABLE


class HostLostError(TelemarkError):
    """A host of the bed is gone: its agent, its machine or the network between."""

    exit_code = ExitCode.HOST_LOST
