"""Converts the units of other tools to base units: seconds, bytes, and counts per second."""

import re
from dataclasses import dataclass

from perfledger.metrics import WorseDirection

# A kB is 1000 bytes, as elsewhere in perfledger; a lower-case b would mean bits.
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), (1.0, "s")),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), (1e-3, "s")),
    **dict.fromkeys(("us", "usec", "\u00b5s", "\u03bcs"), (1e-6, "s")),
    **dict.fromkeys(("microsecond", "microseconds"), (1e-6, "s")),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), (1e-9, "s")),
    **dict.fromkeys(("minute", "minutes"), (60.0, "s")),
    **dict.fromkeys(("B", "byte", "bytes"), (1.0, "B")),
    **dict.fromkeys(("KB", "kB", "kilobyte", "kilobytes"), (1e3, "B")),
    **dict.fromkeys(("MB", "megabyte", "megabytes"), (1e6, "B")),
    **dict.fromkeys(("GB", "gigabyte", "gigabytes"), (1e9, "B")),
    **dict.fromkeys(("KiB", "kibibyte", "kibibytes"), (2.0**10, "B")),
    **dict.fromkeys(("MiB", "mebibyte", "mebibytes"), (2.0**20, "B")),
    **dict.fromkeys(("GiB", "gibibyte", "gibibytes"), (2.0**30, "B")),
}
# Words for one call: a time or size "per iteration" is the time or size itself.
_ONCE = frozenset({"iter", "iters", "iteration", "op", "ops", "operation", "run", "call", "step"})
# Counts of work whose rate is a throughput. The rate of faults, misses or allocated bytes is not.
_WORK = frozenset(
    {
        *("op", "ops", "operation", "operations", "iter", "iters", "iteration", "iterations"),
        *("item", "items", "elem", "elems", "element", "elements", "req", "request", "requests"),
        *("token", "tokens", "tok", "sample", "samples", "image", "images", "query", "queries"),
        *("step", "steps", "frame", "frames", "transaction", "transactions", "call", "calls"),
    }
)
# "nanoseconds (ns)": the symbol in brackets repeats the unit.
_SYMBOL = re.compile(r"[^()]{1,60}\(([^()]{1,20})\)")
_MAX_UNIT = 60  # characters; a longer text is not a unit and is kept as it is


@dataclass(frozen=True, slots=True)
class BaseUnit:
    """The factor to a base unit, and its name; 1 and the text itself for an unknown unit."""

    factor: float
    name: str

    @property
    def worse(self) -> WorseDirection | None:
        """Return the worse direction: longer times and lower throughput; None for other units."""
        if self.name == "s":
            return WorseDirection.HIGHER
        counted = self.name.removesuffix("/s") if self.name.endswith("/s") else ""
        return WorseDirection.LOWER if counted.lower() in _WORK else None


def base_unit(text: str) -> BaseUnit:
    """Return the base unit for a tool's unit text."""
    unit = text.strip()
    if len(unit) > _MAX_UNIT:
        return BaseUnit(1.0, unit)
    symbol = _SYMBOL.fullmatch(unit)
    in_brackets = _unit_or_rate(symbol[1].strip()) if symbol else None
    return _unit_or_rate(unit) or in_brackets or BaseUnit(1.0, unit)


def is_known_unit(text: str) -> bool:
    """Return whether a text is a unit of time, size or rate."""
    return _unit_or_rate(text.strip()) is not None


def _unit_or_rate(unit: str) -> BaseUnit | None:
    if (single := _single_unit(unit)) is not None:
        return single
    counted, slash, by = unit.replace(" per ", "/").partition("/")
    counted, by = counted.strip(), by.strip()
    if not slash or not counted or "/" in by:
        return None
    if by.lower() in _ONCE:
        return _single_unit(counted)
    time = _single_unit(by)
    if time is None or time.name != "s":
        return None
    size = _single_unit(counted)
    if size is not None and size.name == "s":
        return None
    factor, name = (size.factor, size.name) if size else (1.0, counted)
    return BaseUnit(factor / time.factor, f"{name}/s")


def _single_unit(unit: str) -> BaseUnit | None:
    """Return a unit without a slash; only the symbols of bytes are case-sensitive."""
    scale = _UNITS.get(unit) or (_UNITS.get(unit.lower()) if unit.lower() != "b" else None)
    return BaseUnit(*scale) if scale else None
