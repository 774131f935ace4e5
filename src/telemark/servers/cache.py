"""The download cache: server programs fetched once by their package managers, checked, unpacked and reused.

Packages are named, not addressed: the package manager knows where they come from, so that mirrors and proxies of
the user's own configuration apply. What is unpacked lies under a name that holds the version; a folder with that
name is complete, because it is renamed into place last.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from telemark.errors import RequirementError

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
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
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


def cache_folder() -> Path:
    """$TELEMARK_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("TELEMARK_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "telemark"


def installed(name: str) -> Path | None:
    """The complete folder of that name; None when it has not been fetched."""
    folder = cache_folder() / name
    return folder if folder.is_dir() else None


def install(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of that name, filled by `fill` (given an empty folder) when it is not there yet.

    Two programs that ask at once get one download: the second waits for the first.
    """
    with _locked(name):
        if found := installed(name):
            return found
        work = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=cache_folder()))
        try:
            fill(work)
            work.chmod(0o755)
            return work.rename(cache_folder() / name)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def install_distribution(artifact: MavenArtifact) -> Path:
    """A binary distribution, downloaded, checked and unpacked; returns the folder that holds it."""
    name = f"{artifact.artifact}-{artifact.version}"

    def fill(work: Path) -> None:
        archive = fetch(artifact, work)
        with tarfile.open(archive) as packed:
            packed.extractall(work, filter="data")  # refuses paths that lead elsewhere
        archive.unlink()

    folder = install(name, fill)
    inner = folder / name
    return inner if inner.is_dir() else folder


def install_class_path(artifact: MavenArtifact, *others: str) -> Path:
    """A library with everything it depends on, as a folder of jar files; returns the folder.

    The library itself is checked against its pin; Maven checks the rest against the sums its repository publishes.

    Args:
        artifact: the library.
        others: further libraries as group:artifact:version.
    """

    def fill(work: Path) -> None:
        project = work / "pom.xml"
        wanted = [(artifact.group, artifact.artifact, artifact.version), *(each.split(":") for each in others)]
        project.write_text(PROJECT.format(dependencies="\n".join(DEPENDENCY.format(*each) for each in wanted)))
        options = ["--strict-checksums", f"-DoutputDirectory={work}", "-DincludeScope=runtime"]
        command = ["mvn", "-f", str(project), f"{MAVEN_PLUGIN}:copy-dependencies", *options]
        run_with_progress(command, f"{artifact.artifact} {artifact.version}", MAVEN_HINT)
        verify(work / artifact.file_name, artifact)

    return install(f"{artifact.artifact}-{artifact.version}", fill)


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
            env=os.environ | dict(environment or {}),
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


@contextmanager
def _locked(name: str) -> Iterator[None]:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
