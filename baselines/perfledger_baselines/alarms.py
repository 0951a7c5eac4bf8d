"""Checks that changed nothing in, how often a gate raises a false alarm out, with a bound."""

from dataclasses import dataclass

from scipy.stats import beta

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRate:
    """How often a gate was red without cause: the share seen, and what it may truly be."""

    checks: int
    false: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Return the share of the checks that were falsely red."""
        return self.false / self.checks


def alarm_rate(*, false: int, checks: int, confidence: float = CONFIDENCE) -> AlarmRate:
    """Return the false-alarm rate of a gate over its A/A checks (both sides the same code).

    The interval is Clopper & Pearson's ("The use of confidence or fiducial limits", Biometrika 26,
    1934): exact, never too narrow. No false alarm in n checks leaves up to 3.7 / n. Raises
    ValueError without checks, or for more false ones than there are.
    """
    if not 0 <= false <= checks or checks < 1:
        msg = f"{false} false alarms in {checks} checks: give at least one check, and no more false"
        raise ValueError(msg)
    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, false, checks - false + 1)) if false else 0.0
    high = float(beta.ppf(1 - tail, false + 1, checks - false)) if false < checks else 1.0
    return AlarmRate(checks=checks, false=false, low=low, high=high)
