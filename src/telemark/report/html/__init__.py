"""The HTML report: one self-contained file that works offline and asks nothing of the network.

Scripts, styles and chart data are inlined. The page's content security policy names the hashes of our own scripts,
so that even a mistake in escaping could not run a stranger's script or reach another host.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from telemark.report import card, searches
from telemark.report import format as fmt
from telemark.report.model import Chart, Report

ECHARTS_VERSION = "6.1.0"  # Apache ECharts; its licence and notice are beside it
SCRIPTS = (f"vendor/echarts-{ECHARTS_VERSION}.common.min.js", "assets/units.js", "assets/charts.js", "assets/page.js")
STYLES = ("assets/report.css",)
FEW_RUNS = 2  # of so few the report shows everything at once; more are folded
SIGNIFICANT = 5  # digits of a drawn value: more than a screen can show


def render(report: Report) -> str:
    """The whole report as the text of one HTML file."""
    scripts = [asset(name) for name in SCRIPTS]
    return environment().get_template("report.html.j2").render(
        report=report,
        few_runs=FEW_RUNS,
        styles=Markup("\n".join(asset(name) for name in STYLES)),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        chart_data=Markup(json_for_script(chart_data(charts_of(report)))),
    )  # fmt: skip


@cache
def environment() -> Environment:
    """Templates with escaping always on; a name that does not exist is an error, not an empty text."""
    made = Environment(
        loader=PackageLoader("telemark.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"fmt": fmt, "card": card, "tries_table": searches.tries_table, "echarts_version": ECHARTS_VERSION}
    return made


@cache
def asset(name: str) -> str:
    """Text of one of our files; never one that could end the element it is put into."""
    text = files("telemark.report.html").joinpath(name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} holds a closing tag and cannot be inlined")
    return text


def policy(scripts: list[str]) -> str:
    """Content security policy: our scripts by their hashes, no outside request of any kind."""
    return (
        f"default-src 'none'; script-src {' '.join(map(script_hash, scripts))}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def script_hash(script: str) -> str:
    """How a policy names an inline script. The parser of HTML turns CRLF into LF before it hashes."""
    digest = hashlib.sha256(script.replace("\r\n", "\n").encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def charts_of(report: Report) -> list[Chart]:
    """Every chart of the report."""
    found: list[Chart] = []
    for campaign in report.campaigns:
        found += campaign.charts
        for suite in campaign.suites:
            found += suite.charts
            for scenario in suite.scenarios:
                found += scenario.charts
                for run in scenario.runs:
                    found += run.charts
    return found


def chart_data(charts: list[Chart]) -> dict[str, Any]:
    """What the page's script needs to draw the charts, by their ids."""
    return {chart.id: _compact(chart) for chart in charts}


def _compact(chart: Chart) -> dict[str, Any]:
    data: dict[str, Any] = {"title": chart.title, "x": asdict(chart.x), "y": asdict(chart.y)}
    data["series"] = [
        {"name": line.name, "style": line.style, "kind": line.kind, "axis": line.axis,
         "points": [[_drawn(x), _drawn(y)] for x, y in line.points]}
        for line in chart.series
    ]  # fmt: skip
    if chart.y2:
        data["y2"] = asdict(chart.y2)
    if chart.bands:
        data["bands"] = [[band.name, band.start, band.end] for band in chart.bands]
    return data


def _drawn(value: float | str | None) -> float | int | str | None:
    if not isinstance(value, float):
        return value
    if fmt.is_missing(value):
        return None
    # Percentiles near 100 need all their digits; everything else is cut to what can be seen.
    short = value if 90 < value < 100 else float(f"{value:.{SIGNIFICANT}g}")
    return int(short) if short == int(short) else short


def json_for_script(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or the line."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for char, escaped in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(char, escaped)
    return text
