"""Text of strangers on a terminal."""

from __future__ import annotations

import json
import os
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from telemark.cli.main import main
from telemark.errors import ExitCode
from telemark.host.text import visible
from telemark.runner.progress import RunOutcome
from telemark.runner.view.plain import PlainLines
from telemark.runner.view.terminal import TerminalView
from telemark.store.integrity import digests
from tests.support.run_builder import facts, random_run, write

STEERING = "\x1b]0;title\x07\x1b[31m\x9b2J\r\x08\u202e"


def test_what_steers_a_terminal_is_written_out() -> None:
    """Escape sequences, the one-byte forms of them, directions of writing, half characters; lines stay."""
    shown = visible(f"a{STEERING}\udcff\nµ")

    assert "a\\x1b]0;title\\x07\\x1b[31m\\x9b2J\\r\\x08\\u202e\\udcff\nµ" == shown


@pytest.mark.parametrize("command", ["verify", "analyze", "report"])
def test_no_command_prints_what_steers_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Neither the name of a folder nor what a damaged document says."""
    folder = write(tmp_path / f"c{STEERING}" / f"001{STEERING}", random_run(2))
    facts(folder, files=digests(folder)).write(folder)
    (folder / "run.json").write_text(json.dumps({"format": 2, "state": STEERING, "run": 5, STEERING: 1}))
    with pytest.raises(SystemExit):
        main([command, str(folder.parent)])
    printed = capsys.readouterr()

    assert "title" in printed.out + printed.err
    assert [] == [char for char in printed.out + printed.err if not (char.isprintable() or char == "\n")]


def test_no_view_of_a_run_prints_what_steers_a_terminal(tmp_path: Path) -> None:
    """A server may give any reason when it disconnects us."""
    outcome = RunOutcome("r", tmp_path, "failed", f"refused: {STEERING}", f"ask {STEERING}", ExitCode.SERVER_FAILED)
    output = StringIO()
    for view in (PlainLines(output), TerminalView(Console(file=output, width=200))):
        view.note(STEERING)
        view.run_ended(outcome)

    assert "refused" in output.getvalue()
    assert [] == [char for char in output.getvalue() if not (char.isprintable() or char == "\n")]


def test_a_folder_whose_name_is_no_text_is_a_problem_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It can be opened, but it could stand in no table."""
    write(tmp_path / "c" / "001", random_run(2))
    write(tmp_path / "c" / "002", random_run(3)).rename(tmp_path / "c" / os.fsdecode(b"\xff"))
    with pytest.raises(SystemExit, match=r"^7$"):
        main(["verify", str(tmp_path)])
    printed = capsys.readouterr()

    assert "no digests were recorded: 001" in printed.out
    assert "not UTF-8 text" in printed.err
