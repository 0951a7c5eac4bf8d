"""Formats seconds, bytes, shares and dollars for people.

The only place that rounds numbers. A no-break space joins a figure and its unit, so that no table
separates them. NaN and infinity are shown as "not known".
"""

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal, localcontext
from typing import TypeVar

from perfledger_cost_models.money import CENT, to_decimal
from perfledger_cost_models.units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

Value = TypeVar("Value")

NOT_KNOWN = "not known"
NOTHING = "\N{EN DASH}"
NBSP = "\N{NO-BREAK SPACE}"
INTERVAL_TO = f"{NBSP}to{NBSP}"

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\N{MICRO SIGN}s"), (1e-9, "ns"))
_BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_DURATIONS = (
    (SECONDS_PER_DAY, "d"),
    (SECONDS_PER_HOUR, "h"),
    (SECONDS_PER_MINUTE, "min"),
    (1, "s"),
)
_COUNTS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))

_UNIT = re.compile(r"\s[^\s\d]+$")
# A picosecond, the finest resolution of a profiler's clock.
_SHORTEST_SECONDS = 1e-12
# Larger numbers are written with powers of ten, because so many digits are unreadable.
_HUGE = 1e15
_MOST_PERCENT = 100.0  # 10,000 %; larger percentages are hard to read
# A larger value is not a measurement, and rounding it may overflow.
_LARGEST = 1e100
# Higher confidences are shown as this: more digits would claim knowledge of the tails.
_CERTAIN = 0.9999
_CENTS_BELOW = 100
# Below this, three digits show less than an hour.
_WHOLE_HOURS_FROM = 100
# Below this, three digits of a price per million are shown, because cents would round it to zero.
_FINE_BELOW = Decimal("0.1")
_TINY_USD = Decimal("1e-6")
# Half to even, whatever the thread's context is. Its 28 digits are enough for amounts below _HUGE.
_ROUNDING = Context()


def quantity(number: int, noun: str) -> str:
    """Return a number with a noun whose plural ends in s: "1 node", "2 changes of states"."""
    if number != 1:
        first, space, rest = noun.partition(" ")
        is_phrase = rest.startswith(("of ", "that "))
        noun = f"{first}s{space}{rest}" if is_phrase else f"{noun}s"
    return f"{number:,} {noun}"


def interval(low: Value, high: Value, form: Callable[[Value], str]) -> str:
    """Return an interval's ends; a shared unit is written once: "1.2 to 3.4 ms"."""
    ends = form(low), form(high)
    if ends[0] == ends[1]:
        return ends[0]
    units = [_UNIT.search(end) for end in ends]
    if units[0] and units[1] and units[0][0] == units[1][0]:
        ends = ends[0][: units[0].start()], ends[1]
    return INTERVAL_TO.join(ends)


def seconds(value: float) -> str:
    """Return a duration in s, ms, µs or ns with three digits: "12.3 ms".

    A duration below any clock's resolution is a rounding error: zero.
    """
    return _with_unit_prefix(0.0 if abs(value) < _SHORTEST_SECONDS else value, _SECONDS)


def hours(value: float) -> str:
    """Return a long duration, given in seconds, in hours with three digits: "0.442 h"."""
    return f"{_significant(value / SECONDS_PER_HOUR, 3)}{NBSP}h" if _is_number(value) else NOT_KNOWN


def device_hours(value: float) -> str:
    """Return a number of hours, rounded to whole hours from 100: "0.442 h", "36,288 h"."""
    is_whole = _WHOLE_HOURS_FROM <= abs(value) < _HUGE
    return f"{value:,.0f}{NBSP}h" if is_whole else hours(value * SECONDS_PER_HOUR)


def duration(value: float) -> str:
    """Return a time, in seconds, in the largest unit that leaves a digit before the point: "1.5 h".

    Rounded to milliseconds, like stored times.
    """
    value = round(value, 3)
    size, unit = next((pair for pair in _DURATIONS if abs(value) >= pair[0]), _DURATIONS[-1])
    return f"{value / size:.3g} {unit}"


def signed_seconds(value: float) -> str:
    """Return a difference of durations with its sign: "+1.92 ms"."""
    figure = seconds(abs(value))
    return figure if _is_nothing(figure) else ("+" if value > 0 else "-") + figure


def byte_count(value: float) -> str:
    """Return bytes in B, KiB, MiB, GiB or TiB with three digits: "1.52 GiB"."""
    return _with_unit_prefix(value, _BYTES)


def signed_bytes(value: float) -> str:
    """Return a difference of bytes with its sign: "+1.52 GiB"."""
    figure = byte_count(abs(value))
    return figure if _is_nothing(figure) else ("+" if value > 0 else "-") + figure


def count(value: float) -> str:
    """Return a number with four digits and thousands separators: "83,210", "1.25", "12"."""
    if not _is_number(value):
        return NOT_KNOWN
    rounded = float(f"{value:.3e}")
    if rounded.is_integer() and abs(rounded) < _HUGE:
        return f"{rounded + 0.0:,.0f}"
    return _significant(value, 4)


def flops(value: float) -> str:
    """Return floating-point operations with three digits: "4.31 GFLOP"."""
    scale, prefix = _scale(value, _COUNTS)
    figure = _significant(value / scale, 3) if _is_number(value) else NOT_KNOWN
    return figure if figure == NOT_KNOWN else f"{figure}{NBSP}{prefix}FLOP"


def flops_per_second(value: float) -> str:
    """Return floating-point operations per second with three digits: "297 TFLOP/s"."""
    figure = flops(value)
    return figure if figure == NOT_KNOWN else f"{figure}/s"


def bytes_per_second(value: float) -> str:
    """Return a bandwidth in decimal units, as vendors state it: "1.56 TB/s"."""
    scale, prefix = _scale(value, _COUNTS)
    return f"{_significant(value / scale, 3)}{NBSP}{prefix}B/s" if _is_number(value) else NOT_KNOWN


def unit_rate(value: float, unit: str) -> str:
    """Return a rate in a canary's unit: FLOP, B, or whatever is counted."""
    match unit:
        case "FLOP":
            return flops_per_second(value)
        case "B":
            return bytes_per_second(value)
        case _:
            return f"{count(value)} {unit}/s"


def hertz(value: float) -> str:
    """Return a frequency with three digits: "1.41 GHz"."""
    scale, prefix = _scale(value, _COUNTS)
    return f"{_significant(value / scale, 3)}{NBSP}{prefix}Hz" if _is_number(value) else NOT_KNOWN


def joules(value: float) -> str:
    """Return an energy with three digits: "412 J", "3.1 kJ"."""
    scale, prefix = _scale(value, _COUNTS)
    return f"{_significant(value / scale, 3)}{NBSP}{prefix}J" if _is_number(value) else NOT_KNOWN


def share(value: float) -> str:
    """Return a share of one as a percentage without a sign: "82.4 %"."""
    return _percent(value).removeprefix("+")


def least_share(value: float) -> str:
    """Return a share that is a lower bound: "at least 82.4 %"."""
    return f"at least {share(value)}" if _is_number(value) else NOT_KNOWN


def whole_share(value: float) -> str:
    """Return a share to the whole percent: "83 %"."""
    return f"{round(value * 100):,d}{NBSP}%" if _is_number(value) else NOT_KNOWN


def percent(value: float) -> str:
    """Return a relative change with its sign: 0.182 is "+18.2 %"; 149 is "150 times"."""
    if _is_number(value) and value >= _MOST_PERCENT:
        return factor(1 + value)
    return _percent(value)


def change(point: float, low: float, high: float) -> tuple[str, str]:
    """Return a relative change and its interval: "+18.2 %", "+16.9 to +19.6"."""
    digits = _percent_digits((point, low, high))
    if digits is None:
        return NOT_KNOWN, NOT_KNOWN
    ends = (_with_sign(low * 100, digits), _with_sign(high * 100, digits))
    return f"{_with_sign(point * 100, digits)}{NBSP}%", INTERVAL_TO.join(ends)


def change_with_interval(point: float, low: float, high: float) -> str:
    """Return a relative change with its interval: "+18.2 % (+16.9 to +19.6)"."""
    size, ends = change(point, low, high)
    return f"{size} ({ends})"


def change_and_bounds(point: float, low: float, high: float) -> tuple[str, str]:
    """Return a relative change and its interval; "" for a counted figure's, which has no width."""
    size, ends = change(point, low, high)
    return size, "" if low == high else ends


def margin(value: float) -> str:
    """Return a share or limit as configured: 0.003 is "0.3 %"."""
    return f"{value * 100:.4g}{NBSP}%" if _is_number(value) else NOT_KNOWN


def factor(value: float) -> str:
    """Return a factor: "2.1 times"."""
    return f"{_significant(value, 2)}{NBSP}times" if _is_number(value) else NOT_KNOWN


def probability(value: float) -> str:
    """Return a p-value: "0.012", and "< 0.0001" for anything smaller."""
    if not _is_number(value):
        return NOT_KNOWN
    return f"<{NBSP}0.0001" if value < 0.0001 else f"{value:.2g}"  # noqa: PLR2004 - as it reads


def confidence(value: float) -> str:
    """Return a confidence below one, never rounded up to certainty: "98.7 %", "> 99.99 %"."""
    if not _is_number(value):
        return NOT_KNOWN
    if value > _CERTAIN:
        return f">{NBSP}{_CERTAIN * 100:.4g}{NBSP}%"
    return f"{min(value * 100, 99.99):.4g}{NBSP}%"


def usd(value: Decimal | float) -> str:
    """Return an amount: cents below 100 USD, whole dollars with separators above.

    Rounds half to even. Below ten cents it keeps three digits, so that no price is rounded to zero.
    """
    value = value if isinstance(value, Decimal) else to_decimal(value)
    if not value.is_finite():
        return NOT_KNOWN
    if value and not _TINY_USD <= abs(value) < Decimal(_HUGE):
        return f"{value:.1e}{NBSP}USD"
    with localcontext(_ROUNDING):
        if abs(value) >= _CENTS_BELOW:
            figure = f"{value.quantize(Decimal(1)):,f}"
        elif abs(value) >= _FINE_BELOW or not value:
            figure = f"{value.quantize(CENT):f}"
        else:
            figure = f"{value.quantize(Decimal(1).scaleb(value.adjusted() - 2)):f}"
    return f"{figure}{NBSP}USD"


def usd_interval(low: Decimal, high: Decimal) -> str:
    """Return the ends of an amount's interval, each as `usd` has it: "1.20 to 1.35"."""
    return INTERVAL_TO.join(usd(end).removesuffix(f"{NBSP}USD") for end in (low, high))


def cents(value: Decimal) -> str:
    """Return an amount to the cent, with separators and without its unit."""
    if not value.is_finite():
        return NOT_KNOWN
    if abs(value) >= Decimal(_HUGE):
        return f"{value:.2e}"
    with localcontext(_ROUNDING):
        return f"{value.quantize(CENT) + 0:,f}"


def yearly_usd(value: Decimal, low: Decimal, high: Decimal) -> tuple[str, str]:
    """Return a yearly amount and its interval: "12,300 USD", "10,900 to 13,800".

    All are rounded to three digits of the largest; an estimate is no more precise. The interval has
    signs only if its ends have different ones.
    """
    if not all(amount.is_finite() for amount in (value, low, high)):
        return NOT_KNOWN, NOT_KNOWN
    largest = max(abs(value), abs(low), abs(high))
    digits = max(largest.adjusted() - 2, -2)
    is_mixed = low < 0 < high
    if not is_mixed and high <= 0:
        low, high = -high, -low
    ends = [_rounded_usd(end, digits) for end in (low, high)]
    if is_mixed:
        ends[1] = f"+{ends[1]}"
    return f"{_rounded_usd(abs(value), digits)}{NBSP}USD", INTERVAL_TO.join(ends)


def axis(largest: float, unit: str) -> tuple[float, str]:
    """Return the factor and unit to draw values up to `largest`; unknown units stay as they are."""
    scales = {"s": _SECONDS, "B": _BYTES}.get(unit)
    if unit == "1":
        return 100.0, "%"
    if unit == "FLOP":
        scale, prefix = _scale(largest, _COUNTS)
        return 1 / scale, f"{prefix}FLOP"
    if scales is None:
        return 1.0, unit
    scale, scaled_unit = _scale(largest, scales)
    return 1 / scale, scaled_unit


def day(value: date) -> str:
    """Return a date in ISO 8601: "2026-11-09"."""
    return value.isoformat()[:10]


def days(first: date | None, last: date | None) -> str:
    """Return a period's first and last day, "" if unknown: "2026-10-01 to 2026-10-02"."""
    if first is None or last is None:
        return ""
    return INTERVAL_TO.join((day(first), day(last)))


def moment(value: str | datetime) -> str:
    """Return an instant to the minute: "2026-11-20 14:03 UTC"; "not known" if it cannot be read."""
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return NOT_KNOWN
    return f"{instant:%Y-%m-%d %H:%M} UTC"


def _is_number(value: float) -> bool:
    return abs(value) < _LARGEST  # False for NaN


def _with_unit_prefix(value: float, scales: Sequence[tuple[float, str]]) -> str:
    if not _is_number(value):
        return NOT_KNOWN
    scale, unit = _scale(value, scales)
    return f"{_significant(value / scale, 3)}{NBSP}{unit}"


def _scale(value: float, scales: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest scale that leaves one digit before the point, after rounding to three."""
    for scale, unit in scales:
        if float(f"{abs(value) / scale:.2e}") >= 1:
            return scale, unit
    return scales[-1] if value else next(pair for pair in scales if pair[0] == 1)


def _significant(value: float, digits: int) -> str:
    rounded = float(f"{value:.{digits - 1}e}")
    if not rounded:
        return "0"
    exponent = math.floor(math.log10(abs(rounded)))
    if abs(rounded) >= _HUGE or exponent < -digits:
        return f"{rounded:.{digits - 1}e}"
    return f"{rounded:,.{max(digits - 1 - exponent, 0)}f}"


def _percent(value: float) -> str:
    digits = _percent_digits((value,))
    return NOT_KNOWN if digits is None else f"{_with_sign(value * 100, digits)}{NBSP}%"


def _percent_digits(values: Sequence[float]) -> int | None:
    """Return the decimals that suit these relative changes; None if one of them is not finite."""
    if not all(_is_number(value) for value in values):
        return None
    largest = max(abs(value * 100) for value in values)
    return 2 if largest < 1 else 1 if largest < 100 else 0  # noqa: PLR2004 - percent


def _with_sign(value: float, digits: int) -> str:
    if abs(value) >= _HUGE:
        return f"{value:+.2e}"
    figure = f"{value:+,.{digits}f}"
    return figure[1:] if not figure.strip("+-0.,") else figure


def _is_nothing(figure: str) -> bool:
    return figure == NOT_KNOWN or figure.startswith(f"0{NBSP}")


def _rounded_usd(value: Decimal, digits: int) -> str:
    if abs(value) >= Decimal(_HUGE):
        return f"{value:.2e}"
    with localcontext(_ROUNDING):
        unit = Decimal(1).scaleb(digits)
        return _without_minus_zero(f"{(value / unit).quantize(Decimal(1)) * unit:,f}")


def _without_minus_zero(figure: str) -> str:
    return figure.lstrip("-") if not figure.strip("-0.,") else figure
