"""Datagrams of the clock: who gets an answer, and which answer is believed."""

from __future__ import annotations

import hmac
import socket
import struct
from collections.abc import Iterator

import pytest

from telemark._native import ClockAsker, ClockResponder, monotonic_ns
from tests.support.waiting import eventually

KEY = b"k" * 32
LINE = 7


def sealed(key: bytes, kind: bytes, body: bytes) -> bytes:
    """As the protocol says: the first half of an HMAC-SHA-256 over kind and body follows the body."""
    return body + hmac.digest(key, kind + body, "sha256")[:16]


@pytest.fixture
def here() -> Iterator[socket.socket]:
    """A socket of the test's own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(10)
        yield made


@pytest.fixture
def asker(here: socket.socket) -> Iterator[ClockAsker]:
    """A host that asks the test."""
    made = ClockAsker(here.getsockname(), LINE, KEY, every_s=0.01, patience_s=5.0, burst=1)
    yield made
    made.close()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def test_only_a_question_that_its_key_vouches_for_is_answered(here: socket.socket) -> None:
    """Strangers, other lines, kinds and lengths get nothing; a dismissed line gets nothing any more."""
    responder = ClockResponder(address := ("127.0.0.1", free_port()))
    responder.admit(LINE, KEY)
    responder.admit(LINE + 1, b"other" * 6)
    body = struct.pack("!IQ", LINE, 41)
    refused = [
        b"",
        body,
        sealed(b"guess" * 6, b"question", body),
        sealed(KEY, b"answer", body),
        sealed(KEY, b"question", body + b"\0"),
        sealed(KEY, b"question", struct.pack("!IQ", LINE + 1, 41)),
        sealed(KEY, b"question", struct.pack("!IQ", LINE + 2, 41)),
    ]
    before = monotonic_ns()
    for datagram in [*refused, sealed(KEY, b"question", body)]:
        here.sendto(datagram, address)
    answer = here.recv(100)
    number, told_ns = struct.unpack("!Qq", answer[:-16])
    responder.dismiss(LINE)
    here.sendto(sealed(KEY, b"question", body), address)
    responder.close()
    here.setblocking(False)

    assert sealed(KEY, b"answer", answer[:-16]) == answer
    assert number == 41
    assert before <= told_ns <= monotonic_ns()
    with pytest.raises(BlockingIOError):  # everything that was refused came before the one that was answered
        here.recv(100)


def test_only_the_answer_to_the_latest_question_is_believed(here: socket.socket, asker: ClockAsker) -> None:
    """Forged answers and answers to earlier questions are dropped; the true one is still heard after them."""
    question, host = here.recvfrom(100)
    line, number = struct.unpack("!IQ", question[:-16])
    forged = [
        sealed(b"guess" * 6, b"answer", struct.pack("!Qq", number, 1)),
        sealed(KEY, b"answer", struct.pack("!Qq", number - 1, 2)),
        sealed(KEY, b"question", struct.pack("!Qq", number, 3)),
        question,
    ]
    for datagram in [*forged, sealed(KEY, b"answer", struct.pack("!Qq", number, -12_345))]:
        here.sendto(datagram, host)
    here.recvfrom(100)  # the next question: the first one was answered
    asked, told, answered = asker.drain()

    assert line == LINE
    assert sealed(KEY, b"question", question[:-16]) == question
    assert told == [-12_345]
    assert asked[0] < answered[0]
    assert asker.drain() == ([], [], [])


def test_a_host_goes_on_asking_after_the_runner_was_away() -> None:
    """Its port was closed for a while; nobody is told of it but by missing exchanges."""
    asker = ClockAsker(address := ("127.0.0.1", free_port()), LINE, KEY, every_s=0.01, patience_s=0.09, burst=1)
    assert asker.drain() == ([], [], [])
    responder = ClockResponder(address)
    responder.admit(LINE, KEY)
    assert eventually(lambda: asker.drain()[0])
    asker.close()
    responder.close()
