"""Runs that one Spark job analyses together.

A job costs a second or two however little it reads, so small runs share one; large runs go alone. Inside a job
a run is its number in the batch, column `r`: it fits into the packed keys where a name would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telemark.pipeline.messages.keys import MOST_RUNS
from telemark.store.layout import RunFolder


@dataclass(frozen=True, slots=True)
class RunBatch:
    """Runs with distinct (campaign, run) names, in order of `r`."""

    runs: tuple[RunFolder, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.runs) <= MOST_RUNS:
            raise ValueError(f"a batch has 1 to {MOST_RUNS} runs, found {len(self.runs)}")

    @property
    def starts(self) -> str:
        """SQL text of the moment the seconds of a row's run count from."""
        return per_run([run.facts.start_ns or 0 for run in self.runs])

    @property
    def earliest(self) -> str:
        """SQL text of the earliest time of a message of a row's run, as well as other hosts' clocks are known."""
        return per_run([(run.facts.start_ns or 0) - run.facts.clock_error_ns for run in self.runs])

    def __iter__(self) -> Iterator[tuple[int, RunFolder]]:
        return iter(enumerate(self.runs))


def per_run(values: Sequence[int]) -> str:
    """SQL text of a number that differs between the runs of a batch, looked up by `r`; a literal where all agree."""
    if len(set(values)) == 1:
        return f"{values[0]}L"
    return f"array({', '.join(f'{value}L' for value in values)})[r]"


def batches(runs: Sequence[RunFolder], weights: Sequence[int], most_weight: int) -> list[RunBatch]:
    """Cut runs into batches of at most MOST_RUNS runs and `most_weight` together; a heavier run goes alone."""
    found: list[RunBatch] = []
    group: list[RunFolder] = []
    total = 0
    for run, weight in zip(runs, weights, strict=True):
        if group and (len(group) == MOST_RUNS or total + weight > most_weight):
            found.append(RunBatch(tuple(group)))
            group, total = [], 0
        group.append(run)
        total += weight
    return [*found, RunBatch(tuple(group))] if group else found
