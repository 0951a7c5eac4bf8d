"""Reads the logs of nccl-tests and rccl-tests."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from perfledger.profile import Profile, ProfiledDevice, ProfileReading
from perfledger.records import Side
from perfledger_profiles.benchmark_tools.nccl_rows import NcclRow, NcclTable, NcclTiming, read_rows
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import GIGA, number_or_none
from perfledger_profiles.timeline.bus_bandwidth import (
    CollectiveOperation,
    bus_bandwidth,
    bus_factor,
)
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "nccl-tests"
# From this size on, the printed columns have three digits; below, they are mostly 0.00.
CHECKED_BYTES = 2**20
# Largest relative difference between the printed and the computed bandwidth. Times are printed with
# four digits and bandwidths with two decimals: a larger difference means that another formula was
# used (an unknown collective, several communicators).
MAX_DIFFERENCE = 0.005
# Up to this size a collective takes as long as an empty one (measured on eight A100).
LATENCY_BYTES = 64 * 2**10
UNNAMED_COLLECTIVE = "the log does not name its collective: by its columns it is {}"
ANY_FACTOR = "the bandwidths are the log's own: its collective or number of ranks is unknown"

_PROGRAM = re.compile(r"\b(\w+?)_perf(?:_mpi)?\b")
_RANK = re.compile(
    r"Rank\s+\d+\s+(?:Group\s+(\d+)\s+)?Pid\s+\d+\s+on\s+\S{1,1024}\s+device\s+\d+\s+\[[^\]]{0,128}\]\s*(.*)"
)
_MEAN = re.compile(r"#\s*Avg bus bandwidth\s*:\s*([\d.]+)")
_OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,18})\b")
_OPERATIONS = ("sum", "prod", "max", "min", "avg", "mulsum")
# A single rank sends nothing.
_MIN_RANKS = 2
# Tolerance between a printed ratio of two bandwidths and the collective's factor.
RATIO_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class _Group:
    """A collective and its number of ranks; None if unknown."""

    collective: CollectiveOperation | None
    ranks: int | None


def read_nccl_tests(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the times and bus bandwidths of a log, with the message size in bytes as subject.

    Bandwidths are computed from size, time and ranks. If the result differs from the log's columns,
    the columns are used, with a note. Raises ProfileError if the file is not such a log.
    """
    read = read_text(data)
    table = read_rows(read.lines)
    if not table.rows:
        msg = (
            "this file has no row of nccl-tests: give the output of a program like all_reduce_perf"
        )
        raise ProfileError(msg)
    device, ranks = _devices(read.lines)
    named = _collective_in_log(read.lines)
    collective = named or _collective_by_columns(table, ranks)
    group = _Group(collective, ranks)
    readings = [*_rows(table, group), *_totals(table, group, read.lines)]
    is_computed = any(r.source.startswith("nccl-tests formula") for r in readings)
    notes = [*read.notes, *table.notes]
    if named is None and collective is not None:
        notes.append(UNNAMED_COLLECTIVE.format(collective))
    if not is_computed and any(row.size_bytes for row in table.rows):
        notes.append(ANY_FACTOR)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        device=device,
        dropped=table.dropped,
        notes=notes,
    )


def _devices(lines: Sequence[str]) -> tuple[ProfiledDevice | None, int | None]:
    """Return the device, and the number of ranks of one communicator."""
    matches = [match for line in lines if (match := _RANK.search(line))]
    if not matches:
        return None, None
    first = matches[0][1]
    ranks = sum(match[1] == first for match in matches)
    return ProfiledDevice(name=clean_name(matches[0][2]), count=len(matches)), ranks


def _collective_in_log(lines: Sequence[str]) -> CollectiveOperation | None:
    """Return the collective that the log names in its header, or in the command line before it."""
    names = set(CollectiveOperation)
    for line in lines:
        for match in _PROGRAM.finditer(line) if "_perf" in line else ():
            if match[1] in names:
                return CollectiveOperation(match[1])
    return None


def _collective_by_columns(table: NcclTable, ranks: int | None) -> CollectiveOperation | None:
    """Return the collective that fits the columns, or None if none does."""
    if ranks is None or ranks < _MIN_RANKS:
        return None
    ratios = [
        half.bus_gb_per_second / half.algorithm_gb_per_second
        for row in table.rows
        for half in (row.out_of_place, row.in_place)
        if row.size_bytes >= CHECKED_BYTES and half and half.algorithm_gb_per_second
    ]
    if not ratios:
        return None
    ratio = median(ratios)
    for collective in _candidates(table):
        if abs(bus_factor(collective, ranks) - ratio) <= RATIO_TOLERANCE:
            return collective
    return None


def _candidates(table: NcclTable) -> tuple[CollectiveOperation, ...]:
    """Return the collectives that fit the operation and root columns.

    Since 2.13, all-gather and all-to-all look the same; they have the same formula.
    """
    words = {word for row in table.rows for word in row.words}
    has_operation = any(word in _OPERATIONS for word in words)
    has_root = any(word.isdecimal() for word in words)
    match has_operation, has_root:
        case True, True:
            return (CollectiveOperation.REDUCE,)
        case True, False:
            return CollectiveOperation.ALL_REDUCE, CollectiveOperation.REDUCE_SCATTER
        case False, True:
            return CollectiveOperation.BROADCAST, CollectiveOperation.GATHER
        case _:
            is_old = table.has_operation_column and not table.has_root_column
            first = CollectiveOperation.ALL_TO_ALL if is_old else CollectiveOperation.ALL_GATHER
            return first, CollectiveOperation.SEND_RECEIVE


def _rows(table: NcclTable, group: _Group) -> Iterator[ProfileReading]:
    kinds = {row.words for row in table.rows}
    by_subject: dict[str, list[NcclRow]] = defaultdict(list)
    for row in table.rows:
        words = clean_name(" ".join((str(row.size_bytes), *row.words)))
        by_subject[words if len(kinds) > 1 else str(row.size_bytes)].append(row)
    for subject, rows in by_subject.items():
        size_bytes = rows[0].size_bytes
        for suffix, halves in (
            ("", [row.out_of_place for row in rows if row.out_of_place]),
            ("_in_place", [row.in_place for row in rows if row.in_place]),
        ):
            if halves:
                yield from _half(subject, suffix, size_bytes, halves, group)


def _half(
    subject: str, suffix: str, size_bytes: int, halves: Sequence[NcclTiming], group: _Group
) -> Iterator[ProfileReading]:
    """Yield the readings of one size: the median of repeated rows."""
    seconds = median(half.seconds for half in halves)
    column = median(half.bus_gb_per_second for half in halves) * GIGA
    yield ProfileReading(
        name=f"collective_time{suffix}", value=seconds, unit="s", subject=subject, source="time"
    )
    if size_bytes > 0 and seconds > 0:
        value, source = _bandwidth(size_bytes, seconds, column, group)
        if value > 0:  # small values are printed as 0.00
            yield ProfileReading(
                name=f"bus_bw{suffix}", value=value, unit="B/s", subject=subject, source=source
            )
    wrong = [half.wrong for half in halves if half.wrong is not None]
    if wrong:
        yield ProfileReading(
            name=f"collective_{halves[0].wrong_name}{suffix}",
            value=max(wrong),
            subject=subject,
            source=halves[0].wrong_name,
        )


def _bandwidth(size_bytes: int, seconds: float, column: float, group: _Group) -> tuple[float, str]:
    if group.collective is not None and group.ranks is not None:
        value = bus_bandwidth(group.collective, size_bytes, seconds, group.ranks)
        is_checked = size_bytes >= CHECKED_BYTES and column > 0
        if not is_checked or abs(value - column) <= MAX_DIFFERENCE * column:
            return value, f"nccl-tests formula of {group.collective}, {group.ranks} ranks"
    return column, "busbw"


def _totals(table: NcclTable, group: _Group, lines: Sequence[str]) -> Iterator[ProfileReading]:
    rows = [row for row in table.rows if row.out_of_place and row.size_bytes > 0]
    small = [
        row.out_of_place.seconds
        for row in rows
        if row.out_of_place and row.size_bytes <= LATENCY_BYTES
    ]
    if small:
        yield ProfileReading(
            name="latency_floor",
            value=median(small),
            unit="s",
            source=f"median time of messages up to {LATENCY_BYTES} bytes",
        )
    best = [
        _bandwidth(row.size_bytes, half.seconds, half.bus_gb_per_second * GIGA, group)[0]
        for row in rows
        if (half := row.out_of_place) and half.seconds > 0
    ]
    if best and max(best) > 0:
        yield ProfileReading(
            name="bus_bw_max", value=max(best), unit="B/s", source="highest bus_bw"
        )
    if group.ranks is not None:
        yield ProfileReading(name="ranks", value=group.ranks, source="Using devices")
    yield from _footer(lines)


def _footer(lines: Sequence[str]) -> Iterator[ProfileReading]:
    for line in lines:
        if not line.startswith("#") and "#" not in line[:32]:
            continue
        mean = _MEAN.search(line)
        value = number_or_none(mean[1]) if mean else None
        if value:
            yield ProfileReading(
                name="bus_bw_mean", value=value * GIGA, unit="B/s", source="Avg bus bandwidth"
            )
        if wrong := _OUT_OF_BOUNDS.search(line):
            yield ProfileReading(
                name="out_of_bounds_values", value=float(wrong[1]), source="Out of bounds values"
            )
