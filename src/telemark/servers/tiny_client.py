"""A very small MQTT 3.1.1 client: asks a server whether it lets us in, and reads what it publishes about itself.

It exists so that adapters can check a login, a certificate or a listener before thousands of devices try, and read
`$SYS` topics. Load is the engine's job, and the packets are the engine's own. QoS 0 only; other packets are skipped.
"""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import dataclass

from telemark import _native
from telemark.errors import ServerError
from telemark.model.plan import Endpoint, Tls

LARGEST_PACKET = 128 << 10  # bytes: a topic and a number are far smaller
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
            secret = password.encode() if username and password else None
            self._send(_native.encode_connect(self._client_id, self._keep_alive_s, username or None, secret))
            self._read_answer(timeout_s)
        except BaseException:
            self._socket.close()
            self._socket = None
            raise
        return self

    def _read_answer(self, timeout_s: float) -> None:
        try:
            packet = self._packet(timeout_s)
        except ValueError as error:
            raise UnreachableError(f"{_address(self._endpoint)} does not speak MQTT: {error}") from error
        if packet.kind != "connack":
            raise UnreachableError(f"{_address(self._endpoint)} does not speak MQTT: its first packet is not CONNACK")
        if packet.code:
            reason = REFUSALS.get(packet.code, f"return code {packet.code}")
            raise LoginRefusedError(
                f"the server at {_address(self._endpoint)} refused the login: {reason}",
                hint="check the user name and the variable or file the password is read from",
            )

    def subscribe(self, *filters: str) -> None:
        """Ask for the topics at QoS 0; deliveries may begin at once."""
        self._send(_native.encode_subscribe(filters))

    def receive(self, timeout_s: float) -> Published | None:
        """The next message; None when none came in time. Raises OSError when the connection is gone."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                packet = self._packet(left)
            except TimeoutError:
                return None
            except ValueError as error:
                raise ConnectionError(f"{_address(self._endpoint)} sent what is no MQTT: {error}") from error
            if packet.kind == "publish":
                return Published(packet.topic, packet.payload, packet.retain)
        return None

    def ping(self) -> None:
        """Keep the connection alive."""
        self._send(_native.encode_pingreq())

    def close(self) -> None:
        """Disconnect in order. Safe to call twice."""
        if self._socket is not None:
            try:
                self._send(_native.encode_disconnect())
            except OSError:
                pass  # the server went first
            finally:
                self._socket.close()
                self._socket = None

    def __enter__(self) -> TinyClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, packet: bytes) -> None:
        if self._socket is None:
            raise ConnectionError("the connection is not open")
        self._socket.sendall(packet)

    def _packet(self, timeout_s: float) -> _native.ReceivedPacket:
        """The next whole packet. What was read stays buffered when the time is over in the middle of one."""
        deadline = time.monotonic() + timeout_s
        while (found := _native.decode_packet(self._buffer)) is None:
            left = deadline - time.monotonic()
            if left <= 0 or self._socket is None:
                raise TimeoutError(f"{_address(self._endpoint)} did not answer")
            self._socket.settimeout(left)
            data = self._socket.recv(65_536)
            if not data:
                raise ConnectionResetError(f"{_address(self._endpoint)} closed the connection")
            self._buffer += data
            if len(self._buffer) > LARGEST_PACKET + len(data):
                raise ValueError(f"a packet of more than {LARGEST_PACKET:,} bytes")
        packet, used = found
        self._buffer = self._buffer[used:]
        return packet


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
