"""The HTML report as text: self-contained, escaped, small."""

from __future__ import annotations

import json
import re
from pathlib import Path

from telemark.report import html
from telemark.report.build import build_report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun

ATTACK = "<script>alert(1)</script>"


def own_text(page: str) -> str:
    """The page without the scripts we ship: what came from run folders and templates."""
    for name in html.SCRIPTS:
        page = page.replace(html.asset(name), "")
    return page


def test_nothing_in_the_page_points_outside(tmp_path: Path) -> None:
    """One file must be enough, also without a network."""
    page = own_text(html.render(build_report([make_campaign(tmp_path / "campaign", [FakeRun()])])))

    assert [] == re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)
    assert "http:" not in page
    assert "https:" not in page


def test_the_policy_allows_only_our_scripts_by_their_hashes(tmp_path: Path) -> None:
    """Even a script that slipped through the escaping would not run."""
    page = html.render(build_report([make_campaign(tmp_path / "campaign", [FakeRun()])]))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)

    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert len(html.SCRIPTS) == policy[1].count("sha256-")
    assert "unsafe-inline" not in policy[1].split("script-src")[1].split(";")[0]


def test_scripts_in_names_and_texts_are_escaped_everywhere(tmp_path: Path) -> None:
    """Run folder, campaign, server, point, reason, warning, filter and threshold all come from strangers."""
    texts = {"server": f"srv{ATTACK}", "version": ATTACK, "profile": ATTACK, "scenario": f"s{ATTACK}", "suite": ATTACK}
    lists = {"warnings": (ATTACK,), "notes": (f"note {ATTACK}\u2028",), "thresholds": (ATTACK,)}
    run = FakeRun(**texts, **lists, parameters={"topic": ATTACK}, state="failed", reason=ATTACK)
    folder = make_campaign(tmp_path / "<script>alert(2)<_script>", [run])

    page = own_text(html.render(build_report([folder])))

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_json_inside_the_script_element_cannot_end_it() -> None:
    """`</script>` and the line separators of JavaScript are written as escapes that mean the same."""
    text = html.json_for_script({"name": "</script><!--\u2028\u2029&"})

    assert not re.search(r"[<>&\u2028\u2029]", text)
    assert {"name": "</script><!--\u2028\u2029&"} == json.loads(text)


def test_assets_of_the_page_are_complete_and_licensed() -> None:
    """The vendored library keeps its licence and notice beside it."""
    vendor = Path(html.__file__).parent / "vendor"
    names = {file.name for file in vendor.iterdir()}

    for ending in ("common.min.js", "LICENSE", "NOTICE"):
        assert f"echarts-{html.ECHARTS_VERSION}.{ending}" in names
