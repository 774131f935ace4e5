"""Machines for the tests of a bed. Where they cannot be made, the tests say so; on CI they fail."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.support.machines import Machines, machines, why_not


@pytest.fixture(scope="package")
def bed_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Four machines with Spark workers, their clocks far apart: a server, two of publishers, one of subscribers."""
    reason = why_not()
    if reason is not None:
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    back_s = -min(900, int(time.monotonic() / 2))  # a clock cannot be moved to before its start
    with machines(tmp_path_factory.mktemp("machines"), (back_s, 12_345, 77, 0)) as made:
        yield made
