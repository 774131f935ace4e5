"""run.json: what a run was, on what it ran, and when its phases were.

It is written when the run starts (state `running`) and replaced in one step at the end. Nothing in it is ever
executed: run folders come from strangers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypedDict

from telemark.host.facts import HostPart
from telemark.model.plan import RunPlan
from telemark.model.plan.shapes import SHAPES
from telemark.store.atomic import make_folder, write_atomically
from telemark.store.documents.reading import Problem, Refused, decode, read_document, required
from telemark.store.documents.typed import Fits, Mismatch, typed
from telemark.store.documents.upgrade import first_to_second
from telemark.store.schemas import FORMAT_VERSION

RUN_FILE: Final = "run.json"
PHASES: Final = ("connect", "hold", "warmup", "measure", "drain", "stop")

LONGEST_PHASE_NS: Final = 31 * 86_400 * 10**9

Document = dict[str, Any]
State = Literal["running", "complete", "failed", "interrupted"]

# format -> function that lifts a document of that format to the next one. Format 1 is the first.
UPGRADES: dict[int, Callable[[Document], Document]] = {1: first_to_second}


class EndpointPart(TypedDict, total=False):
    """One address of the server."""

    host: str
    port: int
    security: str
    verified: bool


class ServerPart(TypedDict, total=False):
    """The server under test."""

    name: str | None
    version: str | None
    profile: str | None
    profile_note: str | None
    capabilities: list[str]
    endpoints: dict[str, EndpointPart]


class ClockHost(TypedDict, total=False):
    """How far a host's clock is from the runner's."""

    host: str | None
    offset_ns: int
    error_ns: int


class ClockPart(TypedDict, total=False):
    """Which clock the times are of."""

    source: str
    hosts: list[ClockHost]


class BedHostPart(TypedDict):
    """One host of the bed a run was made on."""

    host: str  # its name in the bed file
    roles: list[str]
    processes: list[int]  # numbers of the record files that were written there
    facts: HostPart


class RateChange(TypedDict):
    """A new rate that somebody asked for while the run was under way."""

    at_ns: int
    rate: float  # messages a second of all publishers together


class CalibrationPart(TypedDict, total=False):
    """What the engine can do on this host; null where it was not measured."""

    ceiling_rate: float | None
    ceiling_of: str | None
    ceiling_shape: str | None  # of the load it was measured with
    ceiling_connections: int | None
    connect_ceiling: float | None
    latency_floor_p50_us: float | None
    latency_floor_p99_us: float | None
    made_at: str | None
    problem: str | None


class FilePart(TypedDict):
    """A record file as it was when the run was closed."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """The facts of one run. Field meanings: docs/reference/run-folder.md."""

    run: str
    campaign: str
    state: State = "running"
    reason: str | None = None
    suite: str = ""
    scenario: str = ""
    point: str = ""
    size: str = ""
    parameters: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    repeat: int = 0
    seed: int = 0
    server: ServerPart = field(default_factory=ServerPart)
    plan: Annotated[Mapping[str, Any], Fits(RunPlan)] = field(default_factory=dict)
    processes: int = 1
    thresholds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    host: HostPart = field(default_factory=HostPart)
    hosts: tuple[BedHostPart, ...] = ()  # of a bed; empty when everything was on `host`
    versions: Mapping[str, str | None] = field(default_factory=dict)
    pinning: Mapping[str, tuple[int, ...] | str | None] = field(default_factory=dict)
    start_ns: int | None = None
    phases: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    rate_changes: tuple[RateChange, ...] = ()  # in order of time; the measure phase goes on, in stretches
    started_at: str = ""
    ended_at: str | None = None
    clock: ClockPart = field(default_factory=ClockPart)
    calibration: CalibrationPart | None = None
    files: dict[str, FilePart] | None = None  # record files by their path in the folder; None: not known
    telemark_version: str = ""
    format: int = FORMAT_VERSION

    @property
    def complete(self) -> bool:
        """The run went through all its phases."""
        return self.state == "complete"

    @property
    def clock_error_ns(self) -> int:
        """How far a time of another host may be off at most; 0 when there was one host only."""
        return max((host.get("error_ns") or 0 for host in self.clock.get("hosts") or ()), default=0)

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
        """Replace run.json; it is on the disk on return."""
        make_folder(folder)
        write_atomically(folder / RUN_FILE, self.as_json())

    @classmethod
    def read(cls, folder: Path) -> RunFile:
        """Read run.json of a run folder on this host. Raises DataError when it cannot be used."""
        return required(read_run(folder))

    @classmethod
    def parse(cls, text: str | bytes, name: str = RUN_FILE) -> RunFile:
        """Read the text of a run.json; `name` is what messages call it. Raises DataError when it cannot be used."""
        return required(parse_run(text, name))


def read_run(folder: Path) -> RunFile | Problem:
    """run.json of a run folder on this host, or why it cannot be used."""
    return _sensible(read_document(folder / RUN_FILE, RunFile, _prepare), str(folder / RUN_FILE))


def parse_run(text: str | bytes, name: str) -> RunFile | Problem:
    """The content of a run.json that was read elsewhere, or why it cannot be used."""
    return _sensible(decode(text, RunFile, name, _prepare), name)


def _prepare(document: Any) -> Document:
    """Lift an older document to the present format; refuse a newer one. Null means the default."""
    if not isinstance(document, dict) or type(document.get("format")) is not int:
        raise Refused("expected an object with a whole number `format`")
    found: int = document["format"]
    if not 1 <= found <= FORMAT_VERSION:
        raise Refused(
            f"format {found}, this version reads 1 to {FORMAT_VERSION}",
            hint="analyse it with the telemark version that made it, or a newer one",
        )
    for version in range(found, FORMAT_VERSION):
        document = UPGRADES[version](document)
    given = {key: value for key, value in document.items() if value is not None}
    phases = given.get("phases")
    if isinstance(phases, dict):
        given["phases"] = {name: window for name, window in phases.items() if window is not None}
    return given | {"format": FORMAT_VERSION}


def _check_load(load: Mapping[str, Any]) -> None:
    """The fields of a load are those of its shape; a shape that is not known here is left alone."""
    shape = typed(str, load.get("shape", ""), "plan.load.shape")
    if shape in SHAPES:
        typed(Annotated[Mapping[str, Any], Fits(SHAPES[shape])], load, "plan.load")


def _sensible(found: RunFile | Problem, name: str) -> RunFile | Problem:
    """Refuse what types cannot say: a load with another shape's values, and phases that no run has.

    Tables have a row for each second of a phase; a phase of centuries would fill the memory.
    """
    if isinstance(found, Problem):
        return found
    try:
        _check_load(found.plan.get("load") or {})
    except Mismatch as mismatch:
        return Problem(f"{name}: {mismatch}")
    for phase, (begin, end) in found.phases.items():
        if not begin <= end <= begin + LONGEST_PHASE_NS:
            return Problem(f"{name}: phases.{phase} is from {begin} until {end}, expected at most 31 days")
    return found
