"""Server programs, fetched once by their package managers into the cache, checked and unpacked.

Packages are named, not addressed: the package manager knows where they come from, so that mirrors and proxies of
the user's own configuration apply.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from telemark.errors import RequirementError
from telemark.host.cache import folder_digest, install
from telemark.host.guardian import guarded

MAVEN_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
MAVEN_HINT = "install Maven (Debian: apt install maven)"
PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>telemark</groupId><artifactId>class-path</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
_TRANSFER = re.compile(r"Progress \(\d+\): ([\d.]+)/([\d.]+) ([kM])B")


@dataclass(frozen=True, slots=True)
class MavenArtifact:
    """One file of a Maven repository, with the SHA-512 it must have."""

    group: str
    artifact: str
    version: str
    packaging: str
    classifier: str
    sha512: str

    @property
    def coordinates(self) -> str:
        return ":".join((self.group, self.artifact, self.version, self.packaging, self.classifier)).rstrip(":")

    @property
    def file_name(self) -> str:
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.{self.packaging}"


@dataclass(frozen=True, slots=True)
class ClassPath:
    """Java libraries and all they depend on, with the digest that the jar files must have together."""

    name: str  # with the version, as `activemq-6.3.1`
    parts: tuple[str, ...]  # group:artifact:version or group:artifact:version:classifier
    sha256: str

    @property
    def version(self) -> str:
        return self.name.rpartition("-")[2]


def install_distribution(artifact: MavenArtifact) -> Path:
    """A binary distribution, downloaded, checked and unpacked; returns the folder that holds it."""
    name = f"{artifact.artifact}-{artifact.version}"

    def fill(work: Path) -> None:
        archive = fetch(artifact, work)
        unpack(archive, work)
        archive.unlink()

    folder = install(name, fill)
    inner = folder / name
    return inner if inner.is_dir() else folder


def install_class_path(path: ClassPath) -> Path:
    """Libraries with everything they depend on, as a folder of jar files; returns the folder."""

    def fill(work: Path) -> None:
        project = work / "pom.xml"
        project.write_text(PROJECT.format(dependencies="\n".join(map(_dependency, path.parts))))
        options = ["--strict-checksums", f"-DoutputDirectory={work}", "-DincludeScope=runtime"]
        command = ["mvn", "-B", "-f", str(project), f"{MAVEN_PLUGIN}:copy-dependencies", *options]
        run_with_progress(command, path.name, MAVEN_HINT)
        project.unlink()
        verify_folder(work, path.name, path.sha256)

    return install(path.name, fill)


def verify_folder(folder: Path, label: str, sha256: str) -> None:
    """Refuse a folder of downloads whose files together have another digest than the one that is pinned."""
    if (found := folder_digest(folder)) != sha256:
        raise RequirementError(
            f"{label}: SHA-256 {sha256} expected of all its files together, {found} found",
            hint="a download is damaged or not the published file; it was deleted, try again",
        )


def _dependency(coordinates: str) -> str:
    group, artifact, version, *classifier = coordinates.split(":")
    more = f"<classifier>{classifier[0]}</classifier>" if classifier else ""
    return DEPENDENCY.format(group, artifact, version, more)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive whose digest was checked. Members that lead out of the folder are refused all the same."""
    with tarfile.open(archive) as packed:
        for member in packed:
            place = PurePosixPath(member.name)
            target = place.parent / member.linkname if member.issym() else PurePosixPath(member.linkname)
            if not (_stays(place) and _stays(target) and (member.isfile() or member.isdir() or member.issym())):
                raise RequirementError(f"{archive.name}: the member {member.name} leads elsewhere or is special")
        if hasattr(tarfile, "data_filter"):  # Python before 3.11.4 has none; the check above does not need it
            packed.extractall(folder, filter="data")
        else:
            packed.extractall(folder)


def _stays(place: PurePosixPath) -> bool:
    return not place.is_absolute() and ".." not in place.parts


def fetch(artifact: MavenArtifact, folder: Path) -> Path:
    """Download one artifact into the folder and check it."""
    command = ["mvn", f"{MAVEN_PLUGIN}:copy", f"-Dartifact={artifact.coordinates}", f"-DoutputDirectory={folder}"]
    run_with_progress(command, artifact.file_name, MAVEN_HINT)
    path = folder / artifact.file_name
    verify(path, artifact)
    return path


def verify(path: Path, artifact: MavenArtifact) -> None:
    """Delete and refuse a file that is not the one whose SHA-512 is pinned."""
    found = checksum(path)
    if found != artifact.sha512:
        path.unlink(missing_ok=True)
        raise RequirementError(
            f"{artifact.file_name}: SHA-512 {artifact.sha512[:16]}... expected, {found[:16]}... found",
            hint="the download is damaged or not the published file; it was deleted, try again",
        )


def checksum(path: Path) -> str:
    """SHA-512 of a file in hex."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha512").hexdigest()
    except OSError as error:
        raise RequirementError(f"{path.name} was not downloaded: {error.strerror}") from error


def run_with_progress(
    command: Sequence[str],
    label: str,
    how_to_get: str,
    *,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a package manager and show on stderr that, and where it says so how far, it goes on."""
    if shutil.which(command[0]) is None:
        raise RequirementError(f"{label}: the program {command[0]} was not found on PATH", hint=how_to_get)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task(f"fetching {label}", total=None)
        with subprocess.Popen(
            command,
            cwd=directory,
            env=guarded(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as child:
            said = ""
            for text in _pieces(child):
                said = (said + text)[-4000:]
                for done, total, _ in _TRANSFER.findall(text)[-1:]:
                    progress.update(task, completed=float(done), total=float(total))
        progress.update(task, completed=1, total=1)
    if child.returncode:
        raise RequirementError(
            f"{label}: {command[0]} ended with status {child.returncode}", hint=said.strip()[-1500:] or None
        )


def _pieces(child: subprocess.Popen[bytes]) -> Iterator[str]:
    """Output as it comes: progress lines end in a carriage return, so lines cannot be waited for."""
    while child.stdout is not None and (data := os.read(child.stdout.fileno(), 8192)):
        yield data.decode("utf-8", "replace")
