"""Connections a second, from the SYN to the CONNACK, against the built-in server; TLS of every kind beside it.

Plain connections are the value: the worse of two runs, with one engine thread or two, whichever is faster.
`one_address` puts 19,000 devices on one source address and compares the rate of the last quarter with that of the
first. TLS 1.2 and 1.3 make full handshakes; `resumed` cuts every connection and counts the reconnects, whose handshakes
resume the session; PSK has no certificate at all. The arithmetic of a full handshake (one RSA signature, one
verification, four X25519 multiplications) as `openssl speed` does it on all cores is the limit that TLS 1.2 is compared
with.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from harness import EngineRun, loopback, plan, report

from telemark.model.plan import Group, Publish, Reconnect, Tls
from telemark.model.plan.shapes.batched import Batched

DEVICES, TLS_DEVICES, ONE_ADDRESS = 10_000, 1_000, 19_000
LIMIT = 30_000
SOURCES = ("127.0.0.1", "127.0.0.2")


def write_certificate(folder: Path) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "benchmark")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(
        now + datetime.timedelta(days=1)
    )
    builder = builder.add_extension(address, critical=False)
    certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    formats = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *formats))
    return str(paths[0]), str(paths[1])


def rate(connections: pa.Table, attempt: int = 0, *, resumed: bool | None = None) -> float:
    """Connections a second between the first SYN and the last CONNACK; stops when one was refused or not as asked."""
    rows = connections.filter(pc.equal(connections["attempt"], attempt))
    if set(rows["result"].to_pylist()) != {"ok"}:
        sys.exit(f"not every connection succeeded: {rows['result'].value_counts().to_pylist()}")
    if set(rows["tls_resumed"].to_pylist()) != {resumed}:
        sys.exit(
            f"expected tls_resumed to be {resumed} for all, found {rows['tls_resumed'].value_counts().to_pylist()}"
        )
    elapsed = pc.max(rows["connack_ns"]).as_py() - pc.min(rows["started_ns"]).as_py()
    return float(rows.num_rows / elapsed * 1e9)


def connections(
    port: int, devices: int, tls: Tls | None = None, threads: int = 1, sources: Sequence[str] = SOURCES
) -> pa.Table:
    """Rows of first connections."""
    group = Group("devices", devices, client_id="c{index}", source_addresses=tuple(sources))
    with EngineRun(plan(port, (group,), tls, connect_rate=0, threads=threads)) as run:
        run.ready()
        run.finish()
        return run.table("connections")


def full(port: int, devices: int, tls: Tls | None = None, threads: int = 1) -> float:
    """Rate of first connections."""
    return rate(connections(port, devices, tls, threads), resumed=None if tls is None else False)


def last_over_first(port: int) -> float:
    """How the rate of the last quarter of the devices of one address compares with that of the first."""
    rows = connections(port, ONE_ADDRESS, sources=["127.0.0.3"]).sort_by("connack_ns")
    rate(rows)
    times, quarter = rows["connack_ns"].to_numpy(), ONE_ADDRESS // 4
    return float((times[quarter] - times[0]) / (times[-1] - times[-1 - quarter]))


def handshakes_possible() -> float:
    """Full handshakes a second of both sides on all cores, if there were nothing but their arithmetic."""
    command = ["openssl", "speed", "-mr", "-seconds", "2", "-multi", str(os.cpu_count() or 1), "rsa2048", "ecdhx25519"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    fields = {line.split(":")[0]: line.split(":") for line in lines if line.startswith("+F")}
    signed, verified, multiplied = float(fields["+F2"][3]), float(fields["+F2"][4]), float(fields["+F5"][3])
    return 1 / (1 / signed + 1 / verified + 4 / multiplied)


def resumed(ports: dict[str, int], tls: Tls) -> float:
    """Rate of reconnects after the server has cut every connection."""
    cut = [{"client": f"c{index}", "after": 1} for index in range(TLS_DEVICES)]
    set_faults(ports["control"], {"disconnect": cut})
    load = Batched(batch=TLS_DEVICES, period_ms=1000, limit=TLS_DEVICES)
    group = Group("devices", TLS_DEVICES, client_id="c{index}", publish=Publish("x"), reconnect=Reconnect("after", 2.0))
    with EngineRun(plan(ports["tls"], (group,), tls, connect_rate=0, load=load)) as run:
        run.ready()
        run.begin()
        run.until(lambda line: line.get("disconnects") == TLS_DEVICES)
        run.until(lambda line: line.get("ready") == TLS_DEVICES)
        run.finish()
        found = rate(run.table("connections"), attempt=1, resumed=True)
    set_faults(ports["control"], {})
    return found


def set_faults(port: int, faults: dict[str, Any]) -> None:
    """Tell the built-in server what to do wrong."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/faults", json.dumps(faults).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=5) as answer:
        answer.read()


def main() -> None:
    """Plain, then TLS of every kind."""
    with tempfile.TemporaryDirectory() as name:
        certificate, key = write_certificate(Path(name))
        keys = Path(name) / "keys"
        keys.write_text("".join(f"device{index}:{index + 1:032x}\n" for index in range(TLS_DEVICES)))
        listeners = [
            {"name": "plain", "port": 0},
            {"name": "tls", "port": 0, "security": "tls", "certificate": certificate, "key": key},
            {"name": "psk", "port": 0, "security": "psk", "psk_file": str(keys)},
        ]
        psk = Tls(cipher="PSK-AES256-CBC-SHA", psk_identity="device{index}", psk_file=str(keys))
        with loopback(listeners=listeners) as ports:
            plain = {n: [full(ports["plain"], DEVICES, threads=n) for _ in range(2)] for n in (1, 2)}
            value = max(min(runs) for runs in plain.values())  # the worse of two: a lucky run proves nothing
            steadiness = last_over_first(ports["plain"])
            others = {
                "tls12_per_s": full(ports["tls"], TLS_DEVICES, Tls("1.2", "ECDHE-RSA-AES256-GCM-SHA384", certificate)),
                "tls13_per_s": full(ports["tls"], TLS_DEVICES, Tls("1.3", "TLS_AES_256_GCM_SHA384", certificate)),
                "tls12_resumed_per_s": resumed(ports, Tls("1.2", ca=certificate, resume=True)),
                "tls13_resumed_per_s": resumed(ports, Tls("1.3", ca=certificate, resume=True)),
                "psk_per_s": full(ports["psk"], TLS_DEVICES, psk),
            }
    rounded = {name: round(found) for name, found in others.items()}
    possible = handshakes_possible()
    report(
        "connect_rate",
        value,
        LIMIT,
        value >= LIMIT,
        devices=DEVICES,
        plain_runs={threads: [round(run) for run in runs] for threads, runs in plain.items()},
        one_address_last_over_first=round(steadiness, 2),
        **rounded,
        tls_possible_per_s=round(possible),
        tls12_over_possible=round(others["tls12_per_s"] / possible, 2),
    )


if __name__ == "__main__":
    main()
