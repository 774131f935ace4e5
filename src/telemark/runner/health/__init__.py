"""What a run costs the machine: samples about once a second, on the engine's clock, into the run folder."""

from telemark.runner.health.sampler import HealthSampler

__all__ = ["HealthSampler"]
