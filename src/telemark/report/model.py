"""What a report shows, as plain data: campaigns -> suites -> scenarios -> rows, charts, tables, warnings.

Every renderer (console, HTML, Markdown, JSON, JUnit) is handed this structure and nothing else. It holds
raw numbers beside their written form where a machine or a sorted table needs them. It computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from telemark.model.columns import Column, Unit

Outcome = Literal["pass", "fail", "no verdict"]
Severity = Literal["danger", "caution", "note"]
Scale = Literal["linear", "log", "category", "percentile"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart. The unit tells the page how to write its values."""

    name: str
    unit: Unit = "count"
    scale: Scale = "linear"


@dataclass(frozen=True, slots=True)
class Series:
    """One line or row of bars. Points are (x, y); a y of None is a gap: nothing was measured there."""

    name: str
    points: tuple[tuple[float | str, float | None], ...]
    style: Literal["solid", "dashed", "dotted"] = "solid"
    kind: Literal["line", "bar", "scatter"] = "line"
    axis: Literal[0, 1] = 0  # 1: drawn against the right-hand axis


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the x axis with a name: a phase of the run."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure: data and meaning. How it is drawn is the page's business."""

    id: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    y2: Axis | None = None
    bands: tuple[Band, ...] = ()
    note: str = ""

    @property
    def has_data(self) -> bool:
        """False when every point of every series is a gap: such a chart is left out."""
        return any(y is not None for series in self.series for _, y in series.points)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: its text, what it sorts by, and its tone."""

    text: str
    sort: float | str | None = None
    tone: str = ""  # pass, fail, none, caution or nothing
    link: str = ""  # id of an element of the same page
    title: str = ""  # longer text on hover
    beside: str = ""  # the published value that stands beside it


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title; columns named in `numeric` are right-aligned."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[str] = frozenset()
    note: str = ""
    groups: tuple[tuple[str, int], ...] = ()  # titles over several columns: (title, columns)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader must know before trusting a number."""

    severity: Severity
    text: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A folder that could not be shown, and what to do about it."""

    folder: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One threshold and what came of it."""

    threshold: str
    outcome: Outcome
    value: float | None
    limit: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """The published value that stands beside ours, and how far the two may be compared."""

    value: float
    unit: Unit
    ratio: float | None  # ours / published
    server: str
    source: str
    conditions: str  # the cell it was published for
    same_point: bool  # False: published for other sizes, the ratio is only a hint


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One run in the form of the MessageSight score card, with what makes it believable."""

    campaign: str
    run: str
    suite: str
    kind: str  # Throughput, Latency, Connection rate, Memory
    name: str
    description: str
    point: str
    size: str
    server: str
    server_version: str
    profile: str
    repeat: int
    state: str
    reason: str
    started_at: str
    verdict: Outcome
    judgements: tuple[Judgement, ...]
    headline: Column  # the column of `points` that VALUE shows
    statistics: str  # whose statistics the card shows: latency or connect
    values: Mapping[str, Any]  # the run's row of `points`, by column; empty when it was not analysed
    beside: Mapping[str, Published]  # published values by the column of `points` they stand beside
    notices: tuple[Notice, ...]
    bottleneck: str = ""  # which side was the limit, with the evidence
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # how this size differs from the published one

    @property
    def value(self) -> float | None:
        """The figure the scenario asks for."""
        return self.values.get(self.headline.name)

    @property
    def published(self) -> Published | None:
        """What was published beside the value."""
        return self.beside.get(self.headline.name)

    @property
    def engine_bound(self) -> bool | None:
        """True: the engine was the limit, nothing is concluded about the server."""
        return self.values.get("engine_bound")


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value: host, versions, how it was measured."""

    name: str
    value: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class TryView:
    """One rate that a search tried, judged by the search's own rule."""

    run: str
    rate: float
    stage: str
    holds: bool
    verdict: Outcome
    reason: str  # why it does not hold


@dataclass(frozen=True, slots=True)
class SearchView:
    """The answer of a search for the highest rate that holds, and every try it rests on."""

    id: str
    scenario: str
    point: str
    size: str
    server: str
    unit: str
    rule: tuple[str, ...]
    peak: float | None  # median over the repeats of the search; None: none was confirmed
    spread: float | None  # over the repeats
    verdict: Outcome
    answer: tuple[str, ...]  # sentences, the peak first
    tries: tuple[TryView, ...]
    beside: Table  # the peak and what was published beside it


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the server's busiest thread spent its time."""

    title: str
    note: str
    svg: str = ""  # made by `report.flame`, safe to stand in a page; empty: only the note


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything the report shows about one run."""

    id: str
    title: str
    row: ScoreRow
    facts: tuple[Fact, ...]
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """The runs of one scenario in one campaign, and the figures drawn over them."""

    id: str
    name: str
    title: str
    description: str
    source: str  # where it was published
    rows: tuple[ScoreRow, ...]
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]
    runs: tuple[RunView, ...]


@dataclass(frozen=True, slots=True)
class SuiteView:
    """The scenarios of one suite, and the figures its report has over several of them."""

    id: str
    name: str
    title: str
    scenarios: tuple[ScenarioView, ...]
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class CampaignView:
    """One campaign: what ran where, what came out, and how far to trust it."""

    id: str
    name: str
    verdict: Outcome
    counts: dict[str, int]  # outcome -> runs
    searches: tuple[SearchView, ...]  # what `telemark search` found; empty for other campaigns
    host: tuple[Fact, ...]
    trust: tuple[Fact, ...]
    notices: tuple[Notice, ...]
    suites: tuple[SuiteView, ...]
    tables: tuple[Table, ...]  # repeats and their spread, servers side by side
    charts: tuple[Chart, ...]

    @property
    def rows(self) -> tuple[ScoreRow, ...]:
        """All rows of the campaign's score card, in the order they ran."""
        return tuple(row for suite in self.suites for scenario in suite.scenarios for row in scenario.rows)


@dataclass(frozen=True, slots=True)
class Report:
    """What is handed to a renderer."""

    title: str
    generated_at: str
    telemark_version: str
    campaigns: tuple[CampaignView, ...]
    problems: tuple[Problem, ...]
    verdict: Outcome  # over all campaigns; a folder that could not be read is a doubt

    @property
    def rows(self) -> tuple[ScoreRow, ...]:
        """All score-card rows of all campaigns."""
        return tuple(row for campaign in self.campaigns for row in campaign.rows)
