"""Wrong input to `telemark run` and `telemark load`: one message, one remedy, one exit code each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.cli.main import main
from telemark.store.documents.run import RunFile


def run_program(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out, said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nosuch"), "suite 'nosuch' is not in the catalogue"),
        (("run", "scalagent/multi-publisher", "--server", "nosuch"), "server is 'nosuch', expected one of loopback"),
        (("run", "scalagent/multi-publisher", "--resume"), "--resume needs --campaign"),
        (("run", "scalagent/multi-publisher", "--pin", "server=999"), "--pin server=999: CPU 999 is not usable here"),
        (("run", "scalagent/multi-publisher", "--option", "x"), "found 'x', expected NAME=VALUE"),
        (("run", "messagesight/FANIN.SEC.Q0.JMS.SINGLE", "--server", "mosquitto"), "the server lacks JMS consumers"),
        (("load", "--rate", "-1", "--payload", "8"), "--payload is 8, expected 32 or more bytes"),
    ],
    ids=["scenario", "server", "resume", "pin", "option", "capability", "load"],
)
def test_wrong_input_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    """Exit code 3, the message on stderr, nothing on stdout, no folder."""
    code, out, err = run_program(capsys, *arguments, "--out", str(tmp_path / "runs"))

    assert code == 3
    assert words in err
    assert out == ""
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 4: this host lacks something."""
    (tmp_path / "file").write_text("no folder")
    code, _, err = run_program(capsys, "load", "--port", "1", "--out", str(tmp_path / "file"))

    assert code == 4
    assert "Not a directory" in err
    assert "choose another --out" in err


def test_a_server_that_cannot_be_reached_leaves_a_closed_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 5; the address is named; as JSON there is one result on stdout and nothing else."""
    arguments = ("load", "--port", "1", "--out", str(tmp_path), "--campaign", "c", "--json")
    code, out, _ = run_program(capsys, *arguments)
    result = json.loads(out)
    facts = RunFile.read(next((tmp_path / "c").glob("*/run.json")).parent)

    assert code == result["exit_code"] == 5
    assert result["runs"][0]["reason"] == facts.reason
    assert "127.0.0.1:1 cannot be reached" in (facts.reason or "")
    assert facts.state == "failed"
