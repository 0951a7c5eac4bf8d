"""Holds what a replica has to know before it writes to GitHub."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTurn:
    """How long nobody has written, and how long nobody may; of all replicas of a service."""

    idle_s: float
    closed_s: float  # 0: GitHub set no limit that lasts
