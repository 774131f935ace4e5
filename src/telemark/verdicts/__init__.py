"""Thresholds become verdicts; series become a word on steadiness. Pure functions on small tables."""

from telemark.verdicts.judge import DECIDING, Outcome, Verdict, judge, no_verdict_reason, overall
from telemark.verdicts.thresholds import Threshold, parse_threshold, parse_thresholds

__all__ = [
    "DECIDING",
    "Outcome",
    "Threshold",
    "Verdict",
    "judge",
    "no_verdict_reason",
    "overall",
    "parse_threshold",
    "parse_thresholds",
]
