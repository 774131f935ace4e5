"""The program as a whole: a defect of its own is told apart from a failed threshold."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

import click
import pytest

from telemark.cli import main as program
from telemark.errors import ExitCode


def test_an_unexpected_error_has_a_code_of_its_own_and_keeps_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, the file that holds the traceback, code 70; a login in a URL is in neither."""

    def broken(**_: object) -> None:
        raise ZeroDivisionError("mqtt://device:secret@127.0.0.1 gave 1/0")

    monkeypatch.setenv("TELEMARK_CACHE", str(tmp_path))
    monkeypatch.setattr(program.telemark, "invoke", lambda context: broken())
    with pytest.raises(SystemExit) as ended:
        program.main(["list"])
    said = capsys.readouterr()
    (file,) = (tmp_path / "errors").iterdir()

    assert ended.value.code == ExitCode.INTERNAL_ERROR == 70
    assert said.out == ""
    assert said.err.splitlines()[0] == "error: internal error: ZeroDivisionError: mqtt://127.0.0.1 gave 1/0"
    assert str(file) in said.err.splitlines()[1]
    assert "ZeroDivisionError" in file.read_text()
    assert "secret" not in file.read_text()


def test_a_closed_pipe_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """`telemark list | head` must not look like a failed threshold."""

    def closed(_: click.Context) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(program.telemark, "invoke", closed)
    monkeypatch.setattr(program.os, "dup2", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        program.main(["list"])

    assert ended.value.code == ExitCode.INTERRUPTED


def test_type_checkers_find_the_hints() -> None:
    """py.typed is part of the package."""
    assert importlib.resources.files("telemark").joinpath("py.typed").is_file()
