"""Reads the memory in use between blocks of steps, outside of their timing."""

from collections.abc import Callable

from perfledger.records import MemoryReadings

MAX_READINGS = 100  # per process: more would not improve the line through them


class MemoryWatch:
    """The memory in use after different numbers of steps of the first set-up."""

    def __init__(self, in_use_bytes: Callable[[], float | None]) -> None:
        self._in_use_bytes = in_use_bytes
        self._steps = 0
        self._readings: list[tuple[int, float]] = []

    def read(self, steps: int = 0) -> None:
        """Read the memory after `steps` more steps; a failed reading is left out."""
        self._steps += steps
        in_use = self._in_use_bytes() if len(self._readings) < MAX_READINGS else None
        if in_use is not None:
            self._readings.append((self._steps, in_use))

    def readings(self) -> MemoryReadings:
        """Return the readings so far."""
        return MemoryReadings(
            steps=tuple(steps for steps, _ in self._readings),
            in_use_bytes=tuple(in_use for _, in_use in self._readings),
        )
