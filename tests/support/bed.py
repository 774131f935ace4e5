"""Telemark on a bed of test machines: the bed file, and the program on the runner's machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.machines import CHECKOUT, MASTER, RUNNER, Machines

ROLES = (("server",), ("publishers",), ("publishers",), ("subscribers", "consumers"))  # of machines 1 to 4
PROGRAM = "import sys; from telemark.cli.main import main; main(sys.argv[1:])"


def write_bed(
    machines: Machines,
    folder: Path,
    roles: Sequence[Sequence[str]] = ROLES,
    *,
    wait: int = 60,
    more: Mapping[int, str] | None = None,
    archive: Path | None = None,
    **settings: str,
) -> Path:
    """A bed file for the first machines, each with its roles and (by number) more lines."""
    hosts = [
        f'[[hosts]]\nhost = "{machines.address(number)}"\nroles = [{", ".join(map(repr, names))}]\n'
        f"{(more or {}).get(number, '')}\n"
        for number, names in enumerate(roles, 1)
    ]
    chosen = {"spark.executor.memory": "512m", **settings}
    lines = "".join(f'"{name}" = "{value}"\n' for name, value in chosen.items())
    where = f'spark = "{MASTER}"\nrunner = "{RUNNER}"\nscratch = "{folder / "scratch"}"\nwait = {wait}\n'
    where += f'archive = "{archive}"\n' if archive else ""
    path = folder / "bed.toml"
    path.write_text(f"{where}[settings]\n{lines}{''.join(hosts)}")
    return path


def start_telemark(machines: Machines, *arguments: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    """The program on the runner's machine."""
    return subprocess.Popen(
        machines.command(0, [sys.executable, "-c", program, *arguments]),
        env=os.environ | {"PYTHONPATH": str(CHECKOUT / "src")},
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def telemark(machines: Machines, *arguments: str, program: str = PROGRAM) -> tuple[int, str]:
    """Its exit code and what it printed."""
    with start_telemark(machines, *arguments, program=program) as started:
        printed, _ = started.communicate(timeout=550)
        return started.returncode, printed
