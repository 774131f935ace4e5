"""Numbers of a running run in words; what is not known is a dash."""

from __future__ import annotations

from telemark.model.plan import RunPlan
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress

UNKNOWN = "-"


def run(plan: RunPlan) -> str:
    """What is measured, with its size if it has one."""
    size = f" ({plan.size})" if plan.size else ""
    return f"{plan.suite}/{plan.scenario} {plan.point}{size}"


def count(value: float | None) -> str:
    """12,345"""
    return UNKNOWN if value is None else f"{value:,.0f}"


def microseconds(value: float | None) -> str:
    """Three digits with a unit that fits: 85 us, 1.23 ms, 4.5 s."""
    if value is None:
        return UNKNOWN
    if value < 1000:
        return f"{value:.0f} us"
    return f"{value / 1000:.2f} ms" if value < 1_000_000 else f"{value / 1_000_000:.2f} s"


def cores(value: float | None) -> str:
    """CPU as cores."""
    return UNKNOWN if value is None else f"{value:.2f} cores"


def memory(value: float | None) -> str:
    """Memory in MiB."""
    return UNKNOWN if value is None else f"{value / (1 << 20):,.0f} MiB"


def seconds(value: float | None) -> str:
    """Whole seconds as m:ss."""
    return UNKNOWN if value is None else f"{int(value) // 60}:{int(value) % 60:02d}"


def rate(progress: Progress, per_second: float) -> str:
    """Only while messages are sent: what arrives later is the remainder, and its rate means nothing."""
    return f" ({count(per_second)}/s)" if progress.phase in (Phase.WARMUP, Phase.MEASURE) else ""


def devices(progress: Progress) -> str:
    """How many are ready, and how fast they connect while they do."""
    fast = f" ({count(progress.connect_rate)}/s)" if progress.phase is Phase.CONNECT else ""
    return f"{progress.totals.ready:,} of {progress.totals.devices:,} devices ready{fast}"


def missing(progress: Progress) -> str:
    """Outstanding messages; while sending goes on they are mostly under way, not lost."""
    word = "missing" if progress.phase in (Phase.DRAIN, Phase.STOP) else "under way"
    return f"{count(progress.outstanding)} {word}"


def engine(progress: Progress) -> str:
    """The engine's own health: what it costs and how late it is."""
    totals = progress.totals
    late = f"sends at most {microseconds(totals.send_delay_max_us)} late"
    return f"{cores(progress.engine_cpu_cores)}, {late}, loop lag {microseconds(totals.loop_lag_max_us)}"
