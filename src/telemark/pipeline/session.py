"""The one Spark session of a command: settings with their reasons, and a clear word when Java is missing."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from telemark.errors import RequirementError
from telemark.pipeline import class_archive

MINIMUM_JAVA: Final = 17
_HINT: Final = f"install Java {MINIMUM_JAVA} or newer (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME"

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
    "spark.driver.extraJavaOptions": _LOG_OPTION,
}
# For a few hundred thousand rows, getting ready takes longer than the work: compile less, plan less.
# Java then gives compiled code a fifth of the room, and stops compiling when it is used up: a search has many analyses.
_QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
# Nobody waits for a single pause, only for the end; measured: a fifteenth less time than with Java's own choice.
_LONG_JAVA: Final = "-XX:+UseParallelGC"
QUICK_SETTINGS: Final[dict[str, str]] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
LOCAL_SETTINGS: Final[dict[str, str]] = {
    "spark.driver.memory": "2g",  # aggregates of 60 M rows need about 1 GB
    "spark.driver.host": "127.0.0.1",  # a laptop's own name may not resolve
    "spark.driver.bindAddress": "127.0.0.1",
}


def java_version() -> int:
    """Major version of the Java that Spark will use.

    Raises:
        RequirementError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        raise RequirementError(f"Java {MINIMUM_JAVA} or newer is needed for the analysis, found none", hint=_HINT)
    text = _release_text(Path(found)) or _version_text(found)
    match = re.search(r'"(?:1\.)?(\d+)', text)
    version = int(match.group(1)) if match else 0
    if version < MINIMUM_JAVA:
        raise RequirementError(
            f"Java {MINIMUM_JAVA} or newer is needed, found {version or 'unknown'}: {found}", hint=_HINT
        )
    return version


def _release_text(java: Path) -> str:
    """Line JAVA_VERSION of the installation's `release` file: saves starting a JVM only to ask."""
    try:
        lines = (java.resolve().parent.parent / "release").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line for line in lines if line.startswith("JAVA_VERSION=")), "")


def _version_text(java: str) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RequirementError(f"{java} does not run: {error}", hint=_HINT) from error


def start_session(master: str | None = None, *, quick: bool = False) -> SparkSession:
    """The session of this command; the one that is already running when there is one.

    Args:
        master: where to compute: `local[n]`, `spark://host:port` or what else Spark knows. Default: all cores here.
        quick: the data are few: be ready soon rather than fast for long. Only for local masters.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    java = java_version()
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # pages of Java stack; our message names the cause
    where = master or "local[*]"
    builder = SparkSession.builder.master(where)
    for name, value in settings_for(where, quick, java).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines() or ["no message"]
        raise RequirementError(f"Spark did not start on {where}: {first[0]}", hint="is the master right?") from error


def settings_for(master: str, quick: bool, java: int) -> dict[str, str]:
    """All settings of a session."""
    if not master.startswith("local"):
        return SETTINGS
    options = f"{_LOG_OPTION} {class_archive.java_options(java)} {_QUICK_JAVA if quick else _LONG_JAVA}"
    return SETTINGS | LOCAL_SETTINGS | (QUICK_SETTINGS if quick else {}) | {"spark.driver.extraJavaOptions": options}
