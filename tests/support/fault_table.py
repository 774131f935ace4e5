"""Writes docs/faults.md from the outcomes that tests/faults noted.

TELEMARK_FAULT_TABLE=outcomes .venv/bin/python -m pytest tests/faults -m ''
.venv/bin/python -m tests.support.fault_table outcomes docs/faults.md
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ACCIDENTS = {
    "runner_killed": "`kill -9` of the runner",
    "engine_killed": "`kill -9` of the engine process",
    "server_killed": "`kill -9` of the server",
    "consumer_killed": "`kill -9` of the consumers' JVM",
    "disk_full": "the disk is full",
    "folder_read_only": "the folder becomes read-only",
    "out_of_memory": "the engine's cgroup has no memory left",
    "engine_frozen": "SIGSTOP of the engine for 5 s",
    "wall_clock_stepped": "the wall clock goes back an hour",
}
PHASES = ("connect", "hold", "warmup", "measure", "drain", "stop")
TEXT = """\
# Faults on purpose

Every phase of a run meets every kind of accident, for real: `tests/faults`. In every cell these were checked, too:

- no process is left, neither engine nor server nor consumer;
- every record file with a final name can be read;
- `--resume` completes the campaign: each of its two runs is complete once, and one that was complete is left as it was.

A cell gives the exit code of the program and the state in run.json. A runner that was killed cannot write a state, nor
can one whose folder is read-only: run.json still says `running`, and readers call such a run cut off. A frozen engine
and a stepped clock end nothing: the run is complete, and its messages tell the delay.

{table}

## Reasons that run.json gives
{reasons}

`make test` runs one cell of each row, `make test-long` all. The table is made by `tests/support/fault_table.py` from
what the tests noted. A test notes a cell only when every check has passed: the table does not show attempts that
failed, and of several rounds the last that passed counts. The power cut has a test of its own,
`tests/faults/test_power_cut.py`: at 50 random moments of a campaign the disk forgets what was not synced, and what is
marked complete is whole.
"""


def table(outcomes: dict[tuple[str, str], dict[str, Any]]) -> str:
    """One row for each accident, one column for each phase."""
    lines = [f"| accident | {' | '.join(PHASES)} |", f"|---|{'---|' * len(PHASES)}"]
    for accident, words in ACCIDENTS.items():
        found = [outcomes.get((accident, phase)) for phase in PHASES]
        lines.append(f"| {words} | {' | '.join(map(cell, found))} |")
    return "\n".join(lines)


def cell(outcome: dict[str, Any] | None) -> str:
    """Exit code and state; an accident that came after its phase proves nothing about it."""
    if outcome is None:
        return "**not run**"
    if outcome["struck_in"] not in (None, outcome["phase"]):
        return f"**missed: {outcome['struck_in']}**"
    return f"{outcome['code']} {outcome['state']}"


def reasons(outcomes: dict[tuple[str, str], dict[str, Any]]) -> str:
    """What each accident left as the reason, each wording once."""
    lines = []
    for accident, words in ACCIDENTS.items():
        found = {outcomes[key]["reason"] for key in outcomes if key[0] == accident and outcomes[key]["reason"]}
        told = sorted(re.sub(r"/\S*/|: Picked up.*", "", reason) for reason in found)
        lines += [f"- {words}: {reason}" for reason in told]
    return "\n".join(dict.fromkeys(lines))


def main() -> None:
    """The last outcome of a cell counts."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    outcomes = {(row["fault"], row["phase"]): row for row in rows}
    Path(sys.argv[2]).write_text(TEXT.format(table=table(outcomes), reasons=reasons(outcomes)))


if __name__ == "__main__":
    main()
