"""What is read about this host: Java, secrets, ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.errors import RequirementError
from telemark.host import ports
from telemark.host.java import java_version, require_java
from telemark.host.secrets import read_secret


def test_a_secret_is_read_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a variable or the first line of a file; a missing one is named, not guessed."""
    monkeypatch.setenv("DEVICE_PASSWORD", "one")
    (tmp_path / "secret").write_text("two\nnot this\n")

    assert "one" == read_secret("DEVICE_PASSWORD", None)
    assert "two" == read_secret(None, str(tmp_path / "secret"))
    with pytest.raises(RequirementError, match="group a: password: environment variable ABSENT is not set"):
        read_secret("ABSENT", None, "group a: password")
    with pytest.raises(RequirementError, match="/nowhere"):
        read_secret(None, "/nowhere")


@pytest.mark.parametrize(
    ("release", "said", "expected"),
    [('JAVA_VERSION="17.0.2"\n', "", 17), ("", 'openjdk version "21" 2023-09-19', 21), ("", 'version "1.8.0_1"', 8)],
    ids=["release file", "asked", "old numbering"],
)
def test_the_version_of_java_is_read_from_its_release_file_or_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, said: str, expected: int
) -> None:
    """One rule for Spark, consumers and servers."""
    java_home(tmp_path, monkeypatch, release, said)

    assert expected == java_version()


@pytest.mark.parametrize("release", [None, 'JAVA_VERSION="11.0.2"\n'], ids=["none", "old"])
def test_java_missing_or_too_old_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str | None
) -> None:
    """With what is needed, what was found and what to install. A JAVA_HOME without java is not passed over."""
    if release is None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    else:
        java_home(tmp_path, monkeypatch, release, "")

    found = "11" if release else "none in JAVA_HOME"
    with pytest.raises(RequirementError, match=f"the analysis: Java 17 or later expected, found {found}") as caught:
        require_java(17, "the analysis")
    assert "install Java" in (caught.value.hint or "")


def java_home(home: Path, monkeypatch: pytest.MonkeyPatch, release: str, said: str) -> None:
    """A Java installation that says so about itself."""
    (home / "bin").mkdir()
    (home / "bin" / "java").write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    (home / "bin" / "java").chmod(0o755)
    if release:
        (home / "release").write_text(release)
    monkeypatch.setenv("JAVA_HOME", str(home))


def test_ports_for_servers_stay_out_of_the_range_of_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of devices take their source ports there. A file that cannot be read gives the kernel's default."""
    setting = tmp_path / "range"
    setting.write_text("20000\t30000\n")
    monkeypatch.setattr(ports, "_EPHEMERAL_RANGE", setting)

    assert range(20_000, 30_001) == ports.ephemeral_ports()
    assert all(15_000 <= port < 20_000 for port in ports.free_ports(3))
    setting.write_text("nothing")
    assert range(32_768, 61_000) == ports.ephemeral_ports()
