"""How many machines a load takes: hosts like this one, addresses, processes, memory, records and Spark cores.

The arithmetic is explained in docs/concepts/scale.md; its constants stand in `host/sizes.py`. Where this host has been
calibrated, the calibrated rate takes the place of the constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from telemark.host.limits import HostFacts
from telemark.host.sizes import CORE_RATE, DEVICE_BYTES, PROCESS_BYTES, ROW_BYTES, SOCKET_BYTES, SPARK_ROWS, TLS_BYTES
from telemark.model.slicing import EASY_PORT_USE

MEMORY_USE = 0.8  # of a host: the rest is for its system and the page cache of the records


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be carried by all hosts together."""

    devices: int
    messages_in: float  # a second
    messages_out: float
    tls: bool = False
    destinations: int = 1  # addresses of the server


@dataclass(frozen=True, slots=True)
class Scale:
    """What it takes, without the server's own machines."""

    hosts: int  # with devices, each like the one that was looked at
    limited_by: str  # what decides their number
    processes: int  # engine processes of all hosts
    source_addresses: int  # of all hosts
    memory_bytes: int  # of all hosts
    record_bytes_per_hour: int
    spark_cores: int  # to analyse an hour of records within an hour


def scale(load: Load, host: HostFacts, ceiling_rate: float | None = None) -> Scale:
    """How many hosts like `host` the load takes.

    Args:
        load: all of it.
        host: what one host has and allows.
        ceiling_rate: messages a second that one host was calibrated to carry; None: CORE_RATE for each core.
    """
    each = DEVICE_BYTES + SOCKET_BYTES // 2 + (TLS_BYTES if load.tls else 0)  # the socket's other end is the server's
    per_process = host.limits.devices_per_process()
    with_process = each + PROCESS_BYTES / per_process
    by = {
        "memory": load.devices * with_process / (host.memory_bytes * MEMORY_USE),
        "open files": load.devices / host.system_files,
        "message rate": (load.messages_in + load.messages_out) / (ceiling_rate or CORE_RATE * host.cores),
    }
    limited_by = max(by, key=lambda name: by[name])
    hosts = max(1, ceil(by[limited_by]))
    by_rate = ceil((load.messages_in + load.messages_out) / hosts / CORE_RATE)  # a process has one thread
    processes = hosts * max(1, ceil(load.devices / hosts / per_process), min(by_rate, host.cores))
    ports = host.limits.source_ports * EASY_PORT_USE * load.destinations
    return Scale(
        hosts=hosts,
        limited_by=limited_by,
        processes=processes,
        source_addresses=hosts * max(1, ceil(load.devices / hosts / ports)),
        memory_bytes=load.devices * each + processes * PROCESS_BYTES,
        record_bytes_per_hour=int(load.messages_out * 3600 * ROW_BYTES),
        spark_cores=max(1, ceil(load.messages_out / SPARK_ROWS)),
    )
