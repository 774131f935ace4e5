"""What `telemark doctor` says about a host."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest
from click.testing import CliRunner

from telemark.cli.doctor import command
from telemark.runner.doctor import cards
from telemark.runner.doctor.kernel import SETTINGS, check_setting
from telemark.runner.doctor.limits import check_open_files
from telemark.runner.doctor.services import check_services

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


def card_root(tmp_path: Path, affinity: str) -> Path:
    """A machine with four CPUs and one card whose interrupts are named after its device."""
    card = tmp_path / "sys/class/net/eth0"
    device = tmp_path / "sys/devices/virtio3"
    for folder in (card, device, tmp_path / "proc/irq/31", tmp_path / "sys/devices/system/cpu"):
        folder.mkdir(parents=True)
    (card / "device").symlink_to(device)
    (card / "tx_queue_len").write_text("1000\n")
    (card / "mtu").write_text("1500\n")
    (tmp_path / "proc/interrupts").write_text(
        " 30:  5  PCI-MSI 4 virtio2-input.0\n 31:  5  PCI-MSI 5 virtio3-input.0\n"
    )
    (tmp_path / "proc/irq/31/smp_affinity_list").write_text(f"{affinity}\n")
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-3\n")
    return tmp_path


@pytest.mark.parametrize(("affinity", "state"), [("0-3", "differs"), ("1", "ok")])
def test_rings_coalescing_and_interrupts_of_a_card_are_read_and_judged(
    tmp_path: Path, affinity: str, state: str
) -> None:
    rings = [0, 4096, 0, 0, 16384, 4096, 0, 0, 256]
    coalescing = [0] * 23
    coalescing[1] = 10
    answers = {cards.GET_RINGS: rings, cards.GET_COALESCE: coalescing}
    found = {
        finding.name: finding
        for finding in cards.check_cards(card_root(tmp_path, affinity), lambda card, command, size: answers[command])
    }

    assert ("ok", "txqueuelen 1000, MTU 1500") == (found["card eth0"].state, found["card eth0"].has)
    assert ("differs", "ethtool -G eth0 rx 4096 tx 8192") == (
        found["card eth0 rings"].state, found["card eth0 rings"].fix,
    )  # fmt: skip
    assert ("ok", "adaptive-rx off, rx-usecs 10, rx-frames 0, tx-usecs 0, tx-frames 0") == (
        found["card eth0 coalescing"].state, found["card eth0 coalescing"].has,
    )  # fmt: skip
    assert (state, f"1 interrupts on CPUs {affinity}") == (
        found["card eth0 interrupts"].state, found["card eth0 interrupts"].has,
    )  # fmt: skip


def test_a_driver_that_tells_nothing_makes_a_finding_unknown() -> None:
    """Neither fine nor wrong; and asking about a card that is not there raises nothing."""
    assert cards.ask_driver("no-such-card", cards.GET_RINGS, cards.RING_NUMBERS) is None
    assert {"unknown"} == {cards.check_rings("x", None).state, cards.check_coalescing("x", None).state}


def test_services_that_the_report_stops_are_named(tmp_path: Path) -> None:
    for pid, name in ((1, "init"), (7, "cron"), (8, "cupsd")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
    (tmp_path / "net").mkdir()
    (tmp_path / "net/ip_tables_names").write_text("filter\nnat\n")
    services, firewall = check_services(tmp_path)

    assert ("differs", "cupsd, cron", "systemctl stop cupsd cron") == (services.state, services.has, services.fix)
    assert ("differs", "tables filter, nat") == (firewall.state, firewall.has)
    assert {"ok"} == {finding.state for finding in check_services(tmp_path / "7")}
