"""The documentation says what the program does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from telemark.catalog import load, plan_points
from telemark.cli.main import COMMANDS, telemark
from tests.support import documents

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WRITTEN_BY_HAND = [page for page in PAGES if page.parent.name != "reference"]


def commands_in(page: Path) -> list[list[str]]:
    """Every `telemark ...` line of the page's code blocks, as words."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    texts = [line.strip() for line in lines if line.strip().startswith(("telemark ", ".venv/bin/telemark "))]
    return [shlex.split(re.sub(r"[<>]", "", text), comments=True)[1:] for text in texts]


def test_the_generated_reference_is_up_to_date() -> None:
    """Run `make docs` when this fails."""
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=lambda page: page.name)
def test_every_command_in_the_docs_parses(page: Path) -> None:
    """Options and commands named in the text exist."""
    context = click.Context(telemark)
    for words in commands_in(page):
        command = telemark.get_command(context, words[0])
        assert command is not None, words
        if isinstance(command, click.Group) and len(words) > 1:
            command = command.get_command(context, words[1])
            assert command is not None, words
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, words


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=lambda page: page.name)
def test_every_case_named_in_a_command_exists(page: Path) -> None:
    known = {name for scenario in load().scenarios() for name in (scenario.id, scenario.suite)}
    named = [words[1] for words in commands_in(page) if words[0] in ("run", "search", "plan", "show")]

    assert [] == [name for name in named if name not in known and not name.endswith(".toml")]


@pytest.mark.parametrize("page", documents.PAGES, ids=lambda page: page.name)
def test_blocks_that_are_run_hold_our_own_commands_only(page: Path) -> None:
    """tests/live/test_documented_commands.py runs them: what changes the host must be marked with its needs."""
    strange = [command.text for command in documents.commands_of(page) if not command.needs and not command.is_ours]

    assert [] == strange


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_command_explains_itself() -> None:
    context = click.Context(telemark)
    commands = {name: telemark.get_command(context, name) for name in COMMANDS}

    assert [name for name, command in commands.items() if command is None or not command.help] == []


def test_the_example_scenario_of_the_guide_plans_at_every_size() -> None:
    catalog = load([ROOT / "docs" / "guides" / "my-scenario.toml"])
    scenario = catalog.find("my-company/sensors")

    assert [2, 2, 1] == [len(plan_points(scenario, size, {})) for size in ("quick", "laptop", "published")]
