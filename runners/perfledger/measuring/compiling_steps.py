"""Notices slow steps that compile: they may use up a workload's time."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from perfledger.meters.compile_watch import CompileReader

# Seconds of steps after which it is read what they compiled.
MIN_STEP_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSteps:
    """How many steps have ended, and how many of them compiled at least; all seconds so far."""

    steps: int
    compiling_steps: int
    seconds: float
    compile_s: float


class CompilingSteps:
    """A listener to the ends of steps, which sends what they compiled if they take long."""

    def __init__(
        self,
        compiled: CompileReader,
        *,
        send: Callable[[CompiledSteps], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._compiled, self._send, self._clock = compiled, send, clock
        self._began = self._read_at = clock()
        self._steps = self._compiling_steps = 0
        self._compile_s = 0.0

    def end_step(self) -> None:
        """Send the sums so far if the last steps took long and compiled."""
        self._steps += 1
        now = self._clock()
        if now - self._read_at < MIN_STEP_SECONDS:
            return
        self._read_at = now
        record = self._compiled()
        if record is None or record.seconds <= self._compile_s:
            return
        self._compile_s = record.seconds
        self._compiling_steps += 1
        self._send(
            CompiledSteps(
                steps=self._steps,
                compiling_steps=self._compiling_steps,
                seconds=now - self._began,
                compile_s=self._compile_s,
            )
        )
