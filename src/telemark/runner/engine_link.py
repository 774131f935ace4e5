"""The runner's end of the line to one engine process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from telemark.host.lines import LineProcess, Start
from telemark.model.plan import EnginePlan

LOGS = "logs"  # folder of the run: standard error of engine processes


class EngineLink(LineProcess):
    """One engine process: it is handed its plan at once, and begins to connect."""

    def __init__(  # noqa: PLR0913 - keywords, each another decision of the caller
        self,
        plan: EnginePlan,
        folder: Path,
        command: Sequence[str],
        cpus: Sequence[int],
        *,
        environment: Mapping[str, str] | None = None,
        start: Start | None = None,
    ) -> None:
        super().__init__(command, folder / LOGS / f"engine-{plan.process:03d}.log", environment, start=start)
        self.process = plan.process
        self.order({"plan": plan.as_dict(), "folder": str(folder.absolute()), "cpus": list(cpus)})

    def begin(self, start_ns: int) -> None:
        """Tell it the common start, on the runner's clock."""
        self.order({"do": "begin", "start_ns": start_ns})

    def set_rate(self, rate: float, at_ns: int) -> None:
        """Its share of a new rate, from a time of the runner's clock on."""
        self.order({"do": "set_rate", "rate": rate, "at_ns": at_ns})

    @property
    def status(self) -> dict[str, Any]:
        """Its newest counts; empty before the first."""
        return self.latest.get("status", {})

    @property
    def finished(self) -> bool:
        """It has closed its records."""
        return "finished" in self.latest

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"engine process {self.process}"

    @property
    def failure(self) -> dict[str, Any] | None:
        """Why it cannot go on, in its own words."""
        return self.latest.get("failed")
