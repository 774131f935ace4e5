"""Columns that are statistics of a time: mean, percentiles and the like of latency, service time and others."""

from __future__ import annotations

from typing import Final

from telemark.model.columns.column import Column

FULL: Final = ("min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max")
_FIGURES: Final = dict(
    zip(
        FULL,
        ("smallest", "mean", "standard deviation", "median", "75th percentile", "90th percentile", "95th percentile",
         "99th percentile", "99.9th percentile", "99.99th percentile", "largest"),
        strict=True,
    )
)  # fmt: skip
_SUBJECTS: Final = {
    "latency": "received - intended",
    "service": "received - sent",
    "send_delay": "sent - intended",
    "ack": "time to PUBACK (QoS 1) or PUBREC (QoS 2)",
    "connect": "SYN to CONNACK",
}
# On the score card: of messages, or of connections where the case is about connecting.
_CARD: Final = {"mean": "AVG ms", "p50": "50P", "p95": "95P", "p99": "99P", "max": "max", "stdev": "STDV"}
_ON_CARD: Final = ("latency", "connect")
# Times that begin on one host and end on another: on a bed they are off by `clock_error_us` at most.
_BETWEEN_HOSTS: Final = ("latency", "service")


def between_hosts(name: str) -> bool:
    """Whether a column or a measure of this name holds times that two hosts' clocks were read for."""
    return name.startswith(_BETWEEN_HOSTS)


def statistics(subject: str = "", figures: tuple[str, ...] = FULL) -> tuple[Column, ...]:
    """Columns `<subject>_<figure>_us`; without a subject `<figure>_us`, for a table whose rows name it."""
    return tuple(_statistic(subject, figure) for figure in figures)


def _statistic(subject: str, figure: str) -> Column:
    if not subject:
        return Column(f"{figure}_us", "float64", "us", "lower", _FIGURES[figure])
    return Column(
        f"{subject}_{figure}_us",
        "float64",
        "us",
        "lower",
        f"{_SUBJECTS[subject]}, {_FIGURES[figure]}",
        card=_CARD.get(figure) if subject in _ON_CARD else None,
        short=_short_names(subject, figure),
        subject=subject,
    )


def _short_names(subject: str, figure: str) -> tuple[str, ...]:
    """`latency_p99`; also `p99_latency` and `connect_mean`; a percentile without a subject means latency."""
    names = [f"{subject}_{figure}"]
    if subject in _ON_CARD:
        names.append(f"{figure}_{subject}")
    if subject == "latency" and figure.startswith("p"):
        names.append(figure)
    return tuple(names)
