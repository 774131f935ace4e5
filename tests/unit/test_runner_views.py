"""What a person or a program sees of a running run."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from telemark.errors import ExitCode
from telemark.model.plan import Group, Idle, Phases, RunPlan
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunOutcome
from telemark.runner.totals import Totals
from telemark.runner.view import MachineLines, PlainLines, TerminalView
from telemark.runner.view.plain import line
from telemark.runner.view.terminal import picture

PLAN = RunPlan("s", "c", "p=1", "quick", 1, {}, (Group("g", 1),), Idle(), Phases())
OUTCOME = RunOutcome("000-x", Path("runs/000-x"), "failed", "server died", "look at its log", ExitCode.SERVER_FAILED)


def progress(phase: Phase, **changes: object) -> Progress:
    """A look at a run of ten devices."""
    totals = Totals(devices=10, ready=10, sent=1234, received=1200, p50_us=85, p99_us=1234)
    values = {"outstanding": 34, "sent_rate": 100.0, "received_rate": 99.0} | changes
    return Progress("000-x", phase, 12.0, 3.0, totals, **values)  # type: ignore[arg-type]


def test_plain_lines_come_at_phase_changes_and_every_few_seconds() -> None:
    """A log of a long run stays short."""
    output, now = io.StringIO(), [0.0]
    view = PlainLines(output, lambda: now[0])
    view.run_started("000-x", "mosquitto", PLAN, 1, 2)
    for second in range(12):
        now[0] = float(second)
        view.progress(progress(Phase.MEASURE))
    view.progress(progress(Phase.DRAIN))
    view.run_ended(OUTCOME)
    lines = output.getvalue().splitlines()

    assert lines[0] == "run 1 of 2: s/c p=1 (quick) on mosquitto"
    assert [line.split()[0] for line in lines[1:5]] == ["measure", "measure", "measure", "drain"]
    assert "34 under way" in lines[1]
    assert "34 missing" in lines[4]
    assert "p50 85 us, p99 1.23 ms" in lines[1]
    assert "server - -" in lines[1]  # not sampled yet: a dash, no zero
    assert lines[5:] == ["  failed: server died -> runs/000-x", "  hint: look at its log"]


def test_a_run_without_a_size_shows_none() -> None:
    """A load from the command line."""
    output = io.StringIO()
    PlainLines(output).run_started("000-x", "remote", replace(PLAN, size=""), 1, 1)

    assert "run 1 of 1: s/c p=1 on remote\n" == output.getvalue()


def test_the_connect_line_has_its_rate_and_the_drain_line_none() -> None:
    """How fast devices connect is worth seeing; after the sending there is no rate, only a rest."""
    assert "10 of 10 devices ready (250/s)" in line(progress(Phase.CONNECT, connect_rate=250.0))
    assert "sent 1,234 (100/s), received 1,200 (99/s)" in line(progress(Phase.MEASURE))
    assert "sent 1,234, received 1,200, 34 missing" in line(progress(Phase.DRAIN))


def test_machine_lines_are_json_with_every_number() -> None:
    """A program can follow a run without reading its files."""
    output = io.StringIO()
    view = MachineLines(output)
    view.run_started("000-x", "loopback", PLAN, 1, 1)
    view.progress(progress(Phase.MEASURE, server_cpu_cores=0.5))
    view.run_ended(OUTCOME)
    lines = [json.loads(line) for line in output.getvalue().splitlines()]

    assert [line["is"] for line in lines] == ["run", "progress", "ended"]
    assert lines[1]["totals"]["sent"] == 1234
    assert lines[1]["server_cpu_cores"] == 0.5
    assert lines[2]["exit_code"] == 5


def test_the_terminal_view_shows_phase_counts_latency_and_cost() -> None:
    """All of them at one glance; names from elsewhere cannot bring markup along."""
    console = Console(file=io.StringIO(), width=100)
    console.print(picture(progress(Phase.MEASURE, server_cpu_cores=0.5, server_rss_bytes=float(50 << 20))))
    view = TerminalView(console)
    view.note("[bold]not bold[/]")
    text = console.file.getvalue()  # type: ignore[attr-defined]

    for words in ("measure", "1,234", "p99 1.23 ms", "0.50 cores", "50 MiB", "34 under way", "[bold]not bold[/]"):
        assert words in text
