"""Runs the calibration and keeps its figures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from telemark import __version__
from telemark.errors import EngineError
from telemark.runner.calibrate.plans import Case, all_cases
from telemark.runner.calibrate.record import Calibration, figure_from
from telemark.runner.campaign import CampaignOptions, CampaignOutcome, run_campaign
from telemark.runner.facts import host_facts
from telemark.runner.progress import RunListener
from telemark.store.result_reader import ResultTables

SERVER = "loopback"
CAMPAIGN = "calibration"
Analyze = Callable[[Path], None]


def calibrate(listener: RunListener, analyze: Analyze) -> Calibration:
    """Measure every case. The run folders are scratch: what is kept are the figures.

    Raises:
        EngineError: a run did not complete. KeyboardInterrupt: it was interrupted.
    """
    cases = all_cases()
    with tempfile.TemporaryDirectory(prefix="telemark-calibration-") as scratch:
        options = CampaignOptions(keep_going=False)
        plans = [case.plan for case in cases]
        outcome = run_campaign(plans, [SERVER], Path(scratch), campaign=CAMPAIGN, options=options, listener=listener)
        _refuse_incomplete(outcome)
        analyze(outcome.folder)
        points = {row["scenario"]: row for row in ResultTables.open(outcome.folder).table("points").to_pylist()}
    host = host_facts()
    return Calibration(
        telemark_version=__version__,
        fingerprint=str(host["fingerprint"]),
        host=str(host["name"]),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        figures=tuple(figure_from(_facts(case), points.get(case.plan.scenario, {})) for case in cases),
    )


def _facts(case: Case) -> dict[str, object]:
    facts = asdict(case)
    facts.pop("plan")
    return facts


def _refuse_incomplete(outcome: CampaignOutcome) -> None:
    if outcome.state == "interrupted":
        raise KeyboardInterrupt
    for run in outcome.runs:
        if run.state != "complete":
            raise EngineError(f"calibration: {run.run} {run.state}: {run.reason}", hint=run.hint)
