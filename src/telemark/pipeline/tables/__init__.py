"""The result tables, one file each: functions from counted Arrow tables to rows, without Spark."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]  # of a result table, by column
