"""Holds what a replica has to know before it writes to GitHub."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTurn:
    """How long no replica of a service has written to GitHub, and how long none may."""

    idle_s: float
    closed_s: float  # 0: GitHub set no limit that lasts
