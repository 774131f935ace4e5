"""What to run: the plan of a whole run, its parts, and the slice of it that an engine process plays."""

from telemark.model.plan.consumers import ConsumerPlan
from telemark.model.plan.engine import EnginePlan
from telemark.model.plan.groups import (
    MINIMUM_PAYLOAD,
    Endpoint,
    Group,
    ListenerPlan,
    Publish,
    Reconnect,
    Secret,
    Subscription,
    Tls,
    Version,
    Will,
)
from telemark.model.plan.phases import Phases
from telemark.model.plan.run import Profile, RunPlan, Size
from telemark.model.plan.shapes import SHAPES, Idle, LoadShape

__all__ = [
    "MINIMUM_PAYLOAD",
    "SHAPES",
    "ConsumerPlan",
    "Endpoint",
    "EnginePlan",
    "Group",
    "Idle",
    "ListenerPlan",
    "LoadShape",
    "Phases",
    "Profile",
    "Publish",
    "Reconnect",
    "RunPlan",
    "Secret",
    "Size",
    "Subscription",
    "Tls",
    "Version",
    "Will",
]
