"""How runner and host agent show each other that they know the campaign's secret, without telling it.

    runner  hello     a random challenge, new for every connection
    agent   greeting  who it is, a challenge of its own, and a proof over both
    runner  welcome   a proof of its own over the same

A proof is an HMAC-SHA-256 over role, campaign, host, both challenges and the fingerprint of the certificate that the
connection is encrypted with (RFC 5929, tls-server-end-point). So a recorded greeting does not fit another challenge,
and somebody in the middle cannot pass a proof on, as his certificate is another. The two proofs differ by the role.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

SECRET_BYTES = 32
CHALLENGE_BYTES = 16


def new_secret() -> bytes:
    """The secret of one campaign."""
    return secrets.token_bytes(SECRET_BYTES)


def new_challenge() -> str:
    """Random text that no greeting has seen before."""
    return secrets.token_hex(CHALLENGE_BYTES)


@dataclass(frozen=True, slots=True)
class Handshake:
    """Everything both sides must agree on before either believes the other."""

    campaign: str
    host: str
    asked: str  # the runner's challenge
    answered: str  # the agent's
    fingerprint: bytes  # of the certificate each side sees on its own connection; empty when it is not encrypted

    def agent_proof(self, secret: bytes) -> str:
        """What an agent sends in its greeting."""
        return self._proof(secret, "agent").hex()

    def runner_proof(self, secret: bytes) -> str:
        """What the runner sends in its welcome."""
        return self._proof(secret, "runner").hex()

    def clock_key(self, secret: bytes) -> bytes:
        """The key that authenticates the clock's datagrams of this connection."""
        return self._proof(secret, "clock")

    def _proof(self, secret: bytes, role: str) -> bytes:
        parts = [role, self.campaign, self.host, self.asked, self.answered, self.fingerprint.hex()]
        return hmac.digest(secret, "\n".join(f"{len(part)}:{part}" for part in parts).encode(), "sha256")


def proves(expected: str, found: object) -> bool:
    """Whether a proof is the expected one, in constant time."""
    return isinstance(found, str) and hmac.compare_digest(expected.encode(), found.encode())
