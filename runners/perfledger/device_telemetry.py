"""Holds what the driver reported of one device while a step ran on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTelemetry:
    """The readings of one device during a run's measured steps; None is unknown."""

    place: int  # among the machine's devices, from 0
    name: str = ""  # its UUID
    readings: int = 0
    throttled: int = 0  # readings throttled by heat, board or power supply, not by the power cap
    slowed: Mapping[str, float] = field(default_factory=dict[str, float])  # cause → share, 0 to 1
    clock_mhz: float | None = None  # median
    power_w: float | None = None  # mean
    energy_per_step: float | None = None  # joules; only if that metric is requested
    memory_bytes: float | None = None  # largest use, of all processes
    pcie_bytes_per_s: float | None = None  # both ways, mean
    nvlink_bytes_per_s: float | None = None  # of all links, both ways, mean

    @property
    def throttled_share(self) -> float:
        """Return the share of the readings at which it was throttled."""
        return self.throttled / self.readings if self.readings else 0.0
