"""Holds the states of an event."""

from enum import StrEnum


class EventState(StrEnum):
    """What is known of an event: what people say about it, or what later measurements show."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"  # somebody works on it
    EXPECTED = "expected"  # intended, for a reason and perhaps until a day
    FIXED = "fixed"  # a later change undid it; nobody but the measurements says so
    ENVIRONMENT = "environment"  # machines changed, not the code
