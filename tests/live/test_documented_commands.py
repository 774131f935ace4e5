"""README and guides are executable: every command block runs, in order, and ends with the exit code its text promises.

The commands run as they are written, in a network of their own with the reader's servers on the ports the text names.
Only sizes are smaller (`tests/support/short_telemark.py`). What a reader must bring along is said at the block:
```` ```sh needs: REASON ````; of such blocks `tests/unit/test_docs.py` checks options and names.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import machines
from tests.support.documents import PAGES, ROOT, Command, commands_of
from tests.support.requirements import require, require_program, require_server
from tests.support.short_telemark import VARIABLE
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.timeout(900)]

LONG_PAGES = ("jms-consumers.md", "size-a-deployment.md")
LONG_COMMANDS = ("telemark calibrate", "telemark search")  # a minute and more, whatever their size
# What the text promises: the code of each verdict (docs/reference/command-line.md).
VERDICTS = {"PASS": 0, "FAIL": 1, "no verdict": 8}
# `telemark run`, `load` and `search` say which; these may say either without a verdict on a run.
OTHERWISE = {"telemark doctor": {0, 4}, "telemark compare": {0, 1, 8}, "telemark search": {0, 8}}
MINE = 'format = 1\nname = "mine"\n[options]\nhost = ""\n[endpoints]\ndevices = "mqtt://{host}:1883"\n'


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ran."""

    command: Command
    code: int
    output: str
    errors: str


def pages(*, long: bool) -> list[Path]:
    """Pages with commands that run here."""
    chosen = [page for page in PAGES if (page.name in LONG_PAGES) == long]
    return [page for page in chosen if any(not command.needs for command in commands_of(page))]


def short_commands(page: Path) -> list[Command]:
    """Those that run here and take no minutes."""
    return [command for command in commands_of(page) if not command.needs and command.name not in LONG_COMMANDS]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The reader's folder: what the guides tell to write or to have."""
    require(not machines.why_not(), f"needs a network of its own: {machines.why_not()}")
    require_program("mosquitto")
    require_server("artemis")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "my-scenario.toml").write_text((ROOT / "docs/guides/my-scenario.toml").read_text())
    (tmp_path / "mine.toml").write_text(MINE)
    program = tmp_path / "bin" / "telemark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.support.short_telemark "$@"\n')
    program.chmod(0o755)
    return tmp_path


PREPARE = """
ip link set lo up
{ cat /etc/hosts; echo '127.0.0.1 broker.example'; } > hosts && mount --bind hosts /etc/hosts
telemark loopback --port 1883 --tls-port 8883 --certificates certificates --json > first.ready &
telemark loopback --port 1884 --json > second.ready &
for try in $(seq WAIT); do [ -s first.ready ] && [ -s second.ready ] && break; sleep 0.1; done
cp certificates/ca.crt ca.pem
make() { command make --dry-run -C ROOT "$@"; }  # tests/live/test_bench.py runs `make bench`
"""


def script_for(commands: list[Command]) -> str:
    """A shell session of the page: variables that one command exports are there for the next."""
    parts = [PREPARE.replace("WAIT", str(int(PATIENCE_S * 10))).replace("ROOT", str(ROOT))]
    for number, command in enumerate(commands):
        text = command.text.replace("<campaign>", "$(ls -t runs | head -n 1)")
        parts.append(f"{{ {text}\n}} > {number}.out 2> {number}.err; echo $? > {number}.code\n")
    return "".join(parts)


def run_all(commands: list[Command], desk: Path, **environment: str) -> list[Ended]:
    """Run the commands one after the other, in a network, a process tree and mounts of their own."""
    assert all(command.is_ours for command in commands)
    (desk / "session.sh").write_text(script_for(commands))
    path = f"{desk / 'bin'}:{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
    ours = {"PATH": path, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "COLUMNS": "1000", VARIABLE: "1"}
    alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    session, environment = [*alone, "bash", "session.sh"], os.environ | ours | environment
    done = subprocess.run(session, cwd=desk, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [
        [(desk / f"{number}.{kind}").read_text() for kind in ("code", "out", "err")] for number in range(len(commands))
    ]
    return [Ended(command, int(code), *words) for command, (code, *words) in zip(commands, said, strict=True)]


def promised(ended: Ended) -> set[int]:
    """The codes that the command's own words allow."""
    name = ended.command.name
    verdict = re.match("|".join(VERDICTS), ended.output)
    if name in ("telemark run", "telemark load"):
        return {VERDICTS[verdict.group()]} if verdict else set(VERDICTS.values())
    return OTHERWISE.get(name, {0})


def failed_rules(ended: Ended) -> list[str]:
    """Rules that a run missed, except those on time and processors: other programs use this machine as well."""
    lines = re.findall(r"^  FAIL .*", ended.output, re.MULTILINE)
    return [line for line in lines if not re.search(r"p99|latency|_us|busy", line)]


def check(commands: list[Command], desk: Path, **environment: str) -> None:
    for ended in run_all(commands, desk, **environment):
        assert ended.code in promised(ended), ended
        assert [] == failed_rules(ended), ended


@pytest.mark.parametrize("page", pages(long=False), ids=lambda page: page.name)
def test_every_command_of_the_page_ends_as_its_text_says(page: Path, desk: Path) -> None:
    """The README within five minutes; a guide with the reader's server."""
    check(short_commands(page), desk)


@pytest.mark.long
@pytest.mark.parametrize("page", pages(long=True), ids=lambda page: page.name)
def test_every_command_of_a_longer_page_ends_as_its_text_says(page: Path, desk: Path) -> None:
    check(short_commands(page), desk)


@pytest.mark.long
def test_long_commands_end_as_their_text_says(desk: Path) -> None:
    """In a cache of their own: a calibration of this busy host must not stay."""
    found = [command for page in PAGES for command in commands_of(page) if command.name in LONG_COMMANDS]

    check(found, desk, TELEMARK_CACHE=str(desk / "cache"))
