"""Turn the numbers and units that tools print into values in SI units."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

# No number of a tool is longer; Python refuses integers above 4300 digits on its own.
MAX_NUMBER_CHARACTERS = 64
# A grid has at most 2^31 - 1 blocks along a side.
_MAX_SIDE_DIGITS = 10

_SECONDS = {
    1.0: ("s", "sec", "second", "seconds"),
    1e-3: ("ms", "msec", "msecond", "millisecond", "milliseconds"),
    1e-6: ("us", "usec", "usecond", "microsecond", "microseconds", "\u00b5s", "\u03bcs"),
    1e-9: ("ns", "nsec", "nsecond", "nanosecond", "nanoseconds"),
}
# Nsight Compute and Systems count in thousands: a Kbyte is 1000 bytes. A small b would be bits.
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
# A capital decides: DCGM counts millijoules, GenAI-Perf prints megajoules.
_JOULES = {"J": 1.0, "mJ": 1e-3, "MJ": 1e6}
# What is counted: the value is a number of them.
_COUNTED = (
    *("", "1", "count", "block", "blocks", "warp", "warps", "thread", "threads", "register", "sm"),
    *("inst", "cycle", "req", "request", "requests", "token", "tokens", "pages", "images", "infer"),
)
# What a value is stated for each of, and which leaves its unit as it is.
_EACH = ("block", "thread", "warp", "sm", "user", "request")

_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
# A comma with other than three digits after it, or two dots, cannot be written in English.
_DECIMAL_COMMA = re.compile(
    r"-?(?:\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d+)"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """What to multiply a value by, and the SI unit that it then has."""

    factor: float
    unit: str


def number_of(text: str, *, decimal: str = ".") -> float | None:
    """Return the finite number in a cell, None for anything else, such as "n/a", "" or NaN.

    Thousands may be separated by commas, or by points where `decimal` is a comma.
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
    """Return the sides of a grid or a block as "128,1,1", "" where they are no such numbers."""
    sides = [cell.strip() for cell in cells]
    is_shape = all(side.isdecimal() and len(side) <= _MAX_SIDE_DIGITS for side in sides)
    return ",".join(sides) if is_shape else ""


def count_of(text: str) -> int | None:
    """Return the whole number in a cell that counts something, None for anything else."""
    value = number_of(text)
    return int(value) if value is not None and value >= 0 and value == int(value) else None


def title_and_unit(cell: str) -> tuple[str, str] | None:
    """Return the title and the unit of a column: "Total Time (ns)", or "" for a title alone.

    None where the brackets are others. Without a pattern: one that looks for the end of a title
    takes the square of its length for a cell of nothing but space.
    """
    title, bracket, rest = cell.strip().partition("(")
    unit = rest.removesuffix(")")
    is_closed = not bracket or rest.endswith(")")
    is_plain = is_closed and ")" not in title and not any(mark in unit for mark in "()")
    return (title.rstrip(), unit) if is_plain else None


def decimal_mark(cells: Iterable[str]) -> str:
    """Return what stands before the decimals in these cells: some tools follow the locale."""
    return "," if any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells) else "."


def scale_of(unit: str) -> Scale | None:
    """Return how a unit, as tools write it, becomes an SI unit; None for one that is not known.

    What is counted has the unit "1": "register/thread", "tokens/sec" becomes "1/s".
    """
    text = unit.strip()
    if text == "%":
        return Scale(0.01, "1")
    if text in _JOULES:
        return Scale(_JOULES[text], "J")
    first, *others = text.replace("per sec", "/sec").replace("Bps", "B/s").split("/")
    scale = _scale(first.strip())
    for other in others:
        scale = _divided(scale, other.strip())
    return scale


def _scale(name: str) -> Scale | None:
    """Return the scale of one name: of symbols of bytes the case tells, of words it does not."""
    return _scales().get(name) or _scales().get(name.casefold())


def _divided(scale: Scale | None, by: str) -> Scale | None:
    if scale is None or by in _EACH:
        return scale
    time = _scale(by)
    if time is None or time.unit != "s" or scale.unit not in ("1", "B", "cycle"):
        return None
    rate = "Hz" if scale.unit == "cycle" else f"{scale.unit}/s"
    return Scale(scale.factor / time.factor, rate)


@cache
def _scales() -> dict[str, Scale]:
    groups = ((_SECONDS, "s"), (_BYTES, "B"), (_HERTZ, "Hz"))
    known = {
        name: Scale(factor, unit)
        for group, unit in groups
        for factor, names in group.items()
        for name in names
    }
    known |= {name: Scale(1.0, "1") for name in _COUNTED}
    return known | {"cycle": Scale(1.0, "cycle"), "w": Scale(1.0, "W"), "c": Scale(1.0, "degC")}
