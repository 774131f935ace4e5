"""How every number of a report is written: one place, so that console, HTML and Markdown agree.

A value that was not measured is written as an en dash, never as zero. Units are part of the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from telemark.model.columns import POINTS, Unit, between_hosts

MISSING = "\u2013"


def is_missing(value: object) -> bool:
    """True for what could not be measured: null, or a float that is no number."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def number(value: float | None, digits: int = 3) -> str:
    """A plain number with thousands separators and about `digits` significant digits."""
    if value is None or is_missing(value):
        return MISSING
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 9)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    """The value in the largest unit of which it has at least one; steps go from large to small."""
    for factor, suffix in steps:
        if abs(value) >= factor:
            return f"{number(value / factor)}{suffix}"
    factor, suffix = steps[-1]
    return f"{number(value / factor)}{suffix}"


_SHORT = ((1e9, "G"), (1e6, "M"), (1e3, "K"), (1.0, ""))
_TIME = ((60e6, " min"), (1e6, " s"), (1e3, " ms"), (1.0, " µs"))
_BYTES = ((1024.0**4, " TiB"), (1024.0**3, " GiB"), (1024.0**2, " MiB"), (1024.0, " KiB"), (1.0, " B"))


def short(value: float | None) -> str:
    """A count or rate as the reports print it: 330K, 1.8K, 42."""
    return MISSING if value is None or is_missing(value) else _scaled(value, _SHORT)


def rate(value: float | None, what: str = "msg") -> str:
    """A rate per second, 19.9K msg/s."""
    return MISSING if value is None or is_missing(value) else f"{short(value)} {what}/s"


def connection_rate(value: float | None) -> str:
    """A rate of connections per second."""
    return rate(value, "conn")


def time_us(value: float | None) -> str:
    """A time given in microseconds, in the unit that reads best."""
    return MISSING if value is None or is_missing(value) else _scaled(value, _TIME[1:])


def milliseconds(value: float | None) -> str:
    """A time given in microseconds as bare milliseconds, the unit of the published score cards."""
    return MISSING if value is None or is_missing(value) else number(value / 1000)


def seconds(value: float | None) -> str:
    """A length of time given in seconds."""
    return MISSING if value is None or is_missing(value) else _scaled(value * 1e6, _TIME)


def size_bytes(value: float | None) -> str:
    """Memory or disk, in binary units."""
    return MISSING if value is None or is_missing(value) else _scaled(value, _BYTES)


def cores(value: float | None) -> str:
    """CPU use in cores: 1.0 is one core fully busy."""
    return MISSING if value is None or is_missing(value) else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """How many times one value is of another: 0.06x, 3.2x."""
    if value is None or is_missing(value):
        return MISSING
    return "<0.01x" if 0 < value < 0.01 else f"{number(value, 2)}x"


def published_ratio(value: float | None, same_point: bool) -> str:
    """The ratio to a published value; an asterisk when that was published for another size."""
    return ratio(value) + ("" if same_point or value is None else "*")


def percent(value: float | None, signed: bool = False) -> str:
    """A share given as a fraction, in percent."""
    if value is None or is_missing(value):
        return MISSING
    sign = "+" if signed and value > 0 else ""
    return f"{sign}{number(value * 100)} %"


def count(value: float | None) -> str:
    """A count with thousands separators; the mean of several counts keeps its fraction."""
    return number(value)


_WRITERS: dict[Unit, Callable[[float | None], str]] = {
    "us": time_us,
    "ns": lambda value: time_us(None if value is None else value / 1000),
    "seconds": seconds,
    "messages_per_second": rate,
    "connections_per_second": connection_rate,
    "bytes": size_bytes,
    "cores": cores,
    "share": percent,
    "ratio": ratio,
    "count": count,
}


def value_in(unit: Unit, value: float | None) -> str:
    """A value with its unit, in the form that reads best."""
    writer = _WRITERS.get(unit)
    return writer(value) if writer else (MISSING if value is None else one_line(value))


def in_column(unit: Unit, value: float | None) -> str:
    """A value as short as a column of the score card wants it: times in bare milliseconds, counts as 1.8K."""
    writers = {"us": milliseconds, "count": short}
    return writers[unit](value) if unit in writers else value_in(unit, value)


def point_value(name: str, value: float | None, error: float = 0.0) -> str:
    """A value of a column of the points table, with its unit; the name may come from a stranger's file."""
    column = POINTS.find(name)
    unit: Unit = column.unit if column else "count"
    return uncertain(partial(value_in, unit), value, error if between_hosts(name) else 0.0)


def uncertain(write: Callable[[float | None], str], value: float | None, error: float) -> str:
    """A value that may be off by `error`: "< error" when it is below that, else without digits that mean nothing."""
    if not error or value is None or is_missing(value):
        return write(value)
    step = 10.0 ** math.floor(math.log10(error))
    if value <= error:
        return f"< {write(math.ceil(error / step * 10) * step / 10)}"
    return write(round(value / step) * step)


def one_line(text: object, limit: int = 200) -> str:
    """Text of a stranger on one line without control characters, cut to a bearable length."""
    cleaned = "".join(char if char.isprintable() else " " for char in str(text))
    cleaned = " ".join(cleaned.split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"
