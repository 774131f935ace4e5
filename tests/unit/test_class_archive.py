"""Which class archive a Spark session uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.pipeline.spark import class_archive


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TELEMARK_CACHE", str(tmp_path))
    return tmp_path


def archive_of(options: str) -> Path:
    return Path(options.split("=", 1)[1].split(maxsplit=1)[0])


def test_the_first_session_makes_it_and_later_ones_use_it() -> None:
    making = class_archive.java_options(17, launcher=False)
    archive_of(making).write_bytes(class_archive._MAGIC + b"classes")
    using = class_archive.java_options(17, launcher=False)

    assert making.startswith("-XX:ArchiveClassesAtExit=")
    assert using.startswith("-XX:SharedArchiveFile=")
    assert archive_of(making) == archive_of(using)


def test_one_that_is_being_written_is_left_alone() -> None:
    archive_of(class_archive.java_options(17, launcher=False)).write_bytes(b"")

    assert class_archive.java_options(17, launcher=False) == ""


def test_every_installation_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java refuses an archive whose jars lay elsewhere: shared, it would help only whoever came first."""
    here = archive_of(class_archive.java_options(17, launcher=False))
    assert archive_of(class_archive.java_options(17, launcher=True)) != here  # it composes another class path
    monkeypatch.setattr(class_archive, "spark_home", lambda: Path("/elsewhere/pyspark"))

    assert archive_of(class_archive.java_options(17, launcher=False)) != here
