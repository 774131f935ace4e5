"""What `telemark search` found, from the search.json beside its runs: the peak, what failed first, every try.

A try is judged by the rule of its search, everywhere: what the search called a rate that does not hold is no pass on
the score card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from telemark.model.case import PublishedValue
from telemark.model.columns import POINTS, Column, Unit
from telemark.report import format as fmt
from telemark.report.model import Axis, Cell, Chart, Judgement, Outcome, SearchView, Series, Table, TryView
from telemark.report.published import IN_OUR_UNITS, in_our_unit, of_family, point_of
from telemark.store.documents.search import UNITS, PeakRecord, SearchRecord, TryRecord
from telemark.verdicts import limits, no_verdict_reason

Row = tuple[Cell, ...]
AXES: dict[str, Unit] = {"conn/s": "connections_per_second", "publishers": "count"}
COLUMNS = {"messages": "received_rate", "connections": "connect_rate", "publishers": "publishers"}
AT_THE_PEAK = (
    ("CPU, share of all cores", "server_cpu_share_mean"),
    ("AVG", "latency_mean_us"),
    ("99P", "latency_p99_us"),
)
TONES = {"pass": "pass", "fail": "fail", "no verdict": "none"}


def search_view(
    id_: str,
    record: SearchRecord,
    points: Mapping[str, Mapping[str, Any]],
    published: Mapping[str, Sequence[PublishedValue]],
) -> SearchView:
    """One search as the report shows it.

    Args:
        id_: of the page's element.
        record: from search.json.
        points: rows of `points` by run.
        published: what was published for the case, by run.
    """
    tries = tuple(_try(entry, points) for peak in record.peaks for entry in peak.tries)
    return SearchView(
        id=id_,
        scenario=fmt.one_line(f"{record.suite}/{record.scenario}"),
        point=fmt.one_line(record.point),
        size=fmt.one_line(record.size),
        server=fmt.one_line(record.server, 60),
        unit=unit_of(record),
        rule=tuple(fmt.one_line(rule) for rule in record.rule),
        peak=record.summary.median if record.summary else None,
        spread=record.summary.spread if record.summary and len(record.peaks) > 1 else None,
        verdict="pass" if record.peaks and all(peak.rate is not None for peak in record.peaks) else "no verdict",
        answer=tuple(fmt.one_line(line, 400) for line in answer(record)),
        tries=tries,
        beside=peak_table(f"{id_}-beside", record, points, published),
    )


def peak_table(
    id_: str,
    record: SearchRecord,
    points: Mapping[str, Mapping[str, Any]],
    published: Mapping[str, Sequence[PublishedValue]],
) -> Table:
    """The peak with CPU and latency where it was confirmed, above the published maxima of the same kind of server."""
    column = POINTS.find(COLUMNS.get(record.quantity, "received_rate"))
    runs = [entry.run for peak in record.peaks for entry in peak.tries if entry.run]
    values = next((published[run] for run in runs if run in published), ())
    if column is None or not runs:
        return Table(id_, "", (), ())
    ours = [_peak_row(record.server, peak, column, points) for peak in record.peaks if peak.rate is not None]
    maxima = [each for each in of_family(values, record.server) if each.metric == column.name]
    titles = ("server", "highest", *(title for title, _ in AT_THE_PEAK), "point", "where")
    rows = (*ours, *(_published_row(each, values, column) for each in maxima))
    return Table(id_, "The peak beside the published", titles, rows, frozenset(titles[1:-2]))


def _peak_row(server: str, peak: PeakRecord, column: Column, points: Mapping[str, Mapping[str, Any]]) -> Row:
    """Ours, with the figures of the last run that held."""
    run = next((entry.run for entry in reversed(peak.tries) if entry.holds and entry.run), "") or ""
    point = points.get(run, {})
    return (
        Cell(fmt.one_line(server, 60)),
        Cell(fmt.value_in(column.unit, peak.rate), peak.rate),
        *(Cell(fmt.point_value(name, point.get(name)), point.get(name)) for _, name in AT_THE_PEAK),
        Cell(fmt.one_line(point.get("point") or "")),
        Cell("here"),
    )


def _published_row(maximum: PublishedValue, values: Sequence[PublishedValue], column: Column) -> Row:
    """One published maximum, with what was published for the same server at that point."""
    at = {**maximum.parameters} | ({column.name: maximum.value} if column.name == "publishers" else {})
    others = {
        each.metric: in_our_unit(each)
        for each in values
        if each.server == maximum.server and dict(each.parameters) == at and each.unit in IN_OUR_UNITS
    }
    value = in_our_unit(maximum)
    return (
        Cell(maximum.server),
        Cell(fmt.value_in(column.unit, value), value),
        *(Cell(fmt.point_value(name, others.get(name)), others.get(name)) for _, name in AT_THE_PEAK),
        Cell(point_of(maximum)),
        Cell(maximum.source, title=maximum.note),
    )


def unit_of(record: SearchRecord) -> str:
    """The unit of what is searched for."""
    return UNITS.get(record.quantity, "msg/s")


def answer(record: SearchRecord) -> Iterator[str]:
    """The answer in sentences, for the terminal, the card and the page alike: the peak first."""
    unit = unit_of(record)
    for peak in record.peaks:
        yield _peak_sentence(peak, unit)
        if culprit := peak.bottleneck:
            words = f"{culprit.side} {culprit.part}".strip()
            yield ": ".join(filter(None, (f"failed first: {words}", "; ".join(culprit.evidence), culprit.doubt)))
    summary = record.summary
    if summary and len(record.peaks) > 1:
        bounds = f", 95 % interval {summary.low:,.0f} to {summary.high:,.0f}" if summary.low is not None else ""
        yield f"median of {summary.repeats} searches: {summary.median:,.0f} {unit}, spread {summary.spread:.0%}{bounds}"
        if summary.spread > limits.DISAGREE:
            yield "the repeats disagree too much to conclude"
    yield f"rule: {', '.join(record.rule) or 'none'}; and nothing falls behind"


def _peak_sentence(peak: PeakRecord, unit: str) -> str:
    tries = "1 try" if len(peak.tries) == 1 else f"{len(peak.tries)} tries"
    if peak.rate is None:
        at_least = f"; at least {peak.at_least:,.0f} {unit}" if peak.at_least else ""
        return f"no peak: {peak.ending}{at_least} ({tries})"
    if peak.ending == "ceiling reached":
        return f"peak {peak.rate:,.0f} {unit}: the ceiling of this search, not of the server ({tries})"
    return f"peak {peak.rate:,.0f} {unit}, confirmed by a full-length run ({tries})"


def judge_tries(records: Sequence[SearchRecord], points: Mapping[str, Mapping[str, Any]]) -> dict[str, Judgement]:
    """The verdict of every run that was a try, by the rule of its search."""
    found = {}
    for record in records:
        for peak in record.peaks:
            for entry in peak.tries:
                view = _try(entry, points)
                rule = f"holds {view.rate:,.0f} {unit_of(record)}"
                found[view.run] = Judgement(rule, view.verdict, None, None, view.reason or "it held")
    return found


def _try(entry: TryRecord, points: Mapping[str, Mapping[str, Any]]) -> TryView:
    """A try that does not hold fails, unless the engine was the limit or the run gave nothing."""
    run = entry.run or ""
    verdict: Outcome = "pass" if entry.holds else "fail"
    if not entry.holds and no_verdict_reason(points.get(run, {})) is not None:
        verdict = "no verdict"
    reason = fmt.one_line("; ".join(entry.reasons), 300)
    stage = fmt.one_line(entry.stage, 20) + (", second look" if entry.repeated else "")
    return TryView(run, entry.rate, stage, entry.holds, verdict, reason)


def tries_table(view: SearchView) -> Table:
    """Every try in order."""
    columns = ("try", "rate", "stage", "verdict", "why")
    rows = tuple(
        (
            Cell(str(number), number),
            Cell(f"{each.rate:,.0f} {view.unit}", each.rate),
            Cell(each.stage),
            Cell("holds" if each.holds else "does not hold", each.verdict, TONES[each.verdict]),
            Cell(each.reason),
        )
        for number, each in enumerate(view.tries, 1)
    )
    return Table(f"{view.id}-tries", "Every try", columns, rows, frozenset(columns[:2]))


def tries_chart(view: SearchView) -> Chart:
    """Every try of a search in order: at which rate, and whether it held."""
    series = tuple(
        Series(
            name, tuple((n, each.rate) for n, each in enumerate(view.tries, 1) if each.holds is held), kind="scatter"
        )
        for name, held in (("held", True), ("did not hold", False))
    )
    unit = AXES.get(view.unit, "messages_per_second")
    title = f"The search for the peak: {view.scenario} on {view.server}"
    kept = tuple(line for line in series if line.points)
    return Chart(
        f"{view.id}-rates", title, Axis("try"), Axis("publishers" if view.unit == "publishers" else "rate", unit), kept
    )
