"""A short, always equal round of the fuzzing that `make fuzz` does for a minute."""

from __future__ import annotations

import pytest

from tests.support.fuzz_documents import fuzz
from tests.unit.test_documents import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_documents_give_a_value_or_a_problem(kind: str) -> None:
    """Several hundred inputs of one seed."""
    assert 500 == fuzz(kind, seconds=200.0, seed=1, most=500)
