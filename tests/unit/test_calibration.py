"""The stored calibration: which runs it speaks for, and what they say when it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from telemark import __version__
from telemark.campaigns.calibration_plans import LISTENERS, _groups, _plan, all_cases
from telemark.model.plan import RunPlan
from telemark.model.plan.shapes.paced import Paced
from telemark.runner.calibrate.record import Stored, figure_from, for_run, load_for_runs
from telemark.store.documents.calibration import Calibration, Figure, read_calibration
from telemark.store.documents.reading import Problem

FIGURES = (
    Figure("ceiling", "windowed", 0, "none", 32, 100_000.0),
    Figure("ceiling", "windowed", 0, "none", 1024, 80_000.0),
    Figure("ceiling", "windowed", 1, "none", 32, 60_000.0),
    Figure("ceiling", "windowed", 0, "tls", 32, 40_000.0),
    Figure("floor", "paced", 0, "none", 32, 1000.0, latency_p50_us=90.0, latency_p99_us=300.0),
    Figure("connect", "idle", 0, "none", 0, 9000.0),
)
CALIBRATION = Calibration(__version__, "this-host", "here", "2026-01-01T00:00:00+00:00", FIGURES)


def traffic(qos: int = 0, payload: int = 32, security: str = "none") -> RunPlan:
    """A run of that kind."""
    listener = LISTENERS[security]
    return _plan("run", _groups(qos, payload, listener.name), Paced(rate=100.0), listener)


@pytest.mark.parametrize(
    ("qos", "payload", "security", "rate"),
    [
        (0, 32, "none", 100_000.0),
        (0, 64, "none", 80_000.0),  # the next costlier kind
        (1, 32, "none", 60_000.0),
        (2, 32, "none", 60_000.0),  # nothing as costly was measured: the slowest of its security
        (0, 32, "tls", 40_000.0),
    ],
)
def test_a_ceiling_is_that_of_the_nearest_traffic_that_is_not_cheaper(
    qos: int, payload: int, security: str, rate: float
) -> None:
    """A ceiling must never be too high: the headroom would be a promise nobody measured."""
    assert rate == for_run(traffic(qos, payload, security), "this-host", Stored(CALIBRATION))["ceiling_rate"]


def test_floors_and_connections_come_along() -> None:
    """What else a run is compared with."""
    facts = for_run(traffic(), "this-host", Stored(CALIBRATION))
    assert (9000.0, 90.0, None) == (facts["connect_ceiling"], facts["latency_floor_p50_us"], facts["problem"])


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (Stored(), "not calibrated"),
        (Stored(replace(CALIBRATION, fingerprint="other", host="elsewhere")), "another host (elsewhere)"),
        (Stored(replace(CALIBRATION, telemark_version="0.0.1")), "version 0.0.1"),
        (Stored(problem="the calibration cannot be read"), "cannot be read"),
    ],
)
def test_a_calibration_that_does_not_apply_is_named(stored: Stored, words: str) -> None:
    """There is no ceiling then, and the report says why."""
    facts = for_run(traffic(), "this-host", stored)
    assert facts["ceiling_rate"] is None
    assert words in facts["problem"]


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    """What was saved is what later runs read."""
    path = CALIBRATION.save(tmp_path / "deep" / "calibration.json")
    assert CALIBRATION == read_calibration(path) == load_for_runs(path).calibration


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "figures": [{"kind": "x"}]}'])
def test_a_damaged_file_stops_no_run(tmp_path: Path, text: str) -> None:
    """The command that shows it fails; a run goes on without a ceiling and says so."""
    path = tmp_path / "calibration.json"
    path.write_text(text)
    assert isinstance(read_calibration(path), Problem)
    stored = load_for_runs(path)
    assert stored.calibration is None
    assert "cannot be read" in str(for_run(traffic(), "this-host", stored)["problem"])


def test_a_figure_without_a_run_is_missing_not_zero() -> None:
    """A case whose run gave no row has no rate."""
    figure = figure_from({"kind": "ceiling", "shape": "windowed", "qos": 0, "security": "none", "payload": 32}, {})
    assert (None, None) == (figure.rate, figure.latency_p50_us)


def test_every_load_shape_is_calibrated() -> None:
    """Ceilings by QoS, security and size; floors; each other shape once."""
    cases = all_cases()
    assert {"paced", "batched", "windowed", "every", "burst", "steps", "idle"} == {case.shape for case in cases}
    assert {0, 1, 2} == {case.qos for case in cases if case.kind == "ceiling"}
    assert len({case.plan.scenario for case in cases}) == len(cases)


def test_a_run_knows_which_kind_of_load_its_ceiling_is_of() -> None:
    """A ceiling counts as headroom only for the same shape and about as many connections."""
    case = {"kind": "ceiling", "shape": "windowed", "qos": 0, "security": "none", "payload": 32}
    figure = figure_from(case, {"received_rate": 90_000.0, "connections": 201})

    assert ("windowed", 201) == (figure.shape, figure.connections)
