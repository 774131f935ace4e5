"""`<parameter>` in scenario files."""

from __future__ import annotations

import pytest

from telemark.catalog.expression import ExpressionError, Scalar, substitute

PARAMETERS: dict[str, Scalar] = {"publishers": 2000, "partition": 1000, "half": 0.5, "name": "p", "on": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<publishers>", 2000),
        ("<on>", True),
        ("<name>", "p"),
        ("<publishers/partition>", 2),
        ("<publishers*half>", 1000.0),
        ("<partition/10+1>", 101),
        ("<publishers%300-1>", 199),
        ("<name>{index/<partition>}/#", "p{index/1000}/#"),
        ("$share/<name>/t", "$share/p/t"),
        ("on=<on>", "on=true"),
        ("mean_latency < 500 ms", "mean_latency < 500 ms"),
        ("", ""),
    ],
)
def test_parameters_are_put_in(text: str, expected: Scalar) -> None:
    """Alone they keep their type; whole numbers divide to whole numbers; other angle brackets stay."""
    found = substitute(text, PARAMETERS)

    assert expected == found
    assert type(expected) is type(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<colour>", "unknown parameter <colour>"),
        ("<publishers/colour>", "unknown parameter <colour>"),
        ("<name*2>", "expected a number"),
        ("<on+1>", "expected a number"),
        ("<publishers/0>", "divides by zero"),
    ],
)
def test_what_cannot_be_computed_is_explained(text: str, words: str) -> None:
    """The message names the expression."""
    with pytest.raises(ExpressionError) as caught:
        substitute(text, PARAMETERS)

    assert words in str(caught.value)
