"""The download cache: checked, complete, reused, and shared between programs."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from pathlib import Path

import pytest

from telemark.errors import RequirementError
from telemark.host import cache
from telemark.host.cache import cache_folder, install, installed
from telemark.servers.packages import ClassPath, MavenArtifact, install_class_path, install_distribution, unpack

FAKE_MAVEN = """#!/bin/sh
for word in "$@"; do
  case "$word" in -DoutputDirectory=*) folder="${word#-DoutputDirectory=}";; esac
done
printf 'Progress (1): 1/2 MB\\r'
cp "$FAKE_ARCHIVE" "$folder/thing-1.0-bin.tar.gz"
echo called >> "$FAKE_CALLS"
"""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution that a fake Maven delivers, and an empty cache."""
    packed = tmp_path / "thing.tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        entry = tarfile.TarInfo("thing-1.0/bin/run")
        entry.size = 5
        tar.addfile(entry, io.BytesIO(b"hello"))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "mvn").write_text(FAKE_MAVEN)
    (programs / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_ARCHIVE", str(packed))
    monkeypatch.setenv("FAKE_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("TELEMARK_CACHE", str(tmp_path / "cache"))
    return packed


def artifact(sha512: str) -> MavenArtifact:
    return MavenArtifact("org.example", "thing", "1.0", "tar.gz", "bin", sha512)


def test_a_distribution_is_fetched_once_and_reused(archive: Path, tmp_path: Path) -> None:
    """The second time nothing is downloaded."""
    right = artifact(hashlib.sha512(archive.read_bytes()).hexdigest())

    folder = install_distribution(right)
    again = install_distribution(right)

    assert folder == again
    assert (folder / "bin" / "run").read_text() == "hello"
    assert (tmp_path / "calls").read_text().splitlines() == ["called"]


def test_a_file_with_another_checksum_is_refused_and_not_kept(archive: Path) -> None:
    """What is not the published file is never unpacked."""
    with pytest.raises(RequirementError, match="SHA-512 0000"):
        install_distribution(artifact("0" * 128))

    assert installed("thing-1.0") is None
    assert not [path for path in cache_folder().iterdir() if path.is_dir()]


@pytest.mark.parametrize("old_python", [False, True], ids=["with filters", "before 3.11.4"])
def test_archives_are_unpacked_on_every_python(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old_python: bool
) -> None:
    """Debian 12 has 3.11.2, whose `extractall` takes no filter."""
    if old_python and hasattr(tarfile, "data_filter"):  # otherwise this Python is the old one
        extract = tarfile.TarFile.extractall

        def without_filters(self: tarfile.TarFile, path: Path) -> None:
            extract(self, path, filter="fully_trusted")

        monkeypatch.delattr(tarfile, "data_filter")
        monkeypatch.setattr(tarfile.TarFile, "extractall", without_filters)

    unpack(archive, tmp_path / "out")

    assert (tmp_path / "out" / "thing-1.0" / "bin" / "run").read_text() == "hello"


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("../out", tarfile.REGTYPE, ""),
        ("/abs", tarfile.REGTYPE, ""),
        ("a/link", tarfile.SYMTYPE, "../../out"),
        ("link", tarfile.SYMTYPE, "/etc"),
        ("hard", tarfile.LNKTYPE, "/etc/passwd"),
        ("pipe", tarfile.FIFOTYPE, ""),
    ],
)
def test_members_that_lead_elsewhere_are_refused(tmp_path: Path, name: str, kind: bytes, link: str) -> None:
    """Nothing of such an archive is unpacked."""
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("first"))
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, link
        tar.addfile(entry)

    with pytest.raises(RequirementError, match="leads elsewhere"):
        unpack(tmp_path / "bad.tar", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_class_path_is_checked_with_all_it_depends_on(archive: Path) -> None:
    """One other jar among them, and nothing is installed."""
    with pytest.raises(RequirementError, match="SHA-256 00 expected of all its files together"):
        install_class_path(ClassPath("thing-1.0", ("org.example:thing:1.0", "org.example:agent:2:javaagent"), "00"))

    assert installed("thing-1.0") is None


def test_two_programs_that_ask_at_once_download_once(archive: Path, tmp_path: Path) -> None:
    """The second waits for the first instead of downloading too."""
    right = artifact(hashlib.sha512(archive.read_bytes()).hexdigest())
    threads = [threading.Thread(target=install_distribution, args=(right,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (tmp_path / "calls").read_text().splitlines() == ["called"]


@pytest.mark.parametrize("damage", ["changed", "added", "removed", "unlisted"])
def test_a_folder_that_is_not_what_was_installed_is_installed_again(archive: Path, tmp_path: Path, damage: str) -> None:
    """A later program compares the files with the list that was made of them."""
    right = artifact(hashlib.sha512(archive.read_bytes()).hexdigest())
    program = install_distribution(right) / "bin" / "run"
    if damage == "changed":
        program.write_text("HELLO")
    elif damage == "added":
        program.with_name("more").touch()
    elif damage == "removed":
        program.unlink()
    else:
        (cache_folder() / ".thing-1.0.sha256").unlink()
    cache._checked.clear()  # as in another program

    install_distribution(right)

    assert ["run"] == [path.name for path in program.parent.iterdir()]
    assert "hello" == program.read_text()
    assert (tmp_path / "calls").read_text().splitlines() == ["called", "called"]


def test_what_was_interrupted_counts_as_absent(archive: Path) -> None:
    """A folder appears under its name only when it is complete."""

    def fails(work: Path) -> None:
        (work / "half").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install("thing-2.0", fails)

    assert installed("thing-2.0") is None


def test_a_missing_package_manager_says_how_to_get_it(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Maven there is a remedy."""
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(RequirementError, match="mvn was not found") as caught:
        install_distribution(artifact("0" * 128))

    assert "apt install maven" in (caught.value.hint or "")
