"""Chooses one device or one rank of a recording."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChoice:
    """A device by its number, and a rank of the job; None means any."""

    device: int | None = None
    rank: int | None = None

    @property
    def is_any(self) -> bool:
        """Return whether all devices are chosen."""
        return self.device is None and self.rank is None


ANY_DEVICE = DeviceChoice()
