"""JSON lines for programs that watch a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TextIO

from telemark.model.plan import RunPlan
from telemark.runner.progress import Progress, RunOutcome


class MachineLines:
    """One JSON object a line: `is` says what it is (run, progress, note, ended)."""

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        point = {"suite": plan.suite, "scenario": plan.scenario, "point": plan.point, "size": plan.size}
        self._say({"is": "run", "run": run, "server": server, **point, "number": number, "of": of})

    def progress(self, progress: Progress) -> None:
        self._say({"is": "progress", **asdict(progress)})

    def note(self, text: str) -> None:
        self._say({"is": "note", "text": text})

    def run_ended(self, outcome: RunOutcome) -> None:
        self._say(
            {"is": "ended", **asdict(outcome), "folder": str(outcome.folder), "exit_code": int(outcome.exit_code)}
        )

    def _say(self, message: dict[str, Any]) -> None:
        print(json.dumps(message), file=self._output, flush=True)
