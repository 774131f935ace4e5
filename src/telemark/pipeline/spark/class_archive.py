"""A class archive for the Java that Spark runs in: half of a short session is spent loading the same classes again.

The first session writes the archive when it ends, in the background; later ones map it. Java itself checks that the
archive belongs to its version and to the jars of Spark where they lie, and does without when it does not. Nothing needs
it.
"""

from __future__ import annotations

import os
import time
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from telemark.host.cache import cache_folder
from telemark.pipeline.spark.gateway import spark_home

_MAGIC: Final = (0xF00BABA8).to_bytes(4, "little")  # of a complete dynamic archive: Java writes the header last
_ABANDONED_S: Final = 600.0


def java_options(java_version: int, launcher: bool) -> str:
    """Options that use the archive, or make it; empty when there is no place for it.

    An archive fits one installation and one class path, which the launcher composes in its own way.
    """
    installation = sha256(f"{spark_home()} {launcher}".encode()).hexdigest()[:8]
    archive = cache_folder() / f"spark-{version('pyspark')}-java-{java_version}-{installation}.jsa"
    if _complete(archive):
        return f"-XX:SharedArchiveFile={archive} -Xlog:disable"
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        if archive.exists() and time.time() - archive.stat().st_mtime < _ABANDONED_S:
            return ""  # another session is writing it
        archive.unlink(missing_ok=True)
    except OSError:
        return ""
    if " " in str(archive) or not os.access(archive.parent, os.W_OK):
        return ""  # Spark splits its options at blanks
    return f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable"


def _complete(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return file.read(4) == _MAGIC
    except OSError:
        return False
