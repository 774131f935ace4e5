"""One Spark session for all tests of the pipeline: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from telemark.pipeline.spark.session import start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session, set up for few data."""
    session = start_session("local[2]", quick=True)
    yield session
    session.stop()
