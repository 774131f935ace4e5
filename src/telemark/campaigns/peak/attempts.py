"""Tries as real runs: each is a run of one campaign, analysed like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from telemark.campaigns.campaign import CampaignOptions, run_campaign
from telemark.campaigns.peak.bracket import Try
from telemark.campaigns.peak.find import TryResult
from telemark.campaigns.peak.probe import Probe
from telemark.campaigns.peak.rule import judge_try
from telemark.errors import DataError
from telemark.runner.progress import RunListener
from telemark.store.result_reader import ResultTables

Analyze = Callable[[Path], None]  # one run folder


@dataclass(slots=True)
class Attempts:
    """Makes tries of one case against one server."""

    probe: Probe
    server: str
    out: Path
    campaign: str
    rule: Sequence[str]
    options: CampaignOptions
    listener: RunListener
    analyze: Analyze
    made: int = field(default=0)

    def __call__(self, tried: Try, number: int) -> TryResult:
        """Run, analyse and judge one try. Raises KeyboardInterrupt when the run was interrupted."""
        plan = self.probe.plan(tried, self.made)
        options = replace(self.options, resume=(self.out / self.campaign).exists(), keep_going=True)
        self.made += 1
        outcome = run_campaign(
            [plan], [self.server], self.out, campaign=self.campaign, options=options, listener=self.listener
        )
        if outcome.state == "interrupted":
            raise KeyboardInterrupt
        run = outcome.runs[-1]
        if run.state != "complete":
            return TryResult(False, (f"the run {run.state}: {run.reason}",), None)
        self.analyze(run.folder)
        point = read_point(outcome.folder, run.run)
        return judge_try(point, self.rule, self.probe.quantity, tried.rate, self.probe.case.allow)


def read_point(campaign: Path, run: str) -> Mapping[str, Any]:
    """The run's row of `points`."""
    rows = ResultTables.open(campaign).table("points").to_pylist()
    for row in rows:
        if row["run"] == run:
            return dict(row)
    raise DataError(f"{run} has no row in the results of {campaign.name}", hint=f"run: telemark analyze {campaign}")
