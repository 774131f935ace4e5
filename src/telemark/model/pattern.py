"""The pattern language of plans, in Python: the same text the native engine makes of the same pattern.

A pattern is text with `{index}` or `{sequence}` in it, each followed by any chain of `/n`, `%n` and `+n` with whole
numbers, applied left to right. `{{` is a literal opening brace; `}}` and a lone `}` are a literal closing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

from telemark.errors import ConfigError

_FIELD = re.compile(r"(index|sequence)((?:[/%+][0-9]+)*)\Z")
_STEP = re.compile(r"([/%+])([0-9]+)")

_APPLY: dict[str, Callable[[int, int], int]] = {
    "/": lambda value, operand: value // operand,
    "%": lambda value, operand: value % operand,
    "+": lambda value, operand: value + operand,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One `{...}` of a pattern."""

    variable: str  # index or sequence
    steps: tuple[tuple[str, int], ...] = ()

    def value(self, index: int, sequence: int) -> int:
        """The number this field shows for a device and a message."""
        value = index if self.variable == "index" else sequence
        for operator, operand in self.steps:
            value = _APPLY[operator](value, operand)
        return value


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that was read: literal text and fields in turn."""

    text: str
    parts: tuple[str | Field, ...]

    def expand(self, index: int, sequence: int = 0) -> str:
        """The text for one device (and one message)."""
        return "".join(part if isinstance(part, str) else str(part.value(index, sequence)) for part in self.parts)

    def uses(self, variable: str) -> bool:
        """Whether the text depends on `index` or `sequence`."""
        return any(isinstance(part, Field) and part.variable == variable for part in self.parts)

    def sequence_cycle(self) -> int | None:
        """After how many messages the text repeats; None when it never does."""
        cycle = 1
        for part in self.parts:
            if isinstance(part, Field) and part.variable == "sequence":
                length = _cycle(part)
                if length is None:
                    return None
                cycle = lcm(cycle, length)
        return cycle

    def levels(self) -> tuple[Pattern, ...]:
        """The topic levels: cut at every `/` of the literal text (a division inside braces is no level)."""
        levels: list[list[str | Field]] = [[]]
        for part in self.parts:
            if isinstance(part, Field):
                levels[-1].append(part)
                continue
            first, *rest = part.split("/")
            levels[-1].append(first)
            levels.extend([text] for text in rest)
        return tuple(Pattern("", tuple(part for part in level if part != "")) for level in levels)


def _cycle(field: Field) -> int | None:
    """Length of the cycle of one sequence field: n of the first `%n`, times the divisions before it."""
    scale = 1
    for operator, operand in field.steps:
        if operator == "/":
            scale *= operand
        if operator == "%":
            return operand * scale
    return None


@lru_cache(maxsize=4096)
def parse(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        ConfigError: a brace is not closed, a field has an unknown name, or a division is by zero.
    """
    parts: list[str | Field] = []
    literal = ""
    position = 0
    while position < len(text):
        character = text[position]
        if text[position : position + 2] in ("{{", "}}"):
            literal += character
            position += 2
        elif character == "{":
            end = text.find("}", position)
            if literal:
                parts.append(literal)
                literal = ""
            parts.append(_read_field(text, text[position + 1 : end] if end >= 0 else None))
            position = end + 1
        else:
            literal += character
            position += 1
    if literal:
        parts.append(literal)
    return Pattern(text, tuple(parts))


def _read_field(text: str, content: str | None) -> Field:
    if content is None:
        raise _problem(text, "a brace that is never closed")
    match = _FIELD.match(content)
    if not match:
        raise _problem(text, f"{{{content}}}")
    steps = tuple((operator, int(number)) for operator, number in _STEP.findall(match.group(2)))
    if any(operator != "+" and number == 0 for operator, number in steps):
        raise _problem(text, f"a division by zero in {{{content}}}")
    return Field(match.group(1), steps)


def _problem(text: str, found: str) -> ConfigError:
    return ConfigError(
        f"pattern {text!r}: found {found}, expected {{index}} or {{sequence}} with any of /n %n +n",
        hint="write {{ for a literal brace, for example p{index/1000}/d{index%100}",
    )


def expand(text: str, index: int, sequence: int = 0) -> str:
    """Shorthand for `parse(text).expand(index, sequence)`."""
    return parse(text).expand(index, sequence)
