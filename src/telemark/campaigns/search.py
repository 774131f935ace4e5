"""What `telemark search` does: for each point of a case the highest rate, or number of devices, that a server holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from telemark.bed.bed import open_bed
from telemark.campaigns.ahead import AnalysisAhead
from telemark.campaigns.analysis_place import Tell, analyze_campaign
from telemark.campaigns.campaign import CampaignOptions, local_folder, place_fingerprint, stored_calibration
from telemark.campaigns.peak.attempts import Attempts
from telemark.campaigns.peak.bracket import Bracket, Limits, Stage
from telemark.campaigns.peak.find import Peak, SearchResult, find_peak
from telemark.campaigns.peak.forecast import Forecast
from telemark.campaigns.peak.probe import Probe
from telemark.campaigns.peak.rule import rule_for
from telemark.campaigns.peak.scale import SearchCase
from telemark.errors import ConfigError
from telemark.runner.calibrate.record import for_run
from telemark.runner.progress import RunListener
from telemark.store.documents.campaign import CAMPAIGN_FILE
from telemark.store.documents.search import write_searches
from telemark.store.layout import campaign_name
from telemark.verdicts import parse_thresholds

UNLIMITED = 5_000_000.0  # without a calibration or a limit of the user: above anything one host can do


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search; the defaults are those of the command line."""

    required: tuple[str, ...] = ()  # thresholds instead of the case's
    start_rate: float | None = None  # of what is searched for; None: half of the case's planned rate
    max_rate: float | None = None  # None: the engine's calibrated ceiling
    resolution: float = 0.05  # how near the answer must come to the first failure
    repeat: int = 1
    runs: CampaignOptions = field(default_factory=CampaignOptions)


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The answers of a search, one for each point."""

    folder: Path
    results: tuple[SearchResult, ...]

    @property
    def found(self) -> bool:
        """Whether every search confirmed a peak."""
        return all(peak.rate is not None for result in self.results for peak in result.peaks)

    @property
    def interrupted(self) -> bool:
        """Whether it was cut short: the tries made until then are saved, what would have followed is missing."""
        return any(result.interrupted for result in self.results)


def search(  # noqa: PLR0913 - keywords, each another decision of the caller
    cases: Sequence[SearchCase],
    server: str,
    out: Path,
    *,
    campaign: str | None,
    options: SearchOptions,
    listener: RunListener,
    tell: Tell,
) -> SearchOutcome:
    """Search for the peak of every case. Answers are saved in the campaign's folder as soon as there is one.

    Raises:
        ConfigError: a plan has no rate to search for, an option cannot be used, or the campaign exists.
    """
    if not cases:
        raise ConfigError("nothing to search for: the scenario has no point at this size")
    parse_thresholds(options.required)
    for case in cases:
        Probe(case).check()
    out = local_folder(out)
    name = campaign or campaign_name(f"search-{cases[0].plan.suite}")
    if (out / name / CAMPAIGN_FILE).exists():
        raise ConfigError(
            f"campaign {name} exists in {out}", hint="a search begins anew each time: choose another --campaign"
        )
    results: list[SearchResult] = []
    with ExitStack() as held:
        if (bed := options.runs.bed) is not None:  # once for all tries
            opened = held.enter_context(open_bed(bed, name, listener.note))
            options = replace(options, runs=replace(options.runs, opened=opened))
        searcher = _Searcher(server, out, name, options, listener, tell)
        for case in cases:
            results.append(searcher.search(case))
            write_searches(out / name, [result.record() for result in results])
            if results[-1].interrupted:
                break
    return SearchOutcome(out / name, tuple(results))


@dataclass(frozen=True, slots=True)
class _Searcher:
    """Everything the searches of one command have in common."""

    server: str
    out: Path
    campaign: str
    options: SearchOptions
    listener: RunListener
    tell: Tell

    def search(self, case: SearchCase) -> SearchResult:
        probe, plan = Probe(case), case.plan
        rule = rule_for(plan.thresholds, probe.quantity, self.options.required)
        limits = self._limits(probe)
        self.tell(f"{plan.suite}/{plan.scenario} {plan.point}".rstrip())
        self.tell(f"rule: {', '.join(rule) or 'none'}; and nothing falls behind")
        forecast = Forecast(probe.seconds(Stage.BISECT))
        self.tell(f"{forecast.sentence(Bracket(limits))} for each search; this is told again after every try")
        attempts = Attempts(
            probe,
            self.server,
            self.out,
            self.campaign,
            rule,
            replace(self.options.runs, rate_control=False),  # a search asks for its own rates
            AnalysisAhead(self.listener),
            analyze_campaign,
        )
        peaks: list[Peak] = []
        while len(peaks) < self.options.repeat and not (peaks and peaks[-1].interrupted):
            peaks.append(find_peak(limits, attempts, self.tell, forecast))
        return SearchResult(
            plan.suite, plan.scenario, plan.point, plan.size, self.server, probe.quantity, rule, tuple(peaks)
        )

    def _limits(self, probe: Probe) -> Limits:
        options = self.options
        bed = options.runs.opened
        calibration = for_run(probe.case, place_fingerprint(bed), stored_calibration(bed))
        known = probe.ceiling(calibration["connect_ceiling" if probe.quantity == "connections" else "ceiling_rate"])
        if known is None and options.max_rate is None:
            self.tell(f"warning: the engine's own ceiling is not known: {calibration['problem']} (telemark calibrate)")
        ceiling = options.max_rate or known or UNLIMITED
        start = min(options.start_rate or probe.start, ceiling)
        if start <= 0 or not 0 < options.resolution < 1:
            raise ConfigError(
                f"--start-rate {start:g}, --resolution {options.resolution:g}: rates must be above 0, "
                "the resolution between 0 and 1"
            )
        return Limits(start, ceiling, resolution=options.resolution, step=probe.step)
