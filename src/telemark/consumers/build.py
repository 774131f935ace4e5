"""Finds the JMS consumer program, and builds it once into the cache when only its sources are there."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import telemark
from telemark.errors import ConsumerError, RequirementError
from telemark.servers.cache import install, run_with_progress

JAR = "telemark-jms.jar"
JAR_VARIABLE = "TELEMARK_JMS_JAR"  # the path of a jar to use instead; its libraries lie beside it in lib/


def consumer_jar() -> Path:
    """Path of the consumer program: the user's, the packaged one, or one built from the sources.

    Raises:
        ConsumerError: the named jar is not there.
        RequirementError: nothing to build from, or the build failed.
    """
    if named := os.environ.get(JAR_VARIABLE):
        return _named(Path(named))
    packaged = Path(__file__).parent / "jar" / JAR
    return packaged if packaged.exists() else _built(_sources())


def _named(path: Path) -> Path:
    if not path.is_file():
        raise ConsumerError(
            f"{JAR_VARIABLE}: {path} is not a file", hint=f"unset {JAR_VARIABLE} to build the consumer from its sources"
        )
    return path


def _sources() -> Path:
    folder = Path(telemark.__file__).parents[2] / "jms"
    if not (folder / "pom.xml").exists():
        raise RequirementError(
            "the JMS consumer program is not packaged with this installation and its sources are not here",
            hint=f"set {JAR_VARIABLE} to a {JAR}, or install telemark from a checkout",
        )
    return folder


def _built(sources: Path) -> Path:
    """The jar in the cache, named by what it is made of: a change of any source file builds anew."""

    def fill(work: Path) -> None:
        project = work / "project"
        shutil.copytree(sources, project, ignore=shutil.ignore_patterns("target", "test"))
        command = ["mvn", "-B", "-f", str(project / "pom.xml"), "-DskipTests", "package"]
        run_with_progress(command, "and building the JMS consumer", "install Maven (Debian: apt install maven)")
        shutil.move(project / "target" / JAR, work / JAR)
        shutil.move(project / "target" / "lib", work / "lib")
        shutil.rmtree(project)

    return install(f"jms-consumer-{_digest(sources)}", fill) / JAR


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted([sources / "pom.xml", *(sources / "src" / "main").rglob("*")]):
        if path.is_file():
            digest.update(str(path.relative_to(sources)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
