"""Bed files: what they may say, and that every problem is named at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from telemark.bed.bed_file import BedFile, read_bed
from telemark.catalog import loader
from telemark.errors import ConfigError
from telemark.servers import description

GOOD = """
spark = "spark://10.0.0.1:7077"
runner = "10.0.0.1"
[settings]
"spark.executor.memory" = "1g"
[[hosts]]
host = "10.0.0.2"
roles = ["server"]
[[hosts]]
host = "10.0.0.3"
roles = ["publishers", "subscribers"]
source_addresses = ["10.0.0.3", "10.0.0.33"]
cpus = "0-3"
"""


def read(folder: Path, text: str) -> BedFile:
    path = folder / "bed.toml"
    path.write_text(text)
    return read_bed(path)


def test_a_bed_is_read_with_its_defaults(tmp_path: Path) -> None:
    """The server listens on the host's own address unless told otherwise."""
    bed = read(tmp_path, GOOD)

    assert [host.host for host in bed.with_role("server")] == ["10.0.0.2"]
    assert bed.hosts[0].address == "10.0.0.2"
    assert bed.hosts[1].source_addresses == ("10.0.0.3", "10.0.0.33")
    assert bed.settings == {"spark.executor.memory": "1g"}
    assert bed.port == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('runner = "10.0.0.1"', ""), "runner: missing, expected address of this host that all others can reach"),
        (('runner = "10.0.0.1"', 'runer = "x"'), "runer: unknown key (did you mean runner?)"),
        (('["server"]', '["srver"]'), "hosts[0].roles[0]: found 'srver', expected one of server, publishers"),
        (('["server"]', "[]"), "hosts[0].roles: found [], expected at least one of server"),
        (('host = "10.0.0.3"', 'host = "10.0.0.2"'), "hosts: 10.0.0.2 stands there 2 times, expected each host once"),
        (('"10.0.0.33"', '"ten"'), "hosts[1].source_addresses: found 'ten', expected an IP address"),
        (('"spark.executor.memory" = "1g"', '"spark.dynamicAllocation.enabled" = true'), "dynamic allocation is on"),
    ],
)
def test_a_problem_is_named_with_field_value_and_expectation(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    """What a user reads instead of a traceback."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, GOOD.replace(*change))

    assert any(message in problem for problem in caught.value.problems), caught.value.problems


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="4 problems"):
        read(tmp_path, 'spark = 1\n[[hosts]]\nroles = ["server"]\n' + 'runner = "x"')


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file"):
        read_bed(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="expected valid TOML"):
        read(tmp_path, "spark = ")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "port = " + "9" * 5000, "a = \xff"], ids=["deep", "digits", "bytes"]
)
def test_toml_that_cannot_be_read_is_bad_input(tmp_path: Path, text: str) -> None:
    """For beds, scenarios and server descriptions alike."""
    path = tmp_path / "odd.toml"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(ConfigError, match="expected valid TOML"):
        read_bed(path)
    assert "expected valid TOML" in loader.read_suite(path)[1][0]
    with pytest.raises(ConfigError, match="server description"):
        description.read(path, {})


def test_a_pipe_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    """It would be waited for without end."""
    path = tmp_path / "bed.toml"
    os.mkfifo(path)

    with pytest.raises(ConfigError, match="not a regular file, expected a bed file"):
        read_bed(path)
