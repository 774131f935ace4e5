"""What commands print for people: at 80 columns nothing is cut, and what matters comes first."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from telemark.catalog import load
from telemark.cli import calibrate
from telemark.cli.main import main
from telemark.cli.printing import print_table, tell
from telemark.runner.calibrate.record import Calibration, Figure
from telemark.runner.doctor import Finding

WIDTH = 80
SCREEN = 40  # lines


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Run a command on a terminal of 80 columns; its lines on stdout."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))

    def run(*arguments: str) -> list[str]:
        with pytest.raises(SystemExit):
            main(list(arguments))
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return run


def fits(lines: list[str]) -> bool:
    """No line is wider than the terminal, a single long word excepted; nothing was cut."""
    wide = [line for line in lines if len(line) > WIDTH and len(line.split()) > 1]
    assert wide == []
    assert not any("…" in line for line in lines)
    return True


@pytest.mark.parametrize("scenario", [scenario.id for scenario in load().scenarios()])
def test_show_fits_a_screen(printed, scenario: str) -> None:  # type: ignore[no-untyped-def]
    """Every built-in case; the last line says how to see the rest."""
    lines = printed("show", scenario)

    assert fits(lines)
    assert len(lines) <= SCREEN
    assert f"telemark show {scenario} --all" in " ".join(lines[-2:])


def test_show_all_has_every_size_and_every_published_value(printed) -> None:  # type: ignore[no-untyped-def]
    """Meanings, notes and the report's machines too."""
    lines = printed("show", "scalagent/multi-publisher", "--all")
    text = "\n".join(lines)

    assert fits(lines)
    for words in ("--size quick", "--size laptop", "--size published", "measured on:", "note:", "published:"):
        assert words in text


def test_list_names_every_case_under_its_suite(printed) -> None:  # type: ignore[no-untyped-def]
    """Headings and cells are whole."""
    lines = printed("list")

    assert fits(lines)
    assert any(line.split() == ["case", "measures", "needs", "published"] for line in lines)
    for scenario in load().scenarios():
        assert any(line.startswith(f"{scenario.name} ") and scenario.measures in line for line in lines)


@pytest.mark.parametrize("scenario", ["scalagent", "mq-telemetry", "messagesight", "open-mqtt", "fanin-jms"])
def test_plan_fits(printed, scenario: str) -> None:  # type: ignore[no-untyped-def]
    """As a table or as records: every column has its name and its value."""
    lines = printed("plan", scenario)

    assert fits(lines)
    assert any("files each" in line.replace("\n", " ") or "files" in line for line in lines)


def test_servers_fit(printed) -> None:  # type: ignore[no-untyped-def]
    """Capabilities take several lines where they must."""
    assert fits(printed("servers"))


def test_the_calibration_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest kind of line there is."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    figure = Figure(
        "shape", "windowed", 2, "tls", 65_536, 4_000_000.0, 12_345.6, 123_456.7, 12_345.6, lost=123_456
    )  # fmt: skip
    calibrate._print(Calibration("0.1.0", "fingerprint", "host", "2026-01-01T00:00:00Z", (figure,)))
    assert fits(capsys.readouterr().out.splitlines())


def test_doctor_answers_first_and_names_only_what_falls_short(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Yes or no, then the settings that are short with their commands; the others with --all."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    findings = [
        Finding("limit nofile", "short", ">= 10200", "1024", "a server needs one open file for each device", "ulimit"),
        Finding("net.ipv4.tcp_sack", "differs", "1", "0", "cheap recovery from loss", "sysctl -w x=1"),
    ]
    monkeypatch.setattr("telemark.cli.doctor.examine", lambda _devices, _out: findings)

    for options, named in (((), ["limit nofile"]), (("--all",), ["limit nofile", "net.ipv4.tcp_sack"])):
        with pytest.raises(SystemExit) as ended:
            main(["doctor", "--out", str(tmp_path), *options])
        lines = capsys.readouterr().out.splitlines()
        assert ended.value.code == 4
        assert lines[0] == "fit for 10,000 devices: no"
        assert fits(lines)
        assert [name for name in ("limit nofile", "net.ipv4.tcp_sack") if any(name in line for line in lines)] == named
    monkeypatch.setattr("telemark.cli.doctor.examine", lambda _devices, _out: findings[1:])
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("fit for 10,000 devices: yes\n")


def test_a_table_that_does_not_fit_becomes_records(capsys: pytest.CaptureFixture[str]) -> None:
    """Every cell keeps its heading."""
    row = ("a" * 30, "b" * 30, "c" * 30)
    print_table(Console(width=WIDTH), ("first", "second", "third"), [row])
    text = capsys.readouterr().out

    assert fits(text.splitlines())
    assert text.split() == [row[0], "second:", row[1] + ";", "third:", row[2]]


def test_a_long_line_is_broken_between_words_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search tells why a try did not hold in one sentence; a program that reads it gets one line."""
    sentence = "2,000 (ramp): does not hold: " + "the engine was the limit, not the server; " * 5
    monkeypatch.setenv("COLUMNS", "80")
    written = []
    for terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        tell(sentence)
        written.append(stream.getvalue())

    assert max(map(len, written[0].splitlines())) <= 80
    assert [sentence.split()] * 2 == [text.split() for text in written]
    assert written[1].count("\n") == 1


def test_telemark_alone_says_where_to_begin(printed) -> None:  # type: ignore[no-untyped-def]
    """The first command to type, not a list of all."""
    lines = printed()

    assert fits(lines)
    assert any(line.startswith("  telemark load --host HOST") for line in lines)
