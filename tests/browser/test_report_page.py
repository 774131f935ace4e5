"""The HTML report in a real browser: charts, tables, themes, sizes, and no word to the outside."""

from __future__ import annotations

import csv
import io
import re
import zlib
from pathlib import Path
from typing import Any, get_args

import pytest
from playwright.sync_api import expect

from telemark.model.columns import Unit
from telemark.report import format as fmt
from telemark.report import html
from telemark.report.build import build_report
from tests.browser.conftest import Watched
from tests.support.synthetic import make_campaign
from tests.support.synthetic_suites import RUNS_OF_SUITE
from tests.support.synthetic_tables import FakeRun

pytestmark = pytest.mark.browser

# Every run has the same kinds of charts, so the first of each scenario stands for the others.
OPEN_SOME = """() => {
  document.querySelectorAll('details.run:first-of-type').forEach((element) => { element.open = true; });
  telemarkPage.drawAll();
}"""
# What a reader sees of each chart: the marks of its series, counted in the SVG, and the data behind them.
CHARTS = """() => [...document.querySelectorAll('.chart[data-chart]')].filter((element) =>
    element.closest('details:not([open])') === null).map((element) => {
  const chart = echarts.getInstanceByDom(element);
  const series = chart ? chart.getOption().series : [];
  const drawn = series.map((line) => line.data.filter((point) => point[1] !== null && point[1] !== undefined).length);
  return { id: element.dataset.chart, paths: element.querySelectorAll('svg path').length, drawn };
})"""


@pytest.fixture(scope="session")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of three runs."""
    root = tmp_path_factory.mktemp("small")
    runs = [FakeRun(parameters={"publishers": n}, publishers=n, rate=float(n), seed=n) for n in (1000, 3000, 2000)]
    file = root / "report.html"
    file.write_text(html.render(build_report([make_campaign(root / "campaign", runs)])), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One report over all five suites."""
    root = tmp_path_factory.mktemp("suites")
    folders = [make_campaign(root / name, runs) for name, runs in RUNS_OF_SUITE.items()]
    file = root / "report.html"
    file.write_text(html.render(build_report(folders, "All suites")), encoding="utf-8")
    return file


def test_every_chart_is_drawn_with_data_and_nothing_goes_wrong(
    watched: Watched, report_file: Path, screenshots: Path
) -> None:
    """No empty axes, no message on the console, no request but for the file itself."""
    watched.page.goto(report_file.as_uri())
    watched.page.evaluate(OPEN_SOME)
    charts: list[dict[str, Any]] = watched.page.evaluate(CHARTS)
    watched.page.set_viewport_size({"width": 1280, "height": 5000})
    watched.page.screenshot(path=screenshots / "report-desktop.png")

    assert len(charts) > 100
    assert [] == [chart["id"] for chart in charts if not chart["drawn"] or 0 in chart["drawn"] or chart["paths"] < 3]
    assert [] == watched.errors
    assert [report_file.as_uri()] == [url for url in watched.requests if not url.startswith("data:")]


def test_tables_sort_by_number_and_by_word_with_missing_values_last(watched: Watched, report_file: Path) -> None:
    """A click sorts upwards, a second one downwards."""
    page = watched.page
    page.goto(report_file.as_uri())
    card = page.locator("table.score-card").first
    values = "rows => rows.map((row) => Number(row.cells[4].dataset.sort))"

    card.get_by_role("button", name="VALUE").click()
    rising = card.locator("tbody tr").evaluate_all(values)
    card.get_by_role("button", name="VALUE").click()
    falling = card.locator("tbody tr").evaluate_all(values)
    card.get_by_role("button", name="Server").click()
    servers = card.locator("tbody tr").evaluate_all("rows => rows.map((row) => row.cells[1].dataset.sort)")

    assert sorted(rising) == rising
    assert sorted(rising, reverse=True) == falling
    assert sorted(servers) == servers
    assert len(set(rising)) > 1


def test_dark_mode_follows_the_system_and_the_button(watched: Watched, report_file: Path, screenshots: Path) -> None:
    """Page and charts change together."""
    page = watched.page
    page.emulate_media(color_scheme="dark")
    page.goto(report_file.as_uri())
    background = "getComputedStyle(document.body).backgroundColor"
    label = "telemarkCharts.drawn.values().next().value.getOption().legend[0].textStyle.color"
    page.locator(".chart").first.scroll_into_view_if_needed()
    page.wait_for_selector(".chart[data-drawn]")
    dark, dark_label = page.evaluate(background), page.evaluate(label)
    page.screenshot(path=screenshots / "report-dark.png")
    page.get_by_role("button", name="switch between light and dark").click()
    light, light_label = page.evaluate(background), page.evaluate(label)

    assert "rgb(18, 22, 28)" == dark
    assert "rgb(246, 247, 249)" == light
    assert dark_label != light_label


def test_a_phone_needs_no_sideways_scrolling(watched: Watched, report_file: Path, screenshots: Path) -> None:
    """Wide tables scroll inside their own frame."""
    page = watched.page
    page.set_viewport_size({"width": 375, "height": 812})
    page.goto(report_file.as_uri())
    page.evaluate(OPEN_SOME)
    page.set_viewport_size({"width": 375, "height": 4000})
    page.screenshot(path=screenshots / "report-phone.png")

    assert 375 >= page.evaluate("document.documentElement.scrollWidth")


def test_hovering_shows_the_values(watched: Watched, report_file: Path) -> None:
    """With names and units."""
    page = watched.page
    page.goto(report_file.as_uri())
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    page.wait_for_selector(".chart[data-drawn]")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(chart).to_contain_text("mosquitto")


def test_the_data_of_a_chart_can_be_saved_as_csv(watched: Watched, report_file: Path) -> None:
    """Header with names, one line per x, the same values as drawn."""
    page = watched.page
    page.goto(report_file.as_uri())
    figure = page.locator("figure", has_text="(Figure 4)")
    with page.expect_download() as download:
        figure.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))

    assert ["publishers", "mosquitto", "rabbitmq"] == rows[0][:3]
    assert all(name.startswith("published: ") for name in rows[0][3:])
    measured = [row for row in rows[1:] if row[1]]
    assert ["1000", "2000", "4000"] == [row[0] for row in measured]
    assert all(float(cell) > 0 for row in measured for cell in row[:3])


def test_csv_cells_cannot_become_formulas(watched: Watched, report_file: Path) -> None:
    """A spreadsheet would run what begins with =, + or @."""
    watched.page.goto(report_file.as_uri())
    spec = {"x": {"name": "x"}, "y": {"name": "y"}, "series": [{"name": '=cmd|"a",b', "points": [[1, 2]]}]}

    assert '"\'=cmd|""a"",b"' in watched.page.evaluate("spec => telemarkCharts.csvOf(spec)", spec)


def test_the_page_writes_numbers_like_the_rest_of_the_program(watched: Watched, report_file: Path) -> None:
    """Chart labels and tables must not disagree about the same value."""
    units = [unit for unit in get_args(Unit) if unit != "text"]
    values = [0, 0.004, 0.5, 1, 12.34, 999.6, 1500, 65_536, 1e6, 123_456_789, None]
    cases = [[unit, value] for unit in units for value in values]
    watched.page.goto(report_file.as_uri())

    shown = watched.page.evaluate("cases => cases.map(([unit, value]) => telemarkUnits.write(unit, value))", cases)

    assert [fmt.value_in(unit, value) for unit, value in cases] == shown  # type: ignore[arg-type]


def test_a_link_into_a_closed_run_opens_it(watched: Watched, report_file: Path) -> None:
    """The name in the score card leads to the run's own section."""
    page = watched.page
    page.goto(report_file.as_uri())
    page.locator("table.score-card a").first.click()
    target = page.evaluate("location.hash.slice(1)")

    expect(page.locator(f"#{target}")).to_have_attribute("open", "")
    page.wait_for_selector(f"#{target} .chart[data-drawn]")


def test_printing_opens_every_run_and_draws_its_charts(watched: Watched, small_file: Path) -> None:
    """Paper cannot be clicked."""
    page = watched.page
    page.goto(small_file.as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert 0 == page.locator("details:not([open])").count()
    assert 0 == page.locator(".chart:not([data-drawn])").count()


def test_paper_is_light_whatever_the_screen_is(watched: Watched, small_file: Path) -> None:
    """Charts included; afterwards the screen is as it was."""
    page = watched.page
    page.emulate_media(color_scheme="dark")
    page.goto(small_file.as_uri())
    page.wait_for_selector(".chart[data-drawn]")
    label = "telemarkCharts.drawn.values().next().value.getOption().legend[0].textStyle.color"
    colours, widths = [], []
    for event in ("focus", "beforeprint", "afterprint"):
        page.evaluate("event => dispatchEvent(new Event(event))", event)
        colours.append(page.evaluate(label))
        widths.append(page.locator(".chart svg").first.get_attribute("width"))

    assert "#1c2430" == colours[1] != colours[0] == colours[2]
    assert widths[0] == widths[2]


def test_nothing_leaves_the_printed_page(watched: Watched, small_file: Path) -> None:
    """On paper nobody can scroll or turn the pages of a legend; the browser lays out after the charts were drawn."""
    page = watched.page
    page.goto(small_file.as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
    page.emulate_media(media="print")
    cut = """([inner, outer]) => [...document.querySelectorAll(inner)].filter((each) => {
      const [a, b] = [each.getBoundingClientRect(), each.closest(outer).getBoundingClientRect()];
      return a.right > b.right + 1 || (outer === 'figure' && a.bottom > b.bottom + 1);
    }).length"""

    assert 0 == page.evaluate(cut, [".chart svg", "figure"])
    assert 0 == page.evaluate(cut, ["table", ".scroll"])
    assert ["plain"] == page.evaluate(
        "() => [...new Set([...telemarkCharts.drawn.values()].flatMap((each) => each.getOption().legend)"
        ".filter(Boolean).map((legend) => legend.type))]"
    )


def test_the_whole_score_card_is_printed(watched: Watched, report_file: Path) -> None:
    """With published values of every kind."""
    page = watched.page
    page.set_viewport_size({"width": 718, "height": 1000})
    page.emulate_media(media="print")
    page.goto(report_file.as_uri())
    right = "(table) => [table.getBoundingClientRect().right, table.parentElement.getBoundingClientRect().right]"

    for table in page.locator(".score-card").all():
        edge, limit = table.evaluate(right)
        assert edge <= limit + 1


def test_every_table_fits_a_desktop(watched: Watched, report_file: Path) -> None:
    """Cards with published values of many kinds included: what only some scenarios have shares a column."""
    page = watched.page
    page.goto(report_file.as_uri())
    wide = "() => [...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1)"

    assert [] == page.evaluate(f"() => ({wide})().map((each) => each.innerText.slice(0, 200))")
    assert page.get_by_role("button", name="also published").count() > 0


def test_charts_are_drawn_without_scrolling(watched: Watched, small_file: Path, screenshots: Path) -> None:
    """A page that is captured or printed at once is complete: every chart of an open section."""
    page = watched.page
    page.set_viewport_size({"width": 800, "height": 300})
    page.goto(small_file.as_uri())
    page.wait_for_function(
        "() => [...document.querySelectorAll('.chart[data-chart]')].filter((chart) => "
        "chart.closest('details:not([open])') === null).every((chart) => chart.dataset.drawn)"
    )
    printed = page.pdf(path=screenshots / "report.pdf")

    assert 0 == page.evaluate("() => scrollY")
    assert page.locator(".chart[data-drawn] svg path").count() > 20
    # Boxes and rules of the page are rectangles: hundreds of lines are those of charts.
    assert lines_drawn(printed) > 1000


def lines_drawn(pdf: bytes) -> int:
    """Straight lines in all pages of a PDF."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    plain = [zlib.decompressobj().decompress(each) for each in streams if each[:1] == b"x"]
    return sum(len(re.findall(rb"[\d.]+ [\d.]+ l\b", each)) for each in plain)


def test_a_single_run_shows_its_charts_unfolded_and_no_chart_of_one_dot(watched: Watched, tmp_path: Path) -> None:
    """What `telemark load` made is one run: nobody should have to look for its charts."""
    page = watched.page
    file = tmp_path / "report.html"
    file.write_text(html.render(build_report([make_campaign(tmp_path / "campaign", [FakeRun()])])), encoding="utf-8")
    page.goto(file.as_uri())

    expect(page.locator("details.run[open] .chart[data-drawn]").first).to_be_visible()
    specs = page.evaluate("() => Object.values(telemarkPage.specs)")
    counts = [sum(len(line["points"]) for line in spec["series"]) for spec in specs]
    assert min(counts) > 1


def test_a_wide_table_on_a_phone_shows_that_it_goes_on(watched: Watched, report_file: Path) -> None:
    """It scrolls within its card, and a shadow at its edge says so."""
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(report_file.as_uri())
    wide = "() => [...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1)"

    assert page.evaluate(f"() => ({wide})().length") > 0
    assert "local" in page.evaluate(f"() => getComputedStyle(({wide})()[0]).backgroundAttachment")


def test_a_hostile_run_folder_does_no_harm(watched: Watched, tmp_path: Path) -> None:
    """Names with scripts, in folders, servers, topics and series, are shown and not run."""
    attack = "<img src=x onerror=window.harmed=1><script>window.harmed=1</script>"
    runs = [
        FakeRun(server=f"{attack}{n}", version=attack, parameters={"publishers": n, "topic": attack}, publishers=n,
                warnings=(attack,), thresholds=(attack,), reason=attack, scenario=attack)
        for n in (100, 200)
    ]  # fmt: skip
    folder = make_campaign(tmp_path / "<script>window.harmed=1<_script>", runs)
    file = tmp_path / "hostile.html"
    file.write_text(html.render(build_report([folder])), encoding="utf-8")
    page = watched.page
    page.goto(file.as_uri())
    page.evaluate(OPEN_SOME)
    chart = page.locator(".chart").first
    chart.hover()
    expect(chart.locator("div", has_text="onerror").first).to_be_visible()

    assert page.evaluate("window.harmed === undefined")
    assert [] == [url for url in watched.requests if url != file.as_uri() and not url.startswith("data:")]
    assert [] == watched.errors


def test_fifty_long_runs_open_soon_and_weigh_less_than_five_megabytes(watched: Watched, tmp_path: Path) -> None:
    """Charts of closed sections wait until they are opened, and long series are thinned.

    Fifty runs whose charts were all drawn would take fifty times as long as one.
    """
    runs = [
        FakeRun(server=f"server{n % 5}", parameters={"publishers": n}, publishers=1000 + n, seconds=620, seed=n)
        for n in range(50)
    ]
    text = html.render(build_report([make_campaign(tmp_path / "campaign", runs)]))
    alone = html.render(build_report([make_campaign(tmp_path / "alone", runs[:1])]))
    one, fifty = (min(ready_ms(watched, tmp_path, each) for _ in range(3)) for each in (alone, text))

    assert len(text.encode()) < 5_000_000
    assert "smallest and largest value of every" in text
    assert fifty < 15 * one


def ready_ms(watched: Watched, folder: Path, text: str) -> float:
    """Milliseconds until the browser has the score card of a page, by its own account."""
    file = folder / "opened.html"
    file.write_text(text, encoding="utf-8")
    watched.page.goto(file.as_uri())
    watched.page.wait_for_selector("table.score-card tbody tr")
    return float(watched.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
