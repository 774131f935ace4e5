"""Columns of the result tables that name or describe: which run, which subscription, which line."""

from __future__ import annotations

from typing import Final

from telemark.model.columns.column import Column, Unit


def _text(name: str, meaning: str) -> Column:
    return Column(name, "string", "text", None, meaning)


def _number(name: str, meaning: str, kind: str = "int64", unit: Unit = "count") -> Column:
    return Column(name, kind, unit, None, meaning)


def _yes_no(name: str, meaning: str) -> Column:
    return Column(name, "bool", "text", None, meaning)


KEY: Final = (
    _text("campaign", "name of the campaign's folder"),
    _text("run", "name of the run's folder"),
)

RUN: Final = (
    _text("suite", "suite of the scenario"),
    _text("scenario", "scenario"),
    _text("point", "cell of the scenario's sweep"),
    _text("size", "quick, laptop or published; empty for a load from the command line"),
    _text("parameters", "values of the cell, a JSON object"),
    _text("server", "server under test"),
    _text("server_version", "its version"),
    _text("profile", "memory, durable or fsync"),
    _text("profile_note", "what the profile means on this server"),
    _number("repeat", "number of the repeat, from 0", "int32"),
    _text("state", "complete, failed, interrupted or running"),
    _text("reason", "why the run is not complete"),
    _text("started_at", "when it began, UTC"),
    _text("host", "name of the host"),
    _text("server_host", "host that CPU, memory, disk and network are of: the server's; null when it was not sampled"),
    _text("telemark_version", "version that made the run"),
    _number("publishers", "publishing devices of the plan"),
    _number("subscribers", "subscribing devices and consumers of the plan"),
    _number("qos", "QoS of publishing; in `integrity` the smaller of publishing and subscribing, which rules", "int32"),
    _number("payload_bytes", "bytes of a payload", unit="bytes"),
    _number("measure_s", "length of the measure phase", "float64", "seconds"),
)

VERDICTS: Final = (
    _yes_no("integrity_exact", "false: a subscription was interrupted or the run ended early; owed, lost are bounds"),
    _yes_no("engine_bound", "the engine was late or starved: no verdict about the server"),
    _text("engine_bound_reason", "the evidence"),
    _text("latency_trend", "steady, rising, falling or unknown over the measure phase"),
    _yes_no("steady", "delivered = offered, no growing backlog, no trend of latency; null when it cannot be told"),
    _text("steady_reason", "the evidence"),
    _yes_no(
        "sustained",
        "delivered >= offered, no growing backlog, no rising latency: the rate could go on; null when unknown",
    ),
    Column("warnings", "list<string>", "text", None, "what to know before believing the row"),
)

ROWS: Final = (
    _text(
        "measure",
        "latency, service_time, send_delay, puback, pubrec, pubcomp, tcp_connect, tls_handshake, connack, suback or "
        "connect",
    ),
    _text("phase", "connect, hold, warmup, measure, drain or stop"),
    _number("rate_stretch", "changes of the rate by `telemark rate` before the middle of the second", "int32"),
    _number("count", "samples"),
    _number("lower_us", "beginning of the bucket", "float64", "us"),
    _number("upper_us", "end of the bucket, not part of it", "float64", "us"),
    _number("second", "second of the run", "int32"),
    _number("core", "number of the core", "int32"),
    _number("subscription", "number of the subscription", "int32"),
    _number("share", "number of the share group; null for a plain subscription", "int32"),
    _text("filter", "topic filter"),
    _number("members", "subscriptions of the share group; 1 for a plain subscription"),
    _yes_no("exact", "false: it was not active all the time or the run ended early, owed and lost are bounds"),
    _text("kind", "lost, duplicate, reordered or foreign"),
    _number("stream", "publisher's number", "int32"),
    _number("sequence", "message's number in its stream"),
    _number("times", "how often it was delivered"),
    _number("received_ns", "when: the last receipt of a duplicate, the first of a late message", unit="ns"),
)

# Their values are in the unit of the column that the row names.
THREADS: Final = (
    _text("side", "server, engine or consumer"),
    _number("process_id", "process id"),
    _number("thread_id", "thread id"),
    _text("thread_name", "the name that the program gave the thread"),
    _number("thread_cores_mean", "cores it used, mean; 0 where it was not among the three busiest", "float64", "cores"),
    _number("thread_cores_max", "cores it used, largest sample", "float64", "cores"),
)

LINES: Final = (
    _text("series", "parameters the line is drawn for"),
    _text("y", "column of `points` on the vertical axis"),
    _text("x", "column of `points` on the horizontal axis"),
    _number("points", "points of the line"),
    _number("intercept", "y at x = 0", "float64"),
    _number("slope", "y per x", "float64"),
    _number("slope_low", "lower 95 % bound of the slope; null with fewer than three points", "float64"),
    _number("slope_high", "upper 95 % bound of the slope", "float64"),
    _number("r_squared", "share of the variation the line explains", "float64", "share"),
    _text("metric", "column of `points`"),
    _number("repeats", "runs"),
    _number("mean", "mean of the runs", "float64"),
    _number("median", "median of the runs", "float64"),
    _number("low", "lower 95 % bound of the mean; null for one run", "float64"),
    _number("high", "upper 95 % bound of the mean", "float64"),
    _number("spread", "(largest - smallest) / median", "float64", "ratio"),
)
