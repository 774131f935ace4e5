"""What `telemark doctor` says about a host."""

from __future__ import annotations

import json
import resource
from pathlib import Path

from click.testing import CliRunner

from telemark.cli.doctor import command
from telemark.runner.doctor.kernel import SETTINGS, check_setting
from telemark.runner.doctor.limits import check_open_files

BY_NAME = {setting.name: setting for setting in SETTINGS}


def test_a_setting_below_the_need_of_the_devices_is_short_and_has_its_command() -> None:
    """One million devices do not fit into a million open files of the host."""
    finding = check_setting(BY_NAME["fs.file-max"], 1_000_000, "1000000")

    assert finding.state == "short"
    assert finding.fix == "sysctl -w fs.file-max=2001000"


def test_a_setting_other_than_published_only_differs() -> None:
    """Many settings of the report are not needed for a small run."""
    finding = check_setting(BY_NAME["net.ipv4.tcp_rmem"], 1_000, "4096 131072 6291456")

    assert finding.state == "differs"
    assert finding.fix == 'sysctl -w net.ipv4.tcp_rmem="4096 16384 8388608"'


def test_a_setting_this_kernel_does_not_show_is_unknown() -> None:
    """A container often hides net.core settings: that is neither good nor bad."""
    assert check_setting(BY_NAME["net.core.rmem_max"], 1_000, None).state == "unknown"


def test_a_soft_file_limit_is_raised_by_ulimit_and_a_hard_one_by_root() -> None:
    """The command must be one that can work."""
    soft_only = check_open_files(10_000, 1024, 1_048_576)
    hard = check_open_files(30_000, 20_000, 20_000)

    assert soft_only.fix == "ulimit -n 10200"
    assert "limits.d" in (hard.fix or "")
    assert check_open_files(10_000, resource.RLIM_INFINITY, resource.RLIM_INFINITY).state == "ok"


def test_every_setting_of_appendix_b_is_looked_at() -> None:
    """The kernel table of the MessageSight report, name by name."""
    published = {
        "fs.nr_open", "net.core.wmem_max", "net.core.rmem_max", "net.core.wmem_default", "net.core.rmem_default",
        "net.core.netdev_max_backlog", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_mem", "net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_window_scaling",
        "net.ipv4.tcp_sack", "net.ipv4.tcp_synack_retries", "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_fin_timeout", "kernel.threads-max", "kernel.pid_max",
        "vm.nr_hugepages", "vm.max_map_count",
    }  # fmt: skip

    assert published <= BY_NAME.keys()


def test_doctor_prints_json_and_its_code_says_whether_the_host_carries_the_devices(tmp_path: Path) -> None:
    """A billion devices never fit; the findings are complete and machine-readable."""
    result = CliRunner().invoke(
        command, ["--devices", "1000000000", "--out", str(tmp_path), "--json"], standalone_mode=False
    )

    content = json.loads(result.stdout)

    assert result.return_value == 4
    assert content["carries"] is False
    assert {finding["state"] for finding in content["findings"]} >= {"short"}
