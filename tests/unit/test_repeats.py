"""What several measurements of the same thing say together."""

from __future__ import annotations

import pytest

from telemark.verdicts.repeats import summarize, t95


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (15, 2.131), (16, 2.120), (17, 2.110), (25, 2.060),
     (30, 2.042), (60, 2.000), (120, 1.980), (1000, 1.962)],
)  # fmt: skip
def test_the_quantile_of_t_agrees_with_the_printed_tables(degrees: int, quantile: float) -> None:
    """Also beyond the degrees of freedom that small tables end with."""
    assert quantile == round(t95(degrees), 3)


def test_the_interval_of_repeats_is_that_of_students_t() -> None:
    """Of 17 values with a standard error of 1 it is 2.12 wide on either side."""
    values = [0.0, *([17**0.5, -(17**0.5)] * 8)]
    summary = summarize(values)

    assert summary is not None
    assert summary.high == pytest.approx(2.1199, abs=1e-4)
