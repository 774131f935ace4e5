"""The one Spark session of a command: settings with their reasons, and a clear word when Java is missing."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from telemark.errors import RequirementError
from telemark.host.java import java_program, java_version, require_java
from telemark.pipeline.spark import class_archive
from telemark.pipeline.spark.gateway import Gateway, needs_launcher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINIMUM_JAVA: Final = 17

_LOG_OPTION: Final = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"

SETTINGS: Final[dict[str, str]] = {
    "spark.app.name": "telemark",
    "spark.ui.enabled": "false",  # no port is opened, a second sooner ready
    "spark.ui.showConsoleProgress": "false",  # our own progress goes to stderr
    "spark.sql.adaptive.enabled": "true",  # joins shuffle partitions that turn out small
    "spark.sql.shuffle.partitions": "8",  # measured: 2 to 8 is right for one machine, 200 is 2-3 times slower
    "spark.sql.files.maxPartitionBytes": "32m",  # smaller tasks share two cores more evenly
    # Measured: with a hundred thousand keys a task, the small map in front of the large one costs a tenth.
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.mergeSchema": "false",  # schemas are ours and explicit
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # noting where each column was made costs most of its time
    "spark.python.authenticate.socketTimeout": "120s",  # a result is fetched over a socket; on a busy host 15 s pass
    "spark.driver.extraJavaOptions": _LOG_OPTION,
}
# For a few hundred thousand rows, getting ready takes longer than the work: compile less, plan less.
# Java then gives compiled code a fifth of the room, and stops compiling when it is used up: a search has many analyses.
_QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
# Nobody waits for a single pause, only for the end; measured: a fifteenth less time than with Java's own choice.
# Java's own thresholds make the slow compiler work on all of Spark's planner, a quarter of the time of five million
# rows. Ten times as high, it still finds the loops over rows within the first hundred thousand of them.
_LONG_JAVA: Final = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
QUICK_SETTINGS: Final[dict[str, str]] = {"spark.sql.shuffle.partitions": "1"}
LOCAL_SETTINGS: Final[dict[str, str]] = {
    "spark.sql.adaptive.enabled": "false",  # makes a job of every stage; the few partitions need no joining
    "spark.driver.memory": "2g",  # aggregates of 60 M rows need about 1 GB
    "spark.driver.host": "127.0.0.1",  # a laptop's own name may not resolve
    "spark.driver.bindAddress": "127.0.0.1",
}


def need_java() -> int:
    """Major version of the Java that Spark will use.

    Raises:
        RequirementError: there is none, or it is too old.
    """
    require_java(MINIMUM_JAVA, "the analysis")
    return java_version() or MINIMUM_JAVA


_lock = Lock()
_starting: list[Future[SparkSession]] = []  # at most one


def prepare_session(
    master: str | None = None, *, quick: bool = False, settings: Mapping[str, str] | None = None
) -> None:
    """Begin to start the session in the background, so that it is ready when `start_session` asks for it.

    Call it when there is nothing to measure any more: starting keeps a core busy for seconds.

    Args:
        master: where to compute: `local[n]`, `spark://host:port` or what else Spark knows. Default: all cores here.
        quick: the data are few: be ready soon rather than fast for long. Only for local masters.
        settings: further settings of Spark.

    Raises:
        RequirementError: Java is missing or too old.
    """
    with _lock:
        if _starting or _active() is not None:
            return
        start = _Start(master or "local[*]", quick, settings or {})
        pool = ThreadPoolExecutor(1, thread_name_prefix="telemark-spark")
        _starting.append(pool.submit(start.session))
        pool.shutdown(wait=False)


def start_session(
    master: str | None = None, *, quick: bool = False, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this command; the one that is running or starting already when there is one."""
    active = _active()
    if active is not None:
        return active
    prepare_session(master, quick=quick, settings=settings)
    with _lock:
        starting = _starting[0]
    try:
        return starting.result()
    finally:
        with _lock:
            _starting.clear()


def _active() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - imported already

    return SparkSession.getActiveSession() or SparkSession._instantiatedSession


class _Start:
    """One start of a session. Java begins at once; pyspark is imported while it does."""

    def __init__(self, master: str, quick: bool, settings: Mapping[str, str]) -> None:
        self._master = master
        self._launcher = not master.startswith("local") or needs_launcher(os.environ)
        self._settings = settings_for(master, quick, need_java(), self._launcher) | dict(settings)
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark takes the python3 of the path
        self._gateway = None if self._launcher else Gateway(java_program() or "java", self._java_options(), os.environ)

    def _java_options(self) -> list[str]:
        memory = self._settings["spark.driver.memory"]
        return [f"-Xmx{memory}", *self._settings["spark.driver.extraJavaOptions"].split()]

    def session(self) -> SparkSession:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - takes half a second: in the background

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # pages of Java stack; our message names the cause
        builder = SparkSession.builder.master(self._master)
        for name, value in self._settings.items():
            builder = builder.config(name, value)
        try:
            with self._gateway.announced() if self._gateway else nullcontext():
                return builder.getOrCreate()
        except RequirementError:
            raise
        except Exception as error:
            first = str(error).strip().splitlines() or ["no message"]
            raise RequirementError(
                f"Spark did not start on {self._master}: {first[0]}", hint="is the master right?"
            ) from error


def settings_for(master: str, quick: bool, java: int, launcher: bool) -> dict[str, str]:
    """All settings of a session."""
    if not master.startswith("local"):
        return SETTINGS
    options = f"{_LOG_OPTION} {class_archive.java_options(java, launcher)} {_QUICK_JAVA if quick else _LONG_JAVA}"
    return SETTINGS | LOCAL_SETTINGS | (QUICK_SETTINGS if quick else {}) | {"spark.driver.extraJavaOptions": options}
