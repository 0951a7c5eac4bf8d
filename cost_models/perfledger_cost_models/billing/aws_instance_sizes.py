"""Parses AWS instance names into their family and size in normalized units.

A regional reservation of one size covers other sizes of its family, by these units. For the
families listed here it covers its own size only. Both rules are AWS's:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html, read 2026-11-22.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

UNITS = {
    "nano": Decimal("0.25"),
    "micro": Decimal("0.5"),
    "small": Decimal(1),
    "medium": Decimal(2),
    "large": Decimal(4),
    "xlarge": Decimal(8),
}
RIGID = frozenset(
    ("g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "hpc7a", "inf1", "inf2", "p5")
)
_LARGER = re.compile(r"([1-9][0-9]{0,3})xlarge")


@dataclass(frozen=True, slots=True)
class InstanceSize:
    """A size within a family."""

    family: str
    units: Decimal  # one for a "small"


def size_of(name: str) -> InstanceSize | None:
    """Return an instance's size, "p3.8xlarge" is 64 of p3; None for an inflexible family."""
    family, _, size = name.partition(".")
    if family in RIGID:
        return None
    larger = _LARGER.fullmatch(size)
    if larger is not None:
        return InstanceSize(family, int(larger[1]) * UNITS["xlarge"])
    return InstanceSize(family, UNITS[size]) if size in UNITS else None
