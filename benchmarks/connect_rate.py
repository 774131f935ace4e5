"""Connections a second, from the SYN to the CONNACK, against the built-in server; TLS of every kind beside it.

Plain connections are the value. TLS 1.2 and 1.3 make full handshakes; `resumed` cuts every connection and counts the
reconnects, whose handshakes resume the session; PSK has no certificate at all.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from harness import EngineRun, loopback, plan, report

from telemark.model.plan import Group, Load, Publish, Reconnect, Tls

DEVICES, TLS_DEVICES = 10_000, 1_000
LIMIT = 8_000


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


def full(port: int, devices: int, tls: Tls | None = None) -> float:
    """Rate of first connections."""
    group = Group("devices", devices, client_id="c{index}", source_addresses=("127.0.0.1", "127.0.0.2"))
    with EngineRun(plan(port, (group,), tls, connect_rate=0)) as run:
        run.ready()
        run.finish()
        return rate(run.table("connections"), resumed=None if tls is None else False)


def resumed(ports: dict[str, int], tls: Tls) -> float:
    """Rate of reconnects after the server has cut every connection."""
    cut = [{"client": f"c{index}", "after": 1} for index in range(TLS_DEVICES)]
    set_faults(ports["control"], {"disconnect": cut})
    load = Load("batched", batch=TLS_DEVICES, period_ms=1000, limit=TLS_DEVICES)
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
            plain = [full(ports["plain"], DEVICES) for _ in range(2)]
            value = min(plain)  # the worse of two: a lucky run proves nothing
            others = {
                "tls12_per_s": full(ports["tls"], TLS_DEVICES, Tls("1.2", "ECDHE-RSA-AES256-GCM-SHA384", certificate)),
                "tls13_per_s": full(ports["tls"], TLS_DEVICES, Tls("1.3", "TLS_AES_256_GCM_SHA384", certificate)),
                "tls12_resumed_per_s": resumed(ports, Tls("1.2", ca=certificate, resume=True)),
                "tls13_resumed_per_s": resumed(ports, Tls("1.3", ca=certificate, resume=True)),
                "psk_per_s": full(ports["psk"], TLS_DEVICES, psk),
            }
    rounded = {name: round(found) for name, found in others.items()}
    runs = [round(run) for run in plain]
    report(
        "connect_rate",
        value,
        LIMIT,
        value >= LIMIT,
        devices=DEVICES,
        plain_runs=runs,
        **rounded,
    )


if __name__ == "__main__":
    main()
