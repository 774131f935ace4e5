"""run.json: what a run was, on what it ran, and when its phases were.

It is written when the run starts (state `running`) and replaced in one step at the end. Nothing in it is ever
executed: run folders come from strangers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from telemark.errors import DataError
from telemark.store.schemas import FORMAT_VERSION

RUN_FILE: Final = "run.json"
STATES: Final = ("running", "complete", "failed", "interrupted")
PHASES: Final = ("connect", "hold", "warmup", "measure", "drain", "stop")

Document = dict[str, Any]

# format -> function that lifts a document of that format to the next one. Format 1 is the first.
UPGRADES: dict[int, Callable[[Document], Document]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """The facts of one run. Field meanings: docs/reference/run-folder.md."""

    run: str
    campaign: str
    state: str = "running"
    reason: str | None = None
    suite: str = ""
    scenario: str = ""
    point: str = ""
    size: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0
    seed: int = 0
    server: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    processes: int = 1
    thresholds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    host: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    pinning: Mapping[str, Any] = field(default_factory=dict)
    start_ns: int | None = None
    phases: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    started_at: str = ""
    ended_at: str | None = None
    clock: Mapping[str, Any] = field(default_factory=dict)
    calibration: Mapping[str, Any] | None = None
    telemark_version: str = ""
    format: int = FORMAT_VERSION

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise DataError(f"run.json: state is {self.state!r}, expected one of {', '.join(STATES)}")

    @property
    def complete(self) -> bool:
        """The run went through all its phases."""
        return self.state == "complete"

    def phase_seconds(self, name: str) -> float | None:
        """Length of a phase in seconds; None when the run did not reach it."""
        window = self.phases.get(name)
        return None if window is None else (window[1] - window[0]) / 1e9

    def with_changes(self, **changes: Any) -> RunFile:
        """A copy with other values, for the end of the run."""
        return replace(self, **changes)

    def as_json(self) -> str:
        """The text of run.json."""
        document = asdict(self)
        ordered = {"format": document.pop("format")} | document
        return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"

    def write(self, folder: Path) -> None:
        """Replace run.json in one step: a reader sees the old file or the new one, never half of one."""
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{RUN_FILE}.{os.getpid()}"
        temporary.write_text(self.as_json(), encoding="utf-8")
        temporary.replace(folder / RUN_FILE)

    @classmethod
    def read(cls, folder: Path) -> RunFile:
        """Read run.json of a run folder on this host.

        Raises:
            DataError: missing, not JSON, of a newer format, or without a field that every run has.
        """
        try:
            text = (folder / RUN_FILE).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{folder / RUN_FILE} cannot be read: {error}", hint="is it a run folder?") from error
        return cls.parse(text, str(folder / RUN_FILE))

    @classmethod
    def parse(cls, text: str, name: str = RUN_FILE) -> RunFile:
        """Read the text of a run.json; `name` is what messages call it."""
        document = _upgraded(_document(text, name), name)
        missing = [key for key in ("run", "campaign", "state") if not isinstance(document.get(key), str)]
        if missing:
            raise DataError(f"{name}: {', '.join(missing)} missing or not text")
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in document.items() if key in known}
        try:
            return cls(**_typed(values))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise DataError(f"{name}: a field has an unexpected form ({error})") from error


def _document(text: str, name: str) -> Document:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise DataError(f"{name} is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise DataError(f"{name}: expected an object with a whole number `format`")
    return document


def _upgraded(document: Document, name: str) -> Document:
    """Lift an older document to the present format; refuse a newer one."""
    found: int = document["format"]
    if found > FORMAT_VERSION or found < 1:
        raise DataError(
            f"{name}: format {found}, this version reads 1 to {FORMAT_VERSION}",
            hint="analyse it with the telemark version that made it, or a newer one",
        )
    for version in range(found, FORMAT_VERSION):
        document = UPGRADES[version](document)
    return document | {"format": FORMAT_VERSION}


def _typed(values: Document) -> Document:
    """JSON has lists where the dataclass has tuples."""
    phases = {str(key): (int(window[0]), int(window[1])) for key, window in values.get("phases", {}).items() if window}
    tuples = {key: tuple(str(item) for item in values.get(key) or ()) for key in ("thresholds", "notes")}
    mappings = {
        key: dict(values.get(key) or {})
        for key in ("parameters", "server", "plan", "host", "versions", "pinning", "clock")
    }
    return values | tuples | mappings | {"phases": phases}
