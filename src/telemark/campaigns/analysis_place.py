"""Where a campaign is analysed: on the Spark of its bed when all hosts can read its folder, else on this host."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from telemark.bed.bed import Bed
from telemark.bed.bed_file import BedFile
from telemark.bed.shared_folder import blind_hosts
from telemark.bed.spark_settings import executor_hosts, python_on_hosts, settings_for_bed
from telemark.errors import RequirementError

if TYPE_CHECKING:
    from telemark.pipeline import AnalysisReport

Tell = Callable[[str], None]  # a line for people


@dataclass(frozen=True, slots=True)
class AnalysisPlace:
    """A Spark, and why it is that one."""

    bed: BedFile | None  # None: this host
    reason: str


def choose_place(bed: Bed, folder: Path) -> AnalysisPlace:
    """Decide while the hosts can be asked."""
    if bed.file.spark.startswith("local"):
        return AnalysisPlace(None, f"the bed's Spark is {bed.file.spark}")
    try:
        blind = blind_hosts(bed.lines, folder)
    except OSError as error:
        return AnalysisPlace(None, f"{folder}: {error.strerror}")
    if blind:
        return AnalysisPlace(None, f"{', '.join(blind)} cannot read {folder.absolute()}")
    return AnalysisPlace(bed.file, f"all hosts of the bed can read {folder.absolute()}")


def analyze_campaign(folder: Path, place: AnalysisPlace | None = None, tell: Tell = lambda _: None) -> None:
    """Make the result tables. Spark is imported only here: a command that does not need it must not pay for it."""
    from telemark.pipeline import analyze  # noqa: PLC0415

    reason = place.reason if place else None
    if place is not None and place.bed is not None:
        tell(f"analyzing on {place.bed.spark}: {place.reason}")
        reason = _analyze_on_bed(folder, place.bed)
        if reason is None:
            return
    tell(f"analyzing on this host: {reason}" if reason else "analyzing ...")
    analyze([folder])


def _analyze_on_bed(folder: Path, bed: BedFile) -> str | None:
    """Make the result tables on the bed's Spark. Returns why they could not be made there, when they could not."""
    from telemark.pipeline import analyze  # noqa: PLC0415
    from telemark.pipeline.spark.session import start_session  # noqa: PLC0415

    settings = settings_for_bed(bed.spark, bed.runner, len(bed.hosts), bed.archive, bed.settings)
    try:
        session = start_session(bed.spark, settings=settings)
    except RequirementError as error:
        return error.message
    try:
        session.sparkContext.pythonExec = python_on_hosts(bed.python, bed.archive)
        return _unfit(session.sparkContext, bed) or _first_problem(analyze([folder], master=bed.spark))
    finally:
        session.stop()  # its executors would keep the hosts' memory


def _unfit(context: Any, bed: BedFile) -> str | None:
    """Why the executors that Spark gives cannot be used: none comes, or one is on a host that was not asked."""
    deadline = time.monotonic() + bed.wait
    while not (hosts := executor_hosts(context, bed.runner)):
        if time.monotonic() > deadline:
            return f"{bed.spark} gave no executor in {bed.wait:.0f} s"
        time.sleep(0.1)
    strangers = sorted(hosts - {host.host for host in bed.hosts})
    return f"{bed.spark} has executors on {', '.join(strangers)}, outside of the bed" if strangers else None


def _first_problem(report: AnalysisReport) -> str | None:
    """A run that has no results; this host may fare better with it, or says the same."""
    return next((problem.message for problem in report.problems.values()), None)
