"""`telemark report`: forms, files, exit codes; and the trace a running campaign leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from telemark.cli.report import command
from telemark.errors import ConfigError, ExitCode
from telemark.report.build import build_report
from telemark.report.console import render
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run."""
    return make_campaign(tmp_path_factory.mktemp("runs") / "campaign", [FakeRun()])


def invoke(*arguments: object) -> Result:
    """Run the command as the program does."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


def test_without_a_file_the_score_card_goes_to_stdout(campaign: Path) -> None:
    """Data to stdout, talk to stderr."""
    result = invoke(campaign)

    assert ExitCode.PASSED == result.return_value
    assert "1 run: 1 PASS" in result.stdout


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [
        ("html", "<!doctype html>"),
        ("md", "## campaign"),
        ("json", "{"),
        ("xml", "<?xml"),
        ("txt", "PASS  campaign, 1 run"),
    ],
)
def test_the_ending_of_the_file_chooses_the_form(campaign: Path, tmp_path: Path, ending: str, beginning: str) -> None:
    """No option to remember."""
    file = tmp_path / f"report.{ending}"
    result = invoke(campaign, "-o", file)

    assert ExitCode.PASSED == result.return_value
    assert file.read_text().lstrip().startswith(beginning)
    assert "" == result.stdout
    assert "wrote" in result.stderr


def test_a_form_can_be_named_and_goes_to_stdout_without_a_file(campaign: Path) -> None:
    """For pipes."""
    assert "telemark-score-card" == json.loads(invoke(campaign, "--format", "json").stdout)["format"]


def test_an_unknown_ending_is_refused_with_the_known_ones(campaign: Path, tmp_path: Path) -> None:
    """A report in a form nobody asked for helps nobody."""
    error = invoke(campaign, "-o", tmp_path / "report.pdf").exception

    assert isinstance(error, ConfigError)
    assert ".html" in error.message


def test_a_file_that_cannot_be_written_has_a_clear_message(campaign: Path, tmp_path: Path) -> None:
    """The folder does not exist."""
    error = invoke(campaign, "-o", tmp_path / "nowhere" / "report.html").exception

    assert isinstance(error, ConfigError)
    assert "cannot be written" in error.message


def test_unreadable_folders_are_told_and_the_code_says_so(campaign: Path, tmp_path: Path) -> None:
    """The good campaign is in the report all the same."""
    file = tmp_path / "card.json"
    result = invoke(campaign, tmp_path / "nowhere", "-o", file)

    assert ExitCode.BAD_DATA == result.return_value
    assert "not shown: nowhere" in result.stderr
    assert 1 == len(json.loads(file.read_text())["campaigns"])


def test_plain_text_carries_no_escape_codes(campaign: Path) -> None:
    """A file is no terminal."""
    assert "\x1b" not in render(build_report([campaign]))
