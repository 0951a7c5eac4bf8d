"""Formats seconds, bytes, shares and dollars for people.

Numbers without a unit are in `rounding`. A no-break space joins a figure and its unit, so that no
table separates them. NaN and infinity are shown as "not known".
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal, localcontext
from typing import TypeVar

from perfledger import rounding
from perfledger.rounding import (
    HUGE,
    TINY,
    decimals,
    digits,
    exact,
    is_number,
    significant,
    to_significant,
    with_power_of_ten,
)
from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from perfledger_cost_models.money import to_decimal

Value = TypeVar("Value")

NOT_KNOWN = rounding.NOT_KNOWN
NOTHING = "\N{EN DASH}"
NBSP = rounding.NBSP
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
MIN_SECONDS = 1e-12
_MAX_PERCENT = 100.0  # 10,000 %; larger percentages are hard to read
# Higher confidences are shown as this: more digits would claim knowledge of the tails.
_CERTAIN = 0.9999
_CENTS_BELOW = 100
# Below this, three digits show less than an hour.
_WHOLE_HOURS_FROM = 100
# Below this, three digits of a price per million are shown, because cents would round it to zero.
_FINE_BELOW = Decimal("0.1")
# Half to even, whatever the thread's context is. Its 28 digits are enough for amounts below HUGE.
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


def signed(value: float, form: Callable[[float], str]) -> str:
    """Return a difference with its sign: "+1.92 ms", and "0" without one."""
    figure = form(abs(value))
    return figure if _is_nothing(figure) else ("+" if value > 0 else "-") + figure


def seconds(value: float) -> str:
    """Return a duration in s, ms, µs or ns with three digits: "12.3 ms".

    A duration below any clock's resolution is a rounding error: zero.
    """
    return _with_unit_prefix(0.0 if abs(value) < MIN_SECONDS else value, _SECONDS)


def hours(value: float) -> str:
    """Return a long duration, given in seconds, in hours with three digits: "0.442 h"."""
    return f"{significant(value / SECONDS_PER_HOUR, 3)}{NBSP}h" if is_number(value) else NOT_KNOWN


def device_hours(value: float) -> str:
    """Return a number of hours, rounded to whole hours from 100: "0.442 h", "36,288 h"."""
    is_whole = _WHOLE_HOURS_FROM <= abs(value) < HUGE
    return f"{decimals(value, 0)}{NBSP}h" if is_whole else hours(value * SECONDS_PER_HOUR)


def duration(value: float) -> str:
    """Return a time, in seconds, in the largest unit that leaves a digit before the point: "1.5 h".

    Rounded to milliseconds, like stored times.
    """
    if not is_number(value):
        return NOT_KNOWN
    value = round(value, 3)
    size, unit = next((pair for pair in _DURATIONS if abs(value) >= pair[0]), _DURATIONS[-1])
    return f"{digits(value / size, 3)} {unit}"


def signed_seconds(value: float) -> str:
    """Return a difference of durations with its sign: "+1.92 ms"."""
    return signed(value, seconds)


def byte_count(value: float) -> str:
    """Return bytes in B, KiB, MiB, GiB or TiB with three digits: "1.52 GiB"."""
    return _with_unit_prefix(value, _BYTES)


def signed_bytes(value: float) -> str:
    """Return a difference of bytes with its sign: "+1.52 GiB"."""
    return signed(value, byte_count)


def count(value: float) -> str:
    """Return a number with four digits and thousands separators: "83,210", "1.25", "12"."""
    if not is_number(value):
        return NOT_KNOWN
    rounded = to_significant(value, 4)
    if rounded.is_integer() and abs(rounded) < HUGE:
        return decimals(rounded, 0)
    return significant(value, 4)


def full_count(value: float) -> str:
    """Return a whole number with all its digits, any other like `count`: "26,723", "0.8652"."""
    is_whole = is_number(value) and value.is_integer() and abs(value) < HUGE
    return decimals(value, 0) if is_whole else count(value)


def flops(value: float) -> str:
    """Return floating-point operations with three digits: "4.31 GFLOP"."""
    return _with_si_prefix(value, "FLOP")


def flops_per_second(value: float) -> str:
    """Return floating-point operations per second with three digits: "297 TFLOP/s"."""
    return _with_si_prefix(value, "FLOP/s")


def bytes_per_second(value: float) -> str:
    """Return a bandwidth in decimal units, as vendors state it: "1.56 TB/s"."""
    return _with_si_prefix(value, "B/s")


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
    return _with_si_prefix(value, "Hz")


def joules(value: float) -> str:
    """Return an energy with three digits: "412 J", "3.1 kJ"."""
    return _with_si_prefix(value, "J")


def share(value: float) -> str:
    """Return a share of one as a percentage without a sign: "82.4 %"."""
    return _percent(value).removeprefix("+")


def least_share(value: float) -> str:
    """Return a share that is a lower bound: "at least 82.4 %"."""
    return f"at least {share(value)}" if is_number(value * 100) else NOT_KNOWN


def whole_share(value: float) -> str:
    """Return a share to the whole percent: "83 %"."""
    return f"{round(value * 100):,d}{NBSP}%" if is_number(value) else NOT_KNOWN


def percent(value: float) -> str:
    """Return a relative change with its sign: 0.182 is "+18.2 %"; 149 is "150 times"."""
    if is_number(value) and value >= _MAX_PERCENT:
        return factor(1 + value)
    return _percent(value)


def change(point: float, low: float, high: float) -> tuple[str, str]:
    """Return a relative change and its interval: "+18.2 %", "+16.9 to +19.6"."""
    places = _percent_places((point, low, high))
    if places is None:
        return NOT_KNOWN, NOT_KNOWN
    ends = (_with_sign(low * 100, places), _with_sign(high * 100, places))
    return f"{_with_sign(point * 100, places)}{NBSP}%", INTERVAL_TO.join(ends)


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
    return f"{digits(value * 100)}{NBSP}%" if is_number(value * 100) else NOT_KNOWN


def factor(value: float) -> str:
    """Return a factor: "2.1 times"."""
    return f"{significant(value, 2)}{NBSP}times" if is_number(value) else NOT_KNOWN


def speed(value: Decimal | float) -> str:
    """Return how many times as fast something is, without "times": "2.13"."""
    return decimals(value, 2)


def confidence(value: float) -> str:
    """Return a confidence below one, never rounded up to certainty: "98.7 %", "> 99.99 %"."""
    if not is_number(value):
        return NOT_KNOWN
    if value > _CERTAIN:
        return f">{NBSP}{margin(_CERTAIN)}"
    return margin(min(value, _CERTAIN))


def usd(value: Decimal | float) -> str:
    """Return an amount: cents below 100 USD, whole dollars with separators above.

    Rounds half to even. Below ten cents it keeps three digits, so that no price is rounded to zero.
    """
    value = value if isinstance(value, Decimal) else to_decimal(value)
    if not value.is_finite():
        return NOT_KNOWN
    if value and not TINY <= abs(value) < HUGE:
        figure = with_power_of_ten(value, 2)
    elif abs(value) >= _CENTS_BELOW:
        figure = decimals(value, 0)
    elif abs(value) >= _FINE_BELOW or not value:
        figure = decimals(value, 2)
    else:
        figure = decimals(value, 2 - value.adjusted())
    return f"{figure}{NBSP}USD"


def usd_interval(low: Decimal, high: Decimal) -> str:
    """Return the ends of an amount's interval, each as `usd` has it: "1.20 to 1.35"."""
    return INTERVAL_TO.join(usd(end).removesuffix(f"{NBSP}USD") for end in (low, high))


def cents(value: Decimal | float) -> str:
    """Return an amount to the cent, with separators and without its unit."""
    return decimals(value, 2)


def yearly_usd(value: Decimal, low: Decimal, high: Decimal) -> tuple[str, str]:
    """Return a yearly amount and its interval: "12,300 USD", "10,900 to 13,800".

    All are rounded to three digits of the largest; an estimate is no more precise. The interval has
    signs only if its ends have different ones.
    """
    if not all(amount.is_finite() for amount in (value, low, high)):
        return NOT_KNOWN, NOT_KNOWN
    largest = max(abs(value), abs(low), abs(high))
    places = max(largest.adjusted() - 2, -2)
    is_mixed = low < 0 < high
    if not is_mixed and high <= 0:
        low, high = -high, -low
    ends = [_rounded_usd(end, places) for end in (low, high)]
    if is_mixed:
        ends[1] = f"+{ends[1]}"
    return f"{_rounded_usd(abs(value), places)}{NBSP}USD", INTERVAL_TO.join(ends)


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


def _with_unit_prefix(value: float, scales: Sequence[tuple[float, str]]) -> str:
    if not is_number(value):
        return NOT_KNOWN
    scale, unit = _scale(value, scales)
    return f"{significant(value / scale, 3)}{NBSP}{unit}"


def _with_si_prefix(value: float, unit: str) -> str:
    figure = _with_unit_prefix(value, _COUNTS)
    return figure if figure == NOT_KNOWN else f"{figure}{unit}"


def _scale(value: float, scales: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest scale that leaves one digit before the point, after rounding to three."""
    for scale, unit in scales:
        if to_significant(abs(value) / scale, 3) >= 1:
            return scale, unit
    return scales[-1] if value else next(pair for pair in scales if pair[0] == 1)


def _percent(value: float) -> str:
    places = _percent_places((value,))
    return NOT_KNOWN if places is None else f"{_with_sign(value * 100, places)}{NBSP}%"


def _percent_places(values: Sequence[float]) -> int | None:
    """Return the decimals that suit these relative changes; None if one of them is not finite."""
    percents = [abs(value) * 100 for value in values]
    if not all(map(is_number, percents)):
        return None
    largest = max(percents)
    return 2 if largest < 1 else 1 if largest < 100 else 0  # noqa: PLR2004 - percent


def _with_sign(value: float, places: int) -> str:
    figure = decimals(value, places)
    return f"+{figure}" if value > 0 and figure.strip("0.") else figure


def _is_nothing(figure: str) -> bool:
    return figure in {NOT_KNOWN, "0"} or figure.startswith(f"0{NBSP}")


def _rounded_usd(value: Decimal, places: int) -> str:
    if abs(value) >= HUGE:
        return with_power_of_ten(value, 3)
    with localcontext(_ROUNDING):
        unit = Decimal(1).scaleb(places)
        return exact((value / unit).quantize(Decimal(1)) * unit + 0)
