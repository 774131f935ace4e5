"""Finds the JMS consumer program, and builds it once into the cache when only its sources are there."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import telemark
from telemark.errors import ConsumerError, RequirementError
from telemark.host.cache import install
from telemark.servers.packages import run_with_progress, verify_folder

JAR = "telemark-jms.jar"
JAR_VARIABLE = "TELEMARK_JMS_JAR"  # the path of a jar to use instead; its libraries lie beside it in lib/
# SHA-256 of all libraries together, in `lib`: what they depend on is not pinned by jms/pom.xml alone.
LIBRARIES = {
    "jakarta": "999c5aa9913b109ff9e6506b810601709029b5c4b852fe459ac148211888c040",
    "javax": "0fdd635e751fa38720653055eb214677cceec358ca3ba6fe323bb304fe919f1b",
}
PACKAGED = Path(__file__).parent / "jar"  # in a wheel only: tools/wheel puts a folder for each API there


def consumer_jar(api: str = "jakarta") -> Path:
    """Path of the consumer program: the user's, one built from the sources of a checkout, or the packaged one.

    A checkout builds its own even while a packaged jar lies in it, so that it always runs its present sources.

    Args:
        api: package of the client library's JMS classes, jakarta or javax.

    Raises:
        ConsumerError: the named jar is not there.
        RequirementError: nothing to build from, or the build failed.
    """
    if named := os.environ.get(JAR_VARIABLE):
        return _named(Path(named))
    sources = Path(telemark.__file__).parents[2] / "jms"
    if (sources / "pom.xml").exists():
        return _built(sources, api)
    return _packaged(api)


def _named(path: Path) -> Path:
    if not path.is_file():
        raise ConsumerError(
            f"{JAR_VARIABLE}: {path} is not a file", hint=f"unset {JAR_VARIABLE} to build the consumer from its sources"
        )
    return path


def _packaged(api: str) -> Path:
    jar = PACKAGED / api / JAR
    if not jar.exists():
        raise RequirementError(
            "the JMS consumer program is not packaged with this installation and its sources are not here",
            hint=f"install the wheel that `make wheel` builds, or set {JAR_VARIABLE} to a {JAR}",
        )
    return jar


def _built(sources: Path, api: str) -> Path:
    """The jar in the cache, named by what it is made of: a change of any source file builds anew."""

    def fill(work: Path) -> None:
        project = work / "project"
        shutil.copytree(sources, project, ignore=shutil.ignore_patterns("target", "test"))
        command = [
            "mvn",
            "-B",
            "--strict-checksums",
            "-f",
            str(project / "pom.xml"),
            "-P",
            api,
            "-DskipTests",
            "package",
        ]
        run_with_progress(command, "and building the JMS consumer", "install Maven (Debian: apt install maven)")
        target = project / ("target" if api == "jakarta" else f"target/{api}")
        shutil.move(target / JAR, work / JAR)
        shutil.move(target / "lib", work / "lib")
        shutil.rmtree(project)
        verify_folder(work / "lib", f"libraries of the JMS consumer ({api})", LIBRARIES[api])

    return install(f"jms-consumer-{api}-{_digest(sources)}", fill) / JAR


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted([sources / "pom.xml", *(sources / "src" / "main").rglob("*")]):
        if path.is_file():
            digest.update(str(path.relative_to(sources)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
