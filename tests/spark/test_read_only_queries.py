"""`telemark sql` reads: whatever else a query asks for is refused, and one that fails gives a message."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from telemark.errors import ConfigError
from telemark.pipeline import Opened, open_runs, query_rows
from tests.support.run_builder import random_run, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def opened(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """One run."""
    return open_runs(write(tmp_path_factory.mktemp("sql") / "campaign" / "001", random_run(11)))


@pytest.mark.parametrize(
    "query",
    [
        "create table made using parquet as select 1 as a",
        "create temporary view made as select 1 as a",
        "insert into made select 1",
        "with made as (select 1 as a) insert into other select * from made",
        "from streams insert into made select stream insert into other select device",
        "insert overwrite directory 'FOLDER/made' using csv select 1",
        "drop table made",
        "cache table streams",
        "set spark.sql.ansi.enabled = false",
        "add jar 'FOLDER/made.jar'",
        "select transform(stream) using 'touch FOLDER/made' from streams",
        "select 1 where exists (select transform(stream) using 'touch FOLDER/made' from streams)",
        "select java_method('java.lang.System', 'getProperty', 'user.home')",
        "select reflect('java.lang.System', 'setProperty', 'a', 'b')",
        "with a as (select reflect('java.lang.System', 'setProperty', 'a', 'b') as b) select * from a",
        "select 1 where 'b' in (select reflect('java.lang.System', 'setProperty', 'a', 'b'))",
        "select try_reflect('java.lang.System', 'getProperty', 'user.home')",
    ],
)
def test_a_query_that_does_more_than_read_is_refused(opened: Opened, tmp_path: Path, query: str) -> None:
    """Before anything is done."""
    with pytest.raises(ConfigError):
        query_rows(opened, query.replace("FOLDER", str(tmp_path)), 10)

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select 1/0", "DIVIDE_BY_ZERO"),
        ("select cast('x' as int)", "CAST_INVALID_INPUT"),
        ("select", "cannot be answered"),
        ("selec 1", "cannot be answered"),
    ],
)
def test_a_query_that_fails_says_why(opened: Opened, query: str, message: str) -> None:
    """In one line."""
    with pytest.raises(ConfigError, match=message) as caught:
        query_rows(opened, query, 10)
    assert "\n" not in caught.value.message


def test_ordinary_queries_are_answered(opened: Opened) -> None:
    """Joins, common table expressions, functions; a word in a text is only a word."""
    query = "with s as (select * from streams) select count(*) as n, 'reflect(' as t from s join streams using (stream)"

    names, rows, more = query_rows(opened, query, 10)

    assert (["n", "t"], [(len(random_run(11).streams), "reflect(")], False) == (names, rows, more)
