"""What QoS 1, QoS 2 and TLS cost the engine: processor time of a message over that of plain QoS 0, in one run.

1,000 publishers to 1 subscriber at 10,000 messages a second, 32 bytes, every message and acknowledgement recorded.
QoS 1 has four packets where QoS 0 has two (PUBLISH and PUBACK on either side), QoS 2 has eight: what grows more than
the packets is worth a look. The kinds take turns, and the medians are compared.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from connect_rate import write_certificate
from harness import LEAST_KEPT, EngineRun, Spent, loopback, plan, report, spend

from telemark.model.plan import EnginePlan, Group, Publish, Subscription, Tls
from telemark.model.plan.shapes.paced import Paced

RATE, PUBLISHERS = 10_000, 1_000
TURNS = 3
LIMIT = 4.0  # QoS 2: eight packets instead of two


@dataclass(frozen=True)
class Kind:
    """A kind of traffic."""

    qos: int = 0
    tls: Tls | None = None

    def spent(self, ports: dict[str, int]) -> Spent:
        """A run of this kind."""
        with EngineRun(self._plan(ports)) as run:
            return spend(run, RATE)

    def _plan(self, ports: dict[str, int]) -> EnginePlan:
        """All publishers to one subscriber."""
        taken = (Subscription("bench/#", qos=self.qos),)
        taker = Group("taker", 1, client_id="s{index}", subscriptions=taken)
        publish = Publish("bench/{index}", qos=self.qos)
        givers = Group("givers", PUBLISHERS, first_device=1, client_id="p{index}", publish=publish)
        return plan(ports["tls" if self.tls else "plain"], (taker, givers), self.tls, load=Paced(rate=RATE))


def main() -> None:
    """Take turns."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = write_certificate(Path(folder))
        secure = {"name": "tls", "port": 0, "security": "tls", "certificate": certificate, "key": key}
        kinds = {"qos0": Kind(), "qos1": Kind(1), "qos2": Kind(2), "tls": Kind(0, Tls("1.3", ca=certificate))}
        with loopback(listeners=[{"name": "plain", "port": 0}, secure]) as ports:
            turns = [{name: kind.spent(ports) for name, kind in kinds.items()} for _ in range(TURNS)]
    costs = {name: median(turn[name].us_per_message for turn in turns) for name in kinds}
    missing = sum(found.lost for turn in turns for found in turn.values())
    kept = min(found.rate_kept for turn in turns for found in turn.values())
    over = {f"{name}_over_qos0": round(cost / costs["qos0"], 2) for name, cost in costs.items() if name != "qos0"}
    value = costs["qos2"] / costs["qos0"]
    report(
        "qos_cost",
        value,
        LIMIT,
        value <= LIMIT and kept >= LEAST_KEPT and missing == 0,
        us_per_message={name: round(cost, 2) for name, cost in costs.items()},
        **over,
        least_rate_kept=round(kept, 3),
        lost=missing,
    )


if __name__ == "__main__":
    main()
