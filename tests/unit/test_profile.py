"""The profile of the busiest server thread: from perf's text to a flame graph that cannot harm a page."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from telemark.report.flame import MOST_BOXES, flame_graph, profile_of
from telemark.report.source import RunSource
from telemark.runner.profile import ThreadProfiler, fold
from telemark.store.documents.profile import MOST_FRAMES, PROFILE_FILE, ProfileFile, Stack
from tests.support.waiting import eventually

SCRIPT = """
\t          fac15 route(Message const&)
\t          100f1 main
\t          100f2 [unknown]


\t          fac15 route(Message const&)
\t          100f1 main
\t          100f2 [unknown]

\t          fac16 write

"""


def run_with(folder: Path, profile: ProfileFile) -> RunSource:
    profile.write(folder)
    return RunSource(folder, "r", {})


def test_stacks_are_folded_from_the_outermost_function_to_the_innermost() -> None:
    assert {("[unknown]", "main", "route(Message const&)"): 2, ("write",): 1} == dict(fold(SCRIPT.splitlines()))


def test_a_stack_deeper_than_any_reader_wants_keeps_its_innermost_functions() -> None:
    (found,) = fold([f"1 f{number}" for number in range(1000)])

    assert (MOST_FRAMES, "f0") == (len(found), found[-1])


def test_boxes_are_as_wide_as_their_share_and_names_are_escaped() -> None:
    """Function names come from a program that strangers built."""
    hostile = "<script>alert(1)</script>&\"'"
    picture = flame_graph((Stack(("main", hostile), 3), Stack(("main",), 1)), f"title {hostile}")
    root = ET.fromstring(picture)
    boxes = {group[0].text: float(group[1].get("width", 0)) for group in root.iter("{http://www.w3.org/2000/svg}g")}

    assert "<script" not in picture
    assert {"all: 4 samples, 100.0%", "main: 4 samples, 100.0%", f"{hostile}: 3 samples, 75.0%"} == set(boxes)
    assert boxes[f"{hostile}: 3 samples, 75.0%"] == pytest.approx(750, abs=1)


def test_the_picture_of_a_huge_profile_stays_small() -> None:
    stacks = [Stack((f"a{number % 40}", *(f"f{number}-{depth}" for depth in range(90))), 1) for number in range(2000)]
    picture = flame_graph(stacks, "")

    assert picture.count("<rect") <= MOST_BOXES
    assert len(picture) < 2_000_000


def test_the_report_says_why_there_is_no_profile(tmp_path: Path) -> None:
    assert profile_of(RunSource(tmp_path, "r", {})) is None
    missing = profile_of(run_with(tmp_path, ProfileFile(problem="perf is not installed <b>")))
    assert missing is not None
    assert ("There is none: perf is not installed <b>", "") == (missing.note, missing.svg)
    for content in ("{", json.dumps({"stacks": [{"frames": ["x"], "samples": -1}]}), json.dumps({"stacks": 5})):
        (tmp_path / PROFILE_FILE).write_text(content)
        damaged = profile_of(RunSource(tmp_path, "r", {}))
        assert damaged is not None
        assert damaged.note.startswith("It cannot be read")


def test_perf_that_is_missing_or_refuses_is_a_reason_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perf = tmp_path / "perf"
    perf.write_text("#!/bin/sh\necho 'Error: No permission to enable cpu-clock event.' >&2\nexit 255\n")
    found = []
    for path in (tmp_path / "empty", tmp_path):
        monkeypatch.setenv("PATH", str(path))
        perf.chmod(0o755)
        profiler = ThreadProfiler(lambda: (1, "main"), 0.2)
        profiler.start()
        eventually(lambda profiler=profiler: not profiler._thread.is_alive())
        found.append(profiler.finish().problem)

    assert found[0] is not None
    assert found[0].startswith("perf is not installed")
    assert "perf record: Error: No permission to enable cpu-clock event." == found[1]


def test_a_busy_thread_is_profiled_and_drawn(tmp_path: Path) -> None:
    """With the real perf, where it is there and permitted."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed: apt install linux-perf")
    end = threading.Event()
    busy = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(end.is_set, True)], name="busy")
    busy.start()
    began = time.monotonic()
    profiler = ThreadProfiler(lambda: (busy.native_id or 0, "busy <one>"), 3.0)
    try:
        profiler.start()
        eventually(lambda: not profiler._thread.is_alive())
    finally:
        end.set()
        busy.join()
    found = profiler.finish()
    if found.problem and os.geteuid() != 0:
        pytest.skip(found.problem)

    assert found.problem is None
    assert (busy.native_id, found.samples) == (found.thread_id, sum(stack.samples for stack in found.stacks))
    assert time.monotonic() - began >= 1.5
    shown = profile_of(run_with(tmp_path, found))
    assert shown is not None
    assert re.fullmatch(r"The server's busiest thread: busy <one> \(thread \d+\)", shown.title)
    assert shown.svg.startswith("<svg")
