"""The score card on a terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from telemark.report.console import print_score_card
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun


def printed(folder: Path, width: int = 80) -> str:
    """The score card as plain text."""
    output = StringIO()
    print_score_card(folder, Console(file=output, width=width, no_color=True))
    return output.getvalue()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that passes, one that fails, one whose engine was too slow."""
    runs = [FakeRun(server="mosquitto"), FakeRun(server="rabbitmq", lost=12), FakeRun(server="slow", engine_bound=True)]
    return make_campaign(tmp_path_factory.mktemp("runs") / "campaign", runs)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_score_card_fits_its_width_and_shows_every_column(campaign: Path, width: int) -> None:
    """A card that is cut at the edge of a small terminal would hide the verdict."""
    text = printed(campaign, width)

    assert max(len(line) for line in text.splitlines()) <= width
    for column in ("msg/s", "AVG ms", "50P", "95P", "99P", "STDV", "verdict", "lost", "dup", "reord", "CPU", "memory",
                   "headroom", "published", "ratio"):  # fmt: skip
        assert column in text


def test_verdicts_are_words_so_that_they_survive_without_colour(campaign: Path) -> None:
    """Reasons follow the table."""
    text = " ".join(printed(campaign).split())

    assert "3 runs: 1 PASS, 1 FAIL, 1 no verdict" in text
    assert "lost == 0: found 12" in text
    assert "the engine was the limit" in text


def test_the_function_gives_the_campaigns_verdict(campaign: Path) -> None:
    """The runner makes its exit code of it."""
    assert "fail" == print_score_card(campaign, Console(file=StringIO()))


def test_hostile_names_cannot_use_markup_or_escape_codes(tmp_path: Path) -> None:
    """A run folder from a stranger must not paint the terminal."""
    evil = {each: f"{each}\x1b[2J" for each in ("suite", "scenario", "version")}
    run = FakeRun(server="[bold red]evil[/]\x1b[2J", thresholds=("lost == 0 \x1b]0;title\x07",), **evil)
    text = printed(make_campaign(tmp_path / "campaign", [run]), 120)

    assert "\x1b" not in text
    assert "[bold red]evil[/]" in text
