"""JUnit XML for CI: one test case per run and threshold. No verdict is an error, never a pass."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from telemark.report import card
from telemark.report.model import CampaignView, Judgement, Report, ScoreRow, SearchView

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """Text that XML 1.0 can hold: most control characters are forbidden even when escaped."""
    return _FORBIDDEN.sub("\ufffd", str(text))


def render(report: Report) -> str:
    """The report as JUnit XML text."""
    root = ET.Element("testsuites", name="telemark")
    for campaign in report.campaigns:
        root.append(_suite(campaign))
    if report.problems:
        root.append(_unreadable(report))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(campaign: CampaignView) -> ET.Element:
    suite = ET.Element("testsuite", name=clean(campaign.name))
    suite.extend(_search(search) for search in campaign.searches)
    for row in campaign.rows:
        if row.judgements:
            suite.extend(_case(row, judgement) for judgement in row.judgements)
        else:
            suite.append(_case(row, Judgement("a verdict", "no verdict", None, None, "the run has no thresholds")))
    return _counted(suite)


def _search(search: SearchView) -> ET.Element:
    """Whether the search found a peak; its tries follow as cases of their own."""
    case = ET.Element("testcase", classname=clean(search.scenario), name=clean(f"{search.server} {search.point}: peak"))
    if search.verdict != "pass":
        ET.SubElement(case, "error", message=clean(search.answer[0]), type="no verdict")
    ET.SubElement(case, "system-out").text = clean("\n".join(search.answer))
    return case


def _case(row: ScoreRow, judgement: Judgement) -> ET.Element:
    name = f"{row.server} {row.point} #{row.repeat + 1}: {judgement.threshold}"
    case = ET.Element("testcase", classname=clean(f"{row.suite}.{row.name}"), name=clean(name))
    message = clean(judgement.reason)
    if judgement.outcome == "fail":
        ET.SubElement(case, "failure", message=message, type="threshold")
    elif judgement.outcome != "pass":
        ET.SubElement(case, "error", message=message, type="no verdict")
    output = ET.SubElement(case, "system-out")
    cells = card.cells(row)
    lines = [f"{heading}: {cells[heading].text}" for heading in card.headings([row])]
    output.text = clean("\n".join([f"run {row.run}", f"VALUE is {row.headline.name}", *lines]))
    return case


def _unreadable(report: Report) -> ET.Element:
    suite = ET.Element("testsuite", name="folders that could not be read")
    for problem in report.problems:
        case = ET.SubElement(suite, "testcase", classname="telemark.folder", name=clean(problem.folder))
        ET.SubElement(case, "error", message=clean(problem.message), type="unreadable")
    return _counted(suite)


def _counted(suite: ET.Element) -> ET.Element:
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    suite.set("errors", str(sum(case.find("error") is not None for case in suite)))
    return suite
