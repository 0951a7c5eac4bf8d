"""Estimates how often the gate raises a false alarm, from checks of unchanged code."""

from dataclasses import dataclass

from scipy.special import betaincinv

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlarmRate:
    """The share of checks that failed without cause, with its interval."""

    checks: int
    false: int
    low: float
    high: float


def false_alarm_rate(*, false: int, checks: int) -> FalseAlarmRate:
    """Return the false-alarm rate of a gate over its A/A checks (both sides the same code).

    The interval is Clopper & Pearson's ("The use of confidence or fiducial limits", Biometrika 26,
    1934): exact, never too narrow. Without a false alarm in n checks the rate is up to 3.7 / n.
    Raises ValueError without checks, or for more false alarms than checks.
    """
    if not 0 <= false <= checks or checks < 1:
        msg = f"{false} false alarms in {checks} checks: use 0 <= false <= checks and checks >= 1"
        raise ValueError(msg)
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(false, checks - false + 1, tail)) if false else 0.0
    high = float(betaincinv(false + 1, checks - false, 1 - tail)) if false < checks else 1.0
    return FalseAlarmRate(checks=checks, false=false, low=low, high=high)
