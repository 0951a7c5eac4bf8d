"""The quantities that a start time can minimise."""

from enum import StrEnum


class StartObjective(StrEnum):
    """The quantity to minimise."""

    KG = "kg"
    USD = "usd"
