"""Runs the calibration and keeps its figures."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from telemark import __version__
from telemark.bed.bed import open_bed
from telemark.bed.bed_file import BedFile
from telemark.campaigns.ahead import AnalysisAhead
from telemark.campaigns.analysis_place import Tell, analyze_campaign
from telemark.campaigns.calibration_plans import Case, all_cases
from telemark.campaigns.campaign import CampaignOptions, CampaignOutcome, place_fingerprint, run_campaign
from telemark.errors import EngineError
from telemark.host.facts import host_facts
from telemark.runner.calibrate.record import figure_from
from telemark.runner.progress import RunListener
from telemark.store.documents.calibration import Calibration, calibration_path, read_calibration
from telemark.store.documents.reading import required
from telemark.store.result_reader import ResultTables

SERVER = "loopback"
CAMPAIGN = "calibration"


def calibrate(listener: RunListener, tell: Tell, bed: BedFile | None = None) -> Calibration:
    """Measure every case, on this host or a bed, and keep the figures for later runs there. Run folders are scratch.

    Raises:
        EngineError: a run did not complete. KeyboardInterrupt: it was interrupted.
    """
    with ExitStack() as held:
        opened = held.enter_context(open_bed(bed, CAMPAIGN, tell)) if bed else None
        cases = all_cases()
        points = _measure(cases, CampaignOptions(keep_going=False, opened=opened), listener, tell)
        calibration = Calibration(
            telemark_version=__version__,
            fingerprint=place_fingerprint(opened),
            host=f"a bed of {len(bed.hosts)}" if bed else str(host_facts()["name"]),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            figures=tuple(figure_from(_facts(case), points.get(case.plan.scenario, {})) for case in cases),
        )
    tell(f"stored in {calibration.save(calibration_path(calibration.fingerprint if bed else None))}")
    return calibration


def stored_for(bed: BedFile, tell: Tell) -> Calibration | None:
    """The calibration that was made on such a bed before."""
    with open_bed(bed, CAMPAIGN, tell) as opened:
        return required(read_calibration(calibration_path(opened.fingerprint)))


def _measure(
    cases: Sequence[Case], options: CampaignOptions, listener: RunListener, tell: Tell
) -> dict[str, dict[str, Any]]:
    """The row of `points` of every case, by its scenario."""
    with tempfile.TemporaryDirectory(prefix="telemark-calibration-") as scratch:
        plans = [case.plan for case in cases]
        outcome = run_campaign(
            plans, [SERVER], Path(scratch), campaign=CAMPAIGN, options=options, listener=AnalysisAhead(listener)
        )
        _refuse_incomplete(outcome)
        tell("analyzing ...")
        analyze_campaign(outcome.folder)
        return {row["scenario"]: row for row in ResultTables.open(outcome.folder).table("points").to_pylist()}


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
