"""From older formats of run.json to newer ones, one function each."""

from __future__ import annotations

from typing import Any, Final

Document = dict[str, Any]

# Format 1 had the fields of all load shapes in each run. What a shape uses, besides `limit` and `max_lateness_s`:
_SHAPE_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "idle": (),
    "paced": ("rate", "arrivals"),
    "batched": ("batch", "period_ms", "partitions"),
    "windowed": ("window", "refill"),
    "every": ("every_s",),
    "burst": ("rate", "burst_rate", "burst_s", "burst_every_s"),
    "steps": ("steps",),
}


def first_to_second(document: Document) -> Document:
    """Load with its shape's fields only, consumers with their kind (JMS was the only one), and a case."""
    plan = document.get("plan")
    if not isinstance(plan, dict):
        return document
    load, consumers = plan.get("load"), plan.get("consumers")
    changed: Document = {}
    if isinstance(load, dict):
        changed["load"] = _load(load)
        changed["case"] = plan.get("case") or _case(load.get("shape"))
    if isinstance(consumers, dict):
        changed["consumers"] = {"kind": "jms"} | consumers
    return document | {"plan": plan | changed}


def _load(load: Document) -> Document:
    kept = ("shape", *_SHAPE_FIELDS.get(str(load.get("shape")), tuple(load)), "limit", "max_lateness_s")
    return {name: load[name] for name in kept if name in load}


def _case(shape: object) -> Document:
    """What the result of such a run is; its words and published values were not kept."""
    if shape == "idle":
        return {"headline": "connect_rate", "statistics": "connect"}
    return {"headline": "peak_received_rate" if shape == "every" else "received_rate", "statistics": "latency"}
