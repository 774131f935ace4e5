"""A plan becomes a run folder: phases, rendezvous, engine processes, health, campaigns.

The names are looked up when they are asked for: an engine process imports this package too, and must start fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from telemark.runner.campaign import CampaignOptions, CampaignOutcome, run_campaign
    from telemark.runner.progress import Progress, RunListener, RunOutcome
    from telemark.runner.run_point import PointJob, run_point

_PLACES = {
    "CampaignOptions": "campaign",
    "CampaignOutcome": "campaign",
    "PointJob": "run_point",
    "Progress": "progress",
    "RunListener": "progress",
    "RunOutcome": "progress",
    "run_campaign": "campaign",
    "run_point": "run_point",
}

__all__ = [
    "CampaignOptions",
    "CampaignOutcome",
    "PointJob",
    "Progress",
    "RunListener",
    "RunOutcome",
    "run_campaign",
    "run_point",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
