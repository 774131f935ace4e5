"""The pattern language of plans in Python, and that the engine reads it the same way."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.errors import ConfigError
from telemark.model.pattern import expand, parse


@pytest.mark.parametrize(
    ("pattern", "index", "sequence", "expected"),
    [
        ("plain", 5, 6, "plain"),
        ("d{index}", 42, 0, "d42"),
        ("v{sequence%10}", 0, 27, "v7"),
        ("p{index/1000}/d{index%100}", 2345, 0, "p2/d45"),
        ("{index%1000/100}", 2345, 0, "3"),
        ("{index+1}", 9, 0, "10"),
        ("{{index}}", 9, 0, "{index}"),
        ("a}b}}c", 9, 0, "a}b}c"),
    ],
)
def test_a_pattern_expands_left_to_right(pattern: str, index: int, sequence: int, expected: str) -> None:
    """Operations apply in the order written, and double braces are literal."""
    assert expected == expand(pattern, index, sequence)


@pytest.mark.parametrize("pattern", ["{index", "{device}", "{index*2}", "{index/0}", "{index%0}", "{index/}", "{}"])
def test_a_broken_pattern_is_refused_with_its_text(pattern: str) -> None:
    """The message names the pattern, so that it can be found in a long file."""
    with pytest.raises(ConfigError) as caught:
        parse(pattern)

    assert repr(pattern) in caught.value.message


def test_levels_are_cut_outside_braces_only() -> None:
    """A division inside braces is no topic level."""
    levels = parse("s{index/1000}/u{index%100}/v").levels()

    assert ["s2", "u45", "v"] == [level.expand(2345) for level in levels]


@pytest.mark.parametrize(
    ("pattern", "cycle"), [("a{index}", 1), ("{sequence%10}", 10), ("{sequence/2%5}", 10), ("{sequence}", None)]
)
def test_the_cycle_of_the_sequence_is_known(pattern: str, cycle: int | None) -> None:
    """After so many messages a publisher's topics repeat."""
    assert cycle == parse(pattern).sequence_cycle()


_STEPS = st.lists(st.tuples(st.sampled_from("/%+"), st.integers(1, 5000)), max_size=3)
_FIELDS = st.tuples(st.sampled_from(["index", "sequence"]), _STEPS).map(
    lambda field: "{" + field[0] + "".join(f"{operator}{number}" for operator, number in field[1]) + "}"
)
_PATTERNS = st.lists(st.one_of(_FIELDS, st.sampled_from(["a/", "{{", "}", "}}", "$", "ü"])), max_size=5).map("".join)


@given(_PATTERNS, st.integers(0, 2**32), st.integers(0, 2**40))
def test_python_and_engine_expand_alike(pattern: str, index: int, sequence: int) -> None:
    """Who is owed what is computed in Python, what is sent is made by the engine: they must agree."""
    native = importlib.import_module("telemark._native")

    try:
        expected = expand(pattern, index, sequence)
    except ConfigError:
        with pytest.raises(native.PlanProblem):
            native.expand(pattern, index, sequence)
        return

    assert expected == native.expand(pattern, index, sequence)
