"""Parses the details and raw pages of `ncu --csv`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfledger_profiles.nsight_compute.metric_names import DEVICE_NAME, is_read, metric_of
from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import (
    count_of,
    decimal_mark,
    launch_shape,
    number_or_none,
    scale_of,
)
from perfledger_profiles.timeline.summarised_profile import MAX_VALUE

# A details page with all sections has about two hundred lines per launch.
MAX_LAUNCHES = 50_000

_METRIC = "Metric Name"
_KERNEL = "Kernel Name"
_KEYS = frozenset({"ID", "Invocations"})
_VALUES = ("Metric Value", "Average")
_CONTEXT = frozenset(
    {
        *("ID", "Process ID", "Process Name", "Host Name", _KERNEL, "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Invocations", "Kernel Time", "NVTX"),
    }
)
_NO_VALUE = ("", "n/a", "nan", "-nan")
_CAPABILITY = re.compile(r"\d{1,2}\.\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledLaunch:
    """One launch of a kernel, or several that ncu summarizes; metrics are in SI units."""

    name: str
    grid: str
    block: str
    capability: str
    device: str
    count: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ProfiledLaunches:
    """The profiled launches, and the number of unreadable rows and values."""

    launches: tuple[ProfiledLaunch, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class _Page:
    """The header of the rows that follow; in a raw page, the second line has the units."""

    number: int
    head: Sequence[str]
    units: Sequence[str] = ()

    @property
    def is_raw(self) -> bool:
        return _METRIC not in self.head


@dataclass(frozen=True, slots=True)
class _Printed:
    """A printed metric."""

    name: str
    value: str
    unit: str


@dataclass(frozen=True, slots=True)
class _Draft:
    """A launch while its rows are being read."""

    context: Mapping[str, str]
    printed: list[_Printed] = field(default_factory=list[_Printed])


_Drafts = dict[tuple[object, ...], _Draft]


def read_launches(lines: Sequence[str]) -> ProfiledLaunches:
    """Return the launches of the pages.

    Output of the profiled program around the pages is skipped, and so are rows of rules between
    those of metrics.
    """
    drafts: _Drafts = {}
    page = _Page(0, ())
    dropped = 0
    for cells in rows_of(lines):
        if cells is None:
            dropped += bool(page.head)
        elif _KERNEL in cells and not _KEYS.isdisjoint(cells):
            page = _Page(page.number + 1, cells)
        elif len(cells) > 1 and page.head:
            if page.is_raw and not page.units and not cells[0].strip():
                page = _Page(page.number, page.head, cells)
            else:
                dropped += not _add_row(cells, page, drafts)
    decimal = decimal_mark(one.value for draft in drafts.values() for one in draft.printed)
    read = [_launch(draft, decimal) for draft in drafts.values()]
    return ProfiledLaunches(
        tuple(launch for launch, _ in read), dropped + sum(lost for _, lost in read)
    )


def _add_row(cells: Sequence[str], page: _Page, drafts: _Drafts) -> bool:
    """Add a row to its launch; return False if the row is incomplete."""
    row = dict(zip(page.head, cells, strict=False))
    number = row.get("ID", "0")
    if not number.isdecimal():
        return True  # output of the profiled program
    if not row.get(_KERNEL):
        return False
    context = {name: row[name] for name in _CONTEXT & row.keys()}
    shape = (context.get(name) for name in (_KERNEL, "Grid Size", "Block Size"))
    key = (page.number, number, *shape)
    if key not in drafts and len(drafts) >= MAX_LAUNCHES:
        return False
    printed = _wide(row, page) if page.is_raw else _long(row)
    if printed is None:
        return False
    drafts.setdefault(key, _Draft(context)).printed.extend(printed)
    return not page.is_raw or len(cells) >= len(page.head)


def _wide(row: Mapping[str, str], page: _Page) -> list[_Printed]:
    """Return the metrics of a raw page's row."""
    units = dict(zip(page.head, page.units, strict=False))
    return [
        _Printed(name, value, units.get(name, ""))
        for name, value in row.items()
        if name not in _CONTEXT and (is_read(name) or name == DEVICE_NAME)
    ]


def _long(row: Mapping[str, str]) -> list[_Printed] | None:
    """Return the metric of a details page's row: empty for a rule, None for a torn row."""
    name = row.get(_METRIC)
    value = next((row[column] for column in _VALUES if column in row), None)
    if name is None or value is None:
        return None
    is_used = is_read(name) or name == DEVICE_NAME
    return [_Printed(name, value, row.get("Metric Unit", ""))] if is_used else []


def _launch(draft: _Draft, decimal: str) -> tuple[ProfiledLaunch, int]:
    """Return the launch, and how many of its metrics are not numbers in a known unit."""
    metrics: dict[str, float] = {}
    device = ""
    unreadable = 0
    for one in draft.printed:
        if one.name == DEVICE_NAME:
            device = clean_name(one.value)
            continue
        if one.value.strip().casefold() in _NO_VALUE:
            continue
        scale, number = scale_of(one.unit), number_or_none(one.value, decimal=decimal)
        if scale is None or number is None or not 0 <= number * scale.factor <= MAX_VALUE:
            unreadable += 1
        elif metric := metric_of(one.name, scale.unit):
            metrics.setdefault(metric.name, number * scale.factor)
    capability = draft.context.get("CC", "")
    launch = ProfiledLaunch(
        name=clean_name(draft.context[_KERNEL]),
        grid=_shape(draft.context.get("Grid Size", "")),
        block=_shape(draft.context.get("Block Size", "")),
        capability=capability if _CAPABILITY.fullmatch(capability) else "",
        device=device,
        count=max(count_of(draft.context.get("Invocations", "1")) or 1, 1),
        metrics=metrics,
    )
    return launch, unreadable


def _shape(text: str) -> str:
    """Return "(384, 1, 1)" as "384,1,1", "" for anything else."""
    return launch_shape(text.strip().removeprefix("(").removesuffix(")").split(","))
