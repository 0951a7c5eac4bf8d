"""Holds pair spreads and the changes that they let a check detect."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadView:
    """Spread of one series' pairs without a change, and what pairs can detect.

    `sd` is the standard deviation of a pair's difference of logs, None if unknown: `source` then
    says why. `detectable` is (pairs, relative change), `needed` is (relative change, pairs), None
    if no reasonable number of pairs is enough. `steps` per process is None if the samples do not
    show it, and `steps_note` says why.
    """

    name: str
    sd: float | None
    source: str
    detectable: tuple[tuple[int, float], ...] = ()
    needed: tuple[tuple[float, int | None], ...] = ()
    steps: int | None = None
    steps_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerView:
    """Detectable changes at an error rate and a power."""

    alpha: float  # shared by all tests
    tests: int
    floor: float  # relative: a smaller change is never called a change
    power: float
    spreads: tuple[SpreadView, ...]
