"""Turn the log of a program of nccl-tests or rccl-tests into bandwidths by message size."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from perfledger.profile import Profile, ProfiledDevice, Reading
from perfledger.records import Side
from perfledger_profiles.bus_bandwidth import Collective, bus_bandwidth, bus_factor
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.nccl_rows import Half, Row, Table, read_rows
from perfledger_profiles.quantity import number_of
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import summary_profile
from perfledger_profiles.text_file import read_text

TOOL = "nccl-tests"
# From here on the printed columns have three digits; below, they are mostly 0.00.
CHECKED_BYTES = 2**20
# Times are printed with four digits and bandwidths with two decimals: what differs by more than
# this was made by another formula (a collective that is not ours, several communicators).
MAX_DIFFERENCE = 0.005
# Up to this size a collective takes as long as an empty one (profiling.md section 5.2: 8x A100).
LATENCY_BYTES = 64 * 2**10
UNNAMED = "the log does not name its collective: by its columns it is {}"
ANY_FACTOR = "the bandwidths are the log's own: its collective or its number of ranks is not known"

_PROGRAM = re.compile(r"\b(\w+?)_perf(?:_mpi)?\b")
_RANK = re.compile(
    r"Rank\s+\d+\s+(?:Group\s+(\d+)\s+)?Pid\s+\d+\s+on\s+\S{1,1024}\s+device\s+\d+\s+\[[^\]]{0,128}\]\s*(.*)"
)
_MEAN = re.compile(r"#\s*Avg bus bandwidth\s*:\s*([\d.]+)")
_OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,18})\b")
_OPERATIONS = ("sum", "prod", "max", "min", "avg", "mulsum")
_GIGA = 1e9
# One rank alone sends nothing, whatever the collective.
_MIN_RANKS = 2
# How far a printed ratio of two bandwidths may be from the collective's factor.
_RATIO_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class _Group:
    """Which collective was run by how many ranks; unknown is None."""

    collective: Collective | None
    ranks: int | None


def read_nccl_tests(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the times and bus bandwidths of a log, by message size in bytes as the subject.

    Bandwidths are computed from size, time and ranks; where these do not lead to the log's columns
    the columns are taken, with a note. Raises ProfileError when the file is not such a log.
    """
    read = read_text(data)
    table = read_rows(read.lines)
    if not table.rows:
        msg = "no row of nccl-tests is in this file: is it what all_reduce_perf printed?"
        raise ProfileError(msg)
    device, ranks = _devices(read.lines)
    named = _named(read.lines)
    collective = named or _inferred(table, ranks)
    group = _Group(collective, ranks)
    readings = [*_rows(table, group), *_totals(table, group, read.lines)]
    is_computed = any(r.source.startswith("nccl-tests formula") for r in readings)
    notes = [*read.notes, *table.notes]
    if named is None and collective is not None:
        notes.append(UNNAMED.format(collective))
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
    """Return the device, and how many ranks one communicator has."""
    found = [match for line in lines if (match := _RANK.search(line))]
    if not found:
        return None, None
    first = found[0][1]
    ranks = sum(match[1] == first for match in found)
    return ProfiledDevice(name=clean_name(found[0][2]), count=len(found)), ranks


def _named(lines: Sequence[str]) -> Collective | None:
    """Return the collective that the log names, in its head or in the command line before it."""
    known = set(Collective)
    for line in lines:
        for match in _PROGRAM.finditer(line) if "_perf" in line else ():
            if match[1] in known:
                return Collective(match[1])
    return None


def _inferred(table: Table, ranks: int | None) -> Collective | None:
    """Return the collective that fits the columns, None where none does."""
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
        if abs(bus_factor(collective, ranks) - ratio) <= _RATIO_TOLERANCE:
            return collective
    return None


def _candidates(table: Table) -> tuple[Collective, ...]:
    """Return what the columns beside the size allow: who reduces names how, who has a root which.

    All-gather and all-to-all look the same since 2.13, and have the same formula.
    """
    words = {word for row in table.rows for word in row.words}
    has_operation = any(word in _OPERATIONS for word in words)
    has_root = any(word.isdecimal() for word in words)
    match has_operation, has_root:
        case True, True:
            return (Collective.REDUCE,)
        case True, False:
            return Collective.ALL_REDUCE, Collective.REDUCE_SCATTER
        case False, True:
            return Collective.BROADCAST, Collective.GATHER
        case _:
            is_old = table.has_operation_column and not table.has_root_column
            first = Collective.ALL_TO_ALL if is_old else Collective.ALL_GATHER
            return first, Collective.SEND_RECEIVE


def _rows(table: Table, group: _Group) -> Iterator[Reading]:
    kinds = {row.words for row in table.rows}
    by_subject: dict[str, list[Row]] = defaultdict(list)
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
    subject: str, suffix: str, size_bytes: int, halves: Sequence[Half], group: _Group
) -> Iterator[Reading]:
    """Yield what the rows of one size say; of repeated ones the median."""
    seconds = median(half.seconds for half in halves)
    column = median(half.bus_gb_per_second for half in halves) * _GIGA
    yield Reading(
        name=f"collective_time{suffix}", value=seconds, unit="s", subject=subject, source="time"
    )
    if size_bytes > 0 and seconds > 0:
        value, source = _bandwidth(size_bytes, seconds, column, group)
        if value > 0:  # a column rounds what is small to 0.00
            yield Reading(
                name=f"bus_bw{suffix}", value=value, unit="B/s", subject=subject, source=source
            )
    wrong = [half.wrong for half in halves if half.wrong is not None]
    if wrong:
        yield Reading(
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


def _totals(table: Table, group: _Group, lines: Sequence[str]) -> Iterator[Reading]:
    rows = [row for row in table.rows if row.out_of_place and row.size_bytes > 0]
    small = [
        row.out_of_place.seconds
        for row in rows
        if row.out_of_place and row.size_bytes <= LATENCY_BYTES
    ]
    if small:
        yield Reading(
            name="latency_floor",
            value=median(small),
            unit="s",
            source=f"median time of messages up to {LATENCY_BYTES} bytes",
        )
    best = [
        _bandwidth(row.size_bytes, half.seconds, half.bus_gb_per_second * _GIGA, group)[0]
        for row in rows
        if (half := row.out_of_place) and half.seconds > 0
    ]
    if best and max(best) > 0:
        yield Reading(name="bus_bw_max", value=max(best), unit="B/s", source="highest bus_bw")
    if group.ranks is not None:
        yield Reading(name="ranks", value=group.ranks, source="Using devices")
    yield from _footer(lines)


def _footer(lines: Sequence[str]) -> Iterator[Reading]:
    for line in lines:
        if not line.startswith("#") and "#" not in line[:32]:
            continue
        mean = _MEAN.search(line)
        value = number_of(mean[1]) if mean else None
        if value:
            yield Reading(
                name="bus_bw_mean", value=value * _GIGA, unit="B/s", source="Avg bus bandwidth"
            )
        if wrong := _OUT_OF_BOUNDS.search(line):
            yield Reading(
                name="out_of_bounds_values", value=float(wrong[1]), source="Out of bounds values"
            )
