"""Defines the clock of a step, and the host's clock."""

from collections.abc import Callable
from time import perf_counter
from typing import Protocol


class Clock(Protocol):
    """A clock that waits until the device has finished a step."""

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once and return its duration in seconds."""
        ...


class HostClock:
    """The host's monotonic clock, for steps that are done when they return."""

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once and return its duration in seconds."""
        start = perf_counter()
        step()
        return perf_counter() - start
