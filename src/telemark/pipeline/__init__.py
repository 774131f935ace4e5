"""The analysis on Spark: from every message to the score card. Nothing outside this package imports pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from telemark.pipeline.analysis import AnalysisReport, analyze
    from telemark.pipeline.opened import Opened, open_runs, query_rows

__all__ = ["AnalysisReport", "Opened", "analyze", "open_runs", "query_rows"]


def __getattr__(name: str) -> Any:
    """Import pyspark only when it is used: most commands do without."""
    if name in ("analyze", "AnalysisReport"):
        from telemark.pipeline import analysis  # noqa: PLC0415

        return getattr(analysis, name)
    if name in ("Opened", "open_runs", "query_rows"):
        from telemark.pipeline import opened  # noqa: PLC0415

        return getattr(opened, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
