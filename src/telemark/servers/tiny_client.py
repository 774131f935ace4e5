"""A very small MQTT 3.1.1 client: asks a server whether it lets us in, and reads what it publishes about itself.

It exists so that adapters can check a login, a certificate or a listener before thousands of devices try, and read
`$SYS` topics. Load is the engine's job. QoS 0 only; packets it does not know are skipped.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from dataclasses import dataclass

from telemark.errors import ServerError
from telemark.model.plan import Endpoint, Tls

CONNECT, CONNACK, PUBLISH, SUBSCRIBE, PINGREQ, DISCONNECT = 0x10, 0x20, 0x30, 0x82, 0xC0, 0xE0
# MQTT 3.1.1, table 3.1
REFUSALS = {
    1: "it does not accept MQTT 3.1.1",
    2: "it does not accept the client id",
    3: "it is not available",
    4: "user name or password is wrong",
    5: "it does not allow this client in",
}


@dataclass(frozen=True, slots=True)
class Published:
    """One message received."""

    topic: str
    payload: bytes
    retained: bool


class LoginRefusedError(ServerError):
    """The server answered and said no."""


class CertificateRefusedError(ServerError):
    """TLS could not be agreed on; the message says whose certificate and why."""


class UnreachableError(ServerError):
    """Nothing answers at the address."""


class TinyClient:
    """One connection, made by `open` and closed by `close` (or the end of a with block)."""

    def __init__(self, endpoint: Endpoint, client_id: str, *, keep_alive_s: int = 0) -> None:
        self._endpoint = endpoint
        self._client_id = client_id
        self._keep_alive_s = keep_alive_s
        self._socket: socket.socket | None = None
        self._buffer = b""

    def open(self, username: str | None = None, password: str | None = None, timeout_s: float = 5.0) -> TinyClient:
        """Connect and log in. Raises UnreachableError, CertificateRefusedError or LoginRefusedError."""
        self._socket = _connect(self._endpoint, timeout_s)
        try:
            self._send(CONNECT, _connect_body(self._client_id, self._keep_alive_s, username, password))
            self._read_answer(timeout_s)
        except BaseException:
            self._socket.close()
            self._socket = None
            raise
        return self

    def _read_answer(self, timeout_s: float) -> None:
        kind, body = self._packet(timeout_s)
        if kind & 0xF0 != CONNACK or len(body) < 2:
            raise UnreachableError(
                f"{_address(self._endpoint)} does not speak MQTT: CONNACK expected, {kind:#04x} found"
            )
        if body[1]:
            reason = REFUSALS.get(body[1], f"return code {body[1]}")
            raise LoginRefusedError(
                f"the server at {_address(self._endpoint)} refused the login: {reason}",
                hint="check the user name and the variable or file the password is read from",
            )

    def subscribe(self, *filters: str) -> None:
        """Ask for the topics at QoS 0; deliveries may begin at once."""
        body = struct.pack("!H", 1) + b"".join(_text(each) + b"\x00" for each in filters)
        self._send(SUBSCRIBE, body)

    def receive(self, timeout_s: float) -> Published | None:
        """The next message; None when none came in time. Raises OSError when the connection is gone."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                kind, body = self._packet(left)
            except TimeoutError:
                return None
            if kind & 0xF0 == PUBLISH:
                length = struct.unpack_from("!H", body)[0]
                skip = 2 if kind & 0x06 else 0  # packet identifier of QoS 1 and 2
                return Published(body[2 : 2 + length].decode(), body[2 + length + skip :], bool(kind & 1))
        return None

    def ping(self) -> None:
        """Keep the connection alive."""
        self._send(PINGREQ, b"")

    def close(self) -> None:
        """Disconnect in order. Safe to call twice."""
        if self._socket is not None:
            try:
                self._send(DISCONNECT, b"")
            except OSError:
                pass  # the server went first
            finally:
                self._socket.close()
                self._socket = None

    def __enter__(self) -> TinyClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, kind: int, body: bytes) -> None:
        if self._socket is None:
            raise ConnectionError("the connection is not open")
        self._socket.sendall(bytes([kind]) + _length(len(body)) + body)

    def _packet(self, timeout_s: float) -> tuple[int, bytes]:
        """The next whole packet. What was read stays buffered when the time is over in the middle of one."""
        deadline = time.monotonic() + timeout_s
        while (packet := _split(self._buffer)) is None:
            left = deadline - time.monotonic()
            if left <= 0 or self._socket is None:
                raise TimeoutError(f"{_address(self._endpoint)} did not answer")
            self._socket.settimeout(left)
            data = self._socket.recv(65_536)
            if not data:
                raise ConnectionResetError(f"{_address(self._endpoint)} closed the connection")
            self._buffer += data
        kind, body, used = packet
        self._buffer = self._buffer[used:]
        return kind, body


def check_login(endpoint: Endpoint, username: str | None = None, password: str | None = None) -> None:
    """Connect and disconnect once, to learn in words why devices could not."""
    client = TinyClient(endpoint, f"telemark-check-{time.monotonic_ns() % 10**9}")
    try:
        client.open(username, password).close()
    except OSError as error:
        raise UnreachableError(f"{_address(endpoint)} accepted the connection but not MQTT: {error}") from error


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Python's idea of the plan's TLS settings."""
    context = ssl.create_default_context(cafile=tls.ca)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        context.load_cert_chain(_first(tls.certificate), _first(tls.key) if tls.key else None)
    if tls.version == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if tls.version == "1.3":
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def _first(pattern: str) -> str:
    """The path of device 0: patterns with {index...} are for the engine."""
    head, brace, rest = pattern.partition("{")
    return head + "0" + rest.partition("}")[2] if brace else pattern


def _connect(endpoint: Endpoint, timeout_s: float) -> socket.socket:
    address = (endpoint.host, endpoint.port)
    try:
        plain = socket.create_connection(address, timeout_s)
    except OSError as error:
        raise UnreachableError(
            f"the server at {_address(endpoint)} cannot be reached: {error}",
            hint="check host and port, and that the server is running",
        ) from error
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if endpoint.tls is None:
        return plain
    try:
        return tls_context(endpoint.tls).wrap_socket(plain, server_hostname=endpoint.tls.server_name or endpoint.host)
    except ssl.SSLCertVerificationError as error:
        raise CertificateRefusedError(
            f"the certificate of {_address(endpoint)} was refused: {error.verify_message}", hint=_remedy(error)
        ) from error
    except OSError as error:
        raise CertificateRefusedError(f"TLS with {_address(endpoint)} failed: {error}") from error


def _remedy(error: ssl.SSLCertVerificationError) -> str:
    """What to do about a certificate, by OpenSSL's verify code."""
    if error.verify_code == 10:  # X509_V_ERR_CERT_HAS_EXPIRED
        return "the server needs a new certificate; nothing was measured"
    return "give the CA that signed it, or the name it was issued for"


def _address(endpoint: Endpoint) -> str:
    return f"{endpoint.host}:{endpoint.port}"


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("!H", len(data)) + data


def _length(value: int) -> bytes:
    """Remaining length, MQTT 3.1.1 section 2.2.3."""
    out = bytearray()
    while True:
        value, digit = divmod(value, 128)
        out.append(digit | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _split(data: bytes) -> tuple[int, bytes, int] | None:
    """First packet of the bytes as (first byte, body, bytes used); None when it is not all there."""
    length = 0
    for place in range(4):
        if len(data) < place + 2:
            return None
        length |= (data[place + 1] & 0x7F) << (7 * place)
        if not data[place + 1] & 0x80:
            end = place + 2 + length
            return (data[0], data[place + 2 : end], end) if len(data) >= end else None
    raise ConnectionError("malformed remaining length")


def _connect_body(client_id: str, keep_alive_s: int, username: str | None, password: str | None) -> bytes:
    flags = 0x02 | (0x80 if username else 0) | (0x40 if username and password else 0)  # clean session
    body = _text("MQTT") + bytes([4, flags]) + struct.pack("!H", keep_alive_s) + _text(client_id)
    if username:
        body += _text(username) + (_text(password) if password else b"")
    return body
