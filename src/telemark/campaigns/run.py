"""What `telemark run` and `telemark load` do: make the runs of a campaign, then analyse them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from telemark.campaigns.ahead import AnalysisAhead
from telemark.campaigns.analysis_place import Tell, analyze_campaign
from telemark.campaigns.campaign import CampaignOptions, CampaignOutcome, run_campaign
from telemark.campaigns.hints import calibration_hint
from telemark.host.facts import host_facts
from telemark.model.plan import RunPlan
from telemark.runner.calibrate.record import for_run, load_for_runs
from telemark.runner.progress import RunListener


@dataclass(frozen=True, slots=True)
class Finished:
    """A campaign whose runs are made, and analysed where there was something to analyse."""

    outcome: CampaignOutcome
    analysed: bool


def run(  # noqa: PLR0913 - keywords, each another decision of the caller
    points: Sequence[RunPlan],
    servers: Sequence[str],
    out: Path,
    *,
    campaign: str | None,
    options: CampaignOptions,
    listener: RunListener,
    analyze: bool,
    tell: Tell,
) -> Finished:
    """Run every point on every server and make the result tables.

    An interrupted campaign is not analysed: the user wants to stop now.
    """
    on_bed = options.bed is not None and not options.bed.spark.startswith("local")  # perhaps: the hosts are asked
    ahead = AnalysisAhead(listener) if analyze and not on_bed else listener
    outcome = run_campaign(points, servers, out, campaign=campaign, options=options, listener=ahead)
    if options.bed is None and (hint := _calibration_hint(points[0])) is not None:
        tell(hint)
    made = any(run.state == "complete" for run in outcome.runs) or not outcome.runs  # all were there when it resumed
    wanted = analyze and made and outcome.state != "interrupted"
    if wanted:
        analyze_campaign(outcome.folder, outcome.analysis, tell)
    return Finished(outcome, wanted)


def _calibration_hint(plan: RunPlan) -> str | None:
    fingerprint = str(host_facts()["fingerprint"])
    return calibration_hint(for_run(plan, fingerprint, load_for_runs())["problem"], fingerprint)
