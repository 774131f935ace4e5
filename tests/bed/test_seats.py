"""Which task serves which host, and what happens when Spark put its tasks elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from telemark.bed import silence, stage_process
from telemark.bed.seats import agent_of, without_task
from telemark.bed.silence import SILENCE_S, Silence
from telemark.bed.stage_process import SparkStage, StageOrder, Task

NAMES = ("a", "b")


def served(addresses: Sequence[str], names: Sequence[str] = NAMES) -> list[str | None]:
    """What every task of a stage does."""
    return [agent_of(task, addresses, names) for task in range(len(addresses))]


def test_every_host_of_the_bed_has_one_agent() -> None:
    """Tasks on other hosts, and second ones on the same, have nothing to do."""
    assert served(["c", "b", "b", "a"]) == [None, "b", None, "a"]
    assert without_task(["c", "b", "b", "a"], NAMES) == []


def test_a_host_without_a_task_is_named_by_all() -> None:
    """A fourth executor registered late and took the task of a host that the bed needs."""
    assert without_task(["b", "c", "d"], NAMES) == ["a"]


def test_a_bed_of_one_host_may_call_it_as_it_likes() -> None:
    """Spark in local mode says localhost. With several tasks the name decides."""
    assert without_task(["localhost"], ["this"]) == []
    assert served(["localhost"], ["this"]) == ["this"]
    assert without_task(["x", "y"], ["this"]) == ["this"]


class Submitted(SparkStage):
    """A stage whose submissions end as told."""

    def __init__(self, missing: Sequence[list[str]]) -> None:
        self.left = list(missing)

    def _submit(self, task: Task, names: list[str]) -> list[str]:
        return self.left.pop(0) if self.left else ["a", "a"]


def test_a_stage_is_submitted_again_until_every_host_has_a_task() -> None:
    """Spark's executors were counted too early."""
    submitted = Submitted([["a", "a"], ["a"], []])
    assert submitted._serve(iter, ["a"]) is None
    assert submitted.left == []


def test_it_is_not_submitted_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may never give that host a task."""
    monkeypatch.setattr(stage_process, "RESEAT_S", 0.0)
    assert Submitted([])._serve(iter, ["a"]) == "Spark put no task on a in 0 s"


class Registering(SparkStage):
    """A stage whose executors register as told; the last set stays."""

    def __init__(self, executors: Sequence[set[str]], elsewhere: Sequence[set[str]] = ()) -> None:
        self._order = StageOrder("spark://x", "10.0.0.1", ["a", "b"], {}, "python", None, 0.3)
        self._wide = False
        self.sets, self.elsewhere = list(executors), list(elsewhere)

    def _executors(self) -> set[str]:
        return self.sets.pop(0) if len(self.sets) > 1 else self.sets[0]

    def _slots(self) -> int:
        return 2

    def _ask_for_all(self) -> None:
        self._wide = True
        self.sets = self.elsewhere


def test_slots_that_are_counted_before_their_executor_is_listed_are_no_reason_to_ask_for_more() -> None:
    """Spark lists an executor a moment later; starting anew would cost as long again."""
    registering = Registering([set(), {"b"}, {"b"}, {"a", "b"}])
    assert registering.wait_for_hosts() == (set(), {"a", "b"})
    assert not registering._wide


def test_slots_on_other_hosts_make_it_ask_for_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large cluster gave other hosts than those of the bed."""
    monkeypatch.setattr(stage_process, "ELSEWHERE_S", 0.0)
    registering = Registering([{"b", "c"}], [set(), {"b", "c"}, {"a", "b", "c"}])
    assert registering.wait_for_hosts() == (set(), {"a", "b", "c"})
    assert registering._wide


def test_a_host_that_never_comes_is_named_with_those_that_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time the bed file gives."""
    monkeypatch.setattr(stage_process, "ELSEWHERE_S", 0.0)
    assert Registering([{"b", "c"}], [{"b", "c"}]).wait_for_hosts() == ({"a"}, {"b", "c"})


class Clock:
    """A time that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr(silence.time, "monotonic", lambda: self.now)


def test_silence_is_counted_from_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats come every half second."""
    clock = Clock(monkeypatch)
    line = Silence()
    clock.now += 0.4
    line.heard()
    left = []
    for _ in range(5):
        clock.now += 0.5
        left.append(line.left_s())
    assert left == pytest.approx([2.0, 1.5, 1.0, 0.5, 0.0])


def test_who_was_held_up_does_not_blame_the_other_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stood still for a minute reads what is waiting before it judges."""
    clock = Clock(monkeypatch)
    line = Silence()
    clock.now += 60
    assert 0 < line.left_s() < SILENCE_S
