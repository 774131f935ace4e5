"""What is said about the hosts of a bed before anything starts there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from telemark.bed.bed import other_versions
from telemark.bed.bed_file import BedFile, BedHost
from telemark.bed.check import HostCheck, check_bed, problems_of
from telemark.cli.bed import show
from telemark.errors import ConfigError
from telemark.host.facts import software_versions

FACTS: dict[str, Any] = {
    "host": {"kernel": "6.8.0-1021-aws"},
    "versions": software_versions(),
    "java": 17,
    "cores": 4,
    "cpus": [0, 1, 2, 3],
    "memory_bytes": 15 << 30,
    "open_files": 1_048_576,
    "source_ports": 28_232,
    "addresses": ["127.0.0.1", "10.0.0.3", "10.0.0.33", "fd00::3"],
}


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        (BedHost("h", ("publishers",), source_addresses=("10.0.0.3", "127.0.0.9", "fd00:0::3")), None),
        (
            BedHost("h", ("publishers",), source_addresses=("10.0.0.4",)),
            "source address 10.0.0.4 is not one of its own",
        ),
        (BedHost("h", ("server",), address="10.0.0.9"), "address 10.0.0.9, where the server should listen, is not one"),
        (BedHost("h", ("server",), address="mqtt.example"), None),  # a name: who resolves it is not known here
        (BedHost("h", ("publishers",), address="10.0.0.9"), None),  # no server listens there
        (BedHost("h", ("publishers",), cpus=(2, 3, 4)), "CPU 4 is not there or not allowed, it has 4"),
    ],
)
def test_what_the_file_promises_is_compared_with_the_host(host: BedHost, problem: str | None) -> None:
    found = list(problems_of(host, FACTS))
    assert len(found) == (0 if problem is None else 1)
    assert problem is None or found[0].startswith(problem)


def test_consumers_need_java_and_publishers_do_not() -> None:
    bare = FACTS | {"java": None}
    assert list(problems_of(BedHost("h", ("publishers",)), bare)) == []
    assert list(problems_of(BedHost("h", ("consumers",)), bare)) == ["Java missing: back-end consumers need 17"]


def test_another_version_on_one_host_is_named() -> None:
    """Records of two versions are not one run's."""
    ours = software_versions()["telemark"]
    other = FACTS | {"versions": software_versions() | {"telemark": "0.0.1"}}
    assert other_versions({"a": FACTS, "b": other}) == {"b": [f"telemark 0.0.1, this host has {ours}"]}


def test_an_address_that_is_not_this_hosts_own_is_refused_before_spark_starts() -> None:
    """A copied bed file names another runner."""
    file = BedFile(Path("bed.toml"), "local[1]", "192.0.2.1", (BedHost("h", ("server",)),))
    with pytest.raises(ConfigError, match=r"bed\.toml: runner is 192\.0\.2\.1, port 0: ") as caught:
        check_bed(file, print)
    assert "address of this host" in str(caught.value.hint)


def test_the_tables_fit_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """With long names and clocks that are months apart; hosts that did not come are named below."""
    roles = ("publishers", "subscribers")
    there = HostCheck("ip-172-31-200-101", roles, FACTS, -12_345_678 * 10**9, 21_000)
    gone = HostCheck("10.0.0.9", ("server",), problems=("not reached: no free slot",))
    show([there, gone], Console(width=80))

    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) <= 80
    assert "-12,345,678.000" in "".join(printed)
    assert "10.0.0.9: not reached: no free slot" in printed
    assert printed[-1] == "1 of 2 hosts reached, 1 problem"
