"""Rounds numbers to digits and decimals: the only place that does so for people.

A person never reads an exponent: thousands have separators, and numbers beyond all plain digits are
written with a power of ten. NaN and infinity are shown as "not known".
"""

import math
from decimal import Context, Decimal, localcontext

from perfledger.time_units import SECONDS_PER_MINUTE

NOT_KNOWN = "not known"
NBSP = "\N{NO-BREAK SPACE}"

# Numbers beyond these are written with powers of ten, because so many digits are unreadable.
HUGE = 1e15
TINY = Decimal("1e-9")

_TIMES_TEN = f"{NBSP}\N{MULTIPLICATION SIGN}{NBSP}10"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# As many as people type, and enough to tell the ticks of any axis apart.
_TYPED_DIGITS = 6
_WHOLE_PERCENTS_FROM = 10  # above, no message needs a tenth of a percent
_ALMOST_ALL_PERCENT = (99.05, 99.95)  # here a tenth tells that something is left
_MIN_P_VALUE = 0.0001  # less would claim knowledge of the tails
# A larger value is not a measurement, and rounding it may overflow.
_MAX_MAGNITUDE = 1e100
_MINUTES_FROM_S = 2 * SECONDS_PER_MINUTE  # shorter times are in seconds
_WHOLE_MINUTES_FROM = 10  # above, no limit needs a tenth of a minute
# Half to even, whatever the thread's context is.
_HALF_TO_EVEN = Context()


def is_number(value: float) -> bool:
    """Return whether a value can be written as a number: not NaN, infinite or absurdly large."""
    return abs(value) < _MAX_MAGNITUDE  # False for NaN


def digits(value: Decimal | float, most: int = 4) -> str:
    """Return a number with at most `most` significant digits: "23,360", "0.25", "1.5"."""
    value = float(value)
    if not is_number(value):
        return NOT_KNOWN
    figure, times_ten, power = significant(value, most).partition(_TIMES_TEN)
    trimmed = figure.rstrip("0").rstrip(".") if "." in figure else figure
    return f"{trimmed}{times_ten}{power}"


def typed(value: Decimal | float) -> str:
    """Return a number as people type it, and the label of a tick: "2,500", "0.05"."""
    return digits(value, _TYPED_DIGITS)


def significant(value: float, most: int) -> str:
    """Return a finite number with exactly `most` significant digits: "1.50"; zero is "0"."""
    rounded = to_significant(value, most)
    if not rounded:
        return "0"
    if not TINY <= abs(rounded) < HUGE:
        return with_power_of_ten(rounded, most)
    exponent = math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(most - 1 - exponent, 0)}f}"


def to_significant(value: float, most: int) -> float:
    """Return the nearest number with `most` significant digits."""
    return float(f"{value:.{most - 1}e}")


def decimals(value: Decimal | float, places: int) -> str:
    """Return a number with so many decimals, rounded half to even: "1,234.50", never "-0"."""
    if not (value.is_finite() if isinstance(value, Decimal) else is_number(value)):
        return NOT_KNOWN
    if not -HUGE < value < HUGE:
        return with_power_of_ten(value, 3)
    with localcontext(_HALF_TO_EVEN):
        return f"{value:z,.{places}f}"


def integer(value: Decimal | float) -> str:
    """Return a number without decimals: "36,288"."""
    return decimals(value, 0)


def minutes(seconds: float) -> str:
    """Return how long something may last, as a sentence has it: "45 s", "2.5 minutes"."""
    if seconds < _MINUTES_FROM_S:
        return f"{integer(max(seconds, 0.0))} s"
    value = seconds / SECONDS_PER_MINUTE
    return f"{digits(value, 2) if value < _WHOLE_MINUTES_FROM else integer(value)} minutes"


def percentage(share: Decimal | float) -> str:
    """Return a share of one as a person reads it: "84 %", "5.4 %", "0.12 %", "99.6 %".

    Two digits below 10 %, whole percents from there on, and a tenth close to all.
    """
    percent = 100 * float(share)
    if not is_number(percent):
        return NOT_KNOWN
    if abs(percent) < _WHOLE_PERCENTS_FROM:
        return f"{digits(percent, 2)} %"
    low, high = _ALMOST_ALL_PERCENT
    return f"{decimals(percent, 1 if low <= abs(percent) < high else 0)} %"


def probability(value: float) -> str:
    """Return a p-value: "0.012", and "< 0.0001" for anything smaller."""
    if not is_number(value):
        return NOT_KNOWN
    least = digits(_MIN_P_VALUE)
    return f"<{NBSP}{least}" if value < _MIN_P_VALUE else digits(value, 2)


def p_value(value: float) -> str:
    """Return a p-value as a sentence has it: "p = 0.012", "p below 0.0001"."""
    if value < _MIN_P_VALUE:
        return f"p below {digits(_MIN_P_VALUE)}"
    return f"p = {probability(value)}"


def exact(value: Decimal) -> str:
    """Return all digits of a decimal, such as a price as its provider states it: "12.2400"."""
    return f"{value:,f}"


def with_power_of_ten(value: Decimal | float, most: int) -> str:
    """Return a number that is too large or too small for plain digits: "1.5 times 10²⁰"."""
    figure, _, exponent = f"{value:.{most - 1}e}".partition("e")
    return f"{figure}{_TIMES_TEN}{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def for_programs(value: Decimal | float, most: int = _TYPED_DIGITS) -> str:
    """Return a number for a command, a setting or a form: without separators and exponents."""
    return f"{Decimal(f'{value:.{most}g}'):f}"
