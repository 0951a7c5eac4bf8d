"""Holds the limits that a check puts on the work of a step: "flops > 5 %"."""

import re
from dataclasses import dataclass
from enum import StrEnum

from perfledger import step_work

MAX_WORK_LIMITS = 20  # of one check
MAX_LIMIT_TEXT = 80  # characters

# The counts that a limit may name, by their names for users.
COUNTS = {
    "flops": step_work.FLOPS,
    "bytes": step_work.BYTES,
    "operators": step_work.OPERATORS,
    "programs": step_work.PROGRAMS,
    "compiled_memory": step_work.PROGRAM_MEMORY,
}
MEMORY = "compiled_memory"
_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {f"{letter}iB": 1024.0**power for power, letter in enumerate("KMGTP", start=1)}
_BYTES = {f"{letter}B": factor for letter, factor in _DECIMAL.items()} | _BINARY
_UNITS = {
    "flops": {f"{letter}FLOP": factor for letter, factor in _DECIMAL.items()},
    "bytes": _BYTES,
    "compiled_memory": _BYTES,
    "operators": {"": 1.0},
    "programs": {"": 1.0},
}
_LIMIT = re.compile(
    r"\s*([a-z_]+)\s*>\s*(?:(device)|(\d+(?:\.\d+)?(?:e\d{1,2})?)\s*(%|[A-Za-z]*))\s*"
)
_GRAMMAR = (
    "write COUNT > THRESHOLD, such as `flops > 5 %`, `flops > 2 TFLOP`, `compiled_memory > 40 GiB` "
    "or `compiled_memory > device`"
)


class LimitKind(StrEnum):
    """What head's count is compared with."""

    BASE = "base"  # a share above base's count
    ABSOLUTE = "absolute"
    DEVICE = "device"  # the memory of the device


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimit:
    """A limit on one count of head's step: by `share` above base's count, or at `value`."""

    text: str
    count: str
    kind: LimitKind
    share: float = 0.0
    value: float = 0.0

    def threshold(self, *, base: float | None, device_bytes: int | None) -> float | None:
        """Return the largest allowed count; None if unknown."""
        match self.kind:
            case LimitKind.BASE:
                return None if base is None else base * (1 + self.share)
            case LimitKind.ABSOLUTE:
                return self.value
            case LimitKind.DEVICE:
                return None if device_bytes is None else float(device_bytes)


def parse_work_limit(text: str) -> WorkLimit:
    """Return the limit that a text states; raise ValueError, saying what to write, for others."""
    match = _LIMIT.fullmatch(text) if len(text) <= MAX_LIMIT_TEXT else None
    if match is None:
        msg = f"{text[:MAX_LIMIT_TEXT]!r} is not a limit on the work of a step: {_GRAMMAR}"
        raise ValueError(msg)
    name, device, number, unit = match.groups()
    if name not in COUNTS:
        msg = f"{name!r} is not a count of a step: choose from {', '.join(COUNTS)}"
        raise ValueError(msg)
    text = " ".join(text.split())
    if device:
        if name != MEMORY:
            msg = f"{text!r}: only {MEMORY} is compared with the memory of the device"
            raise ValueError(msg)
        return WorkLimit(text=text, count=COUNTS[name], kind=LimitKind.DEVICE)
    if unit == "%":
        share = float(number) / 100
        return WorkLimit(text=text, count=COUNTS[name], kind=LimitKind.BASE, share=share)
    if unit not in _UNITS[name]:
        units = ", ".join(filter(None, _UNITS[name])) or "no unit"
        msg = f"{text!r}: {unit or 'no unit'!r} is not a unit of {name}: write %, or {units}"
        raise ValueError(msg)
    value = float(number) * _UNITS[name][unit]
    return WorkLimit(text=text, count=COUNTS[name], kind=LimitKind.ABSOLUTE, value=value)
