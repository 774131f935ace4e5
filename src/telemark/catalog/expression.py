"""`<parameter>` in scenario files: where a parameter's value goes, with a little arithmetic.

`<publishers>` alone keeps the parameter's type; inside other text it becomes text: `p{index%<subscribers>}/#`. A chain
of `+ - * / %` with numbers or other parameters may follow, applied left to right: `<publishers/partition>`. Whole
numbers divide to whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Scalar = str | int | float | bool

_INNER = r"[a-z][a-z_]*(?:[-+*/%](?:[a-z][a-z_]*|[0-9]+(?:\.[0-9]+)?))*"
REFERENCE = re.compile(f"<({_INNER})>")
_NAME = re.compile(r"[a-z][a-z_]*\Z")
_STEP = re.compile(r"([-+*/%])([a-z][a-z_]*|[0-9.]+)")


class ExpressionError(ValueError):
    """The expression names no known parameter or cannot be computed; the message says which."""


def substitute(text: str, parameters: Mapping[str, Scalar]) -> Scalar:
    """The text with every `<...>` replaced; a text that is nothing but one `<...>` keeps its type.

    Raises:
        ExpressionError: a parameter is unknown, or the arithmetic is on text or divides by zero.
    """
    whole = REFERENCE.fullmatch(text)
    if whole:
        return _compute(whole.group(1), parameters)
    return REFERENCE.sub(lambda match: _as_text(_compute(match.group(1), parameters)), text)


def _as_text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _compute(inner: str, parameters: Mapping[str, Scalar]) -> Scalar:
    first = re.match(r"[a-z_]+", inner)
    name = first.group(0) if first else inner
    value = _look_up(name, parameters)
    for operator, operand in _STEP.findall(inner[len(name) :]):
        right = _look_up(operand, parameters) if _NAME.match(operand) else _number(operand)
        value = _apply(operator, value, right, inner)
    return value


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _look_up(name: str, parameters: Mapping[str, Scalar]) -> Scalar:
    if name not in parameters:
        raise ExpressionError(f"unknown parameter <{name}>, known are {', '.join(sorted(parameters)) or 'none'}")
    return parameters[name]


_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right if isinstance(left, int) and isinstance(right, int) else left / right,
    "%": lambda left, right: left % right,
}


def _apply(operator: str, left: Scalar, right: Scalar, inner: str) -> Scalar:
    for value in (left, right):
        if isinstance(value, str | bool):
            raise ExpressionError(f"<{inner}> computes with {value!r}, expected a number")
    if operator in "/%" and right == 0:
        raise ExpressionError(f"<{inner}> divides by zero")
    return _OPERATORS[operator](left, right)  # type: ignore[arg-type]
