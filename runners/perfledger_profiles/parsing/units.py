"""Parses the numbers and units that tools print, and converts them to SI units."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

# Factors from the formats' units to SI units.
NANO, MICRO, MILLI, MEGA, GIGA, TERA = 1e-9, 1e-6, 1e-3, 1e6, 1e9, 1e12
MEBI = 2.0**20
NS_PER_S, NS_PER_MS = 1e9, 1e6
PS_PER_NS = 1000

# No tool prints a longer number; Python itself refuses integers of more than 4300 digits.
MAX_NUMBER_CHARACTERS = 64
# A grid has at most 2^31 - 1 blocks per side.
_MAX_SIDE_DIGITS = 10

_SECONDS = {
    1.0: ("s", "sec", "second", "seconds"),
    1e-3: ("ms", "msec", "msecond", "millisecond", "milliseconds"),
    1e-6: ("us", "usec", "usecond", "microsecond", "microseconds", "\u00b5s", "\u03bcs"),
    1e-9: ("ns", "nsec", "nsecond", "nanosecond", "nanoseconds"),
}
# In Nsight Compute and Systems a Kbyte is 1000 bytes. A small b would be bits.
_BYTES = {
    1.0: ("B", "byte", "bytes"),
    1e3: ("KB", "kB", "kbyte"),
    1e6: ("MB", "mbyte"),
    1e9: ("GB", "gbyte"),
    1e12: ("TB", "tbyte"),
    2.0**10: ("KiB",),
    2.0**20: ("MiB",),
    2.0**30: ("GiB",),
}
_HERTZ = {1.0: ("hz",), 1e3: ("khz",), 1e6: ("mhz",), 1e9: ("ghz",)}
# Case matters: DCGM counts in millijoules, GenAI-Perf prints megajoules.
_JOULES = {"J": 1.0, "mJ": 1e-3, "MJ": 1e6}
# Units of counted things, whose value is a plain number.
_COUNT_UNITS = (
    *("", "1", "count", "block", "blocks", "warp", "warps", "thread", "threads", "register", "sm"),
    *("inst", "cycle", "req", "request", "requests", "token", "tokens", "pages", "images", "infer"),
)
# Divisors ("per block") that do not change the unit.
_PER_UNITS = ("block", "thread", "warp", "sm", "user", "request")

_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
# A comma not followed by three digits, or two dots, is not an English number.
_DECIMAL_COMMA = re.compile(
    r"-?(?:\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d+)"
)


@dataclass(frozen=True, slots=True)
class UnitScale:
    """The factor that converts a value, and the SI unit of the result."""

    factor: float
    unit: str


def number_or_none(text: str, *, decimal: str = ".") -> float | None:
    """Return the finite number in a cell, or None for anything else ("n/a", "", NaN).

    Thousands may be separated by commas, or by points if `decimal` is a comma.
    """
    if len(text) > MAX_NUMBER_CHARACTERS or "_" in text:
        return None
    cell = text.strip()
    if not cell:
        return None
    if decimal == ",":
        cell = cell.replace(".", "").replace(",", ".")
    elif "," in cell:
        if not _GROUPED.fullmatch(cell):
            return None
        cell = cell.replace(",", "")
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def launch_shape(cells: Iterable[str]) -> str:
    """Return the sides of a grid or a block as "128,1,1", or "" if they are not numbers."""
    sides = [cell.strip() for cell in cells]
    is_shape = all(side.isdecimal() and len(side) <= _MAX_SIDE_DIGITS for side in sides)
    return ",".join(sides) if is_shape else ""


def count_of(text: str) -> int | None:
    """Return the count in a cell, or None unless it is a whole number of at least 0."""
    value = number_or_none(text)
    return int(value) if value is not None and value >= 0 and value == int(value) else None


def title_and_unit(cell: str) -> tuple[str, str] | None:
    """Return the title and the unit of a column such as "Total Time (ns)"; the unit may be "".

    None if the brackets do not have this form. No regular expression is used, because searching for
    the end of a title takes quadratic time in a cell of spaces.
    """
    title, bracket, rest = cell.strip().partition("(")
    unit = rest.removesuffix(")")
    is_closed = not bracket or rest.endswith(")")
    is_plain = is_closed and ")" not in title and not any(mark in unit for mark in "()")
    return (title.rstrip(), unit) if is_plain else None


def decimal_mark(cells: Iterable[str]) -> str:
    """Return the decimal mark of these cells, because some tools follow the locale."""
    return "," if any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells) else "."


def scale_of(unit: str) -> UnitScale | None:
    """Return the conversion of a printed unit to SI, or None for an unknown unit.

    Counted things have the unit "1" ("register/thread"); "tokens/sec" becomes "1/s".
    """
    text = unit.strip()
    if text == "%":
        return UnitScale(0.01, "1")
    if text in _JOULES:
        return UnitScale(_JOULES[text], "J")
    first, *divisors = text.replace("per sec", "/sec").replace("Bps", "B/s").split("/")
    scale = _scale(first.strip())
    for other in divisors:
        scale = _divide(scale, other.strip())
    return scale


def _scale(name: str) -> UnitScale | None:
    """Return the scale of one name; only byte symbols are case-sensitive."""
    return _scales().get(name) or _scales().get(name.casefold())


def _divide(scale: UnitScale | None, by: str) -> UnitScale | None:
    if scale is None or by in _PER_UNITS:
        return scale
    time = _scale(by)
    if time is None or time.unit != "s" or scale.unit not in ("1", "B", "cycle"):
        return None
    rate = "Hz" if scale.unit == "cycle" else f"{scale.unit}/s"
    return UnitScale(scale.factor / time.factor, rate)


@cache
def _scales() -> dict[str, UnitScale]:
    groups = ((_SECONDS, "s"), (_BYTES, "B"), (_HERTZ, "Hz"))
    scales = {
        name: UnitScale(factor, unit)
        for group, unit in groups
        for factor, names in group.items()
        for name in names
    }
    scales |= {name: UnitScale(1.0, "1") for name in _COUNT_UNITS}
    return scales | {
        "cycle": UnitScale(1.0, "cycle"),
        "w": UnitScale(1.0, "W"),
        "c": UnitScale(1.0, "degC"),
    }
