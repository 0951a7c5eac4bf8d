"""Values of usage files: which job held how many devices, from when to when."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import TypeVar

import msgspec

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from perfledger_cost_models.units import MS_PER_SECOND
from perfledger_profiles.parsing.text_table import is_number, number_problem

MAX_USAGE_BYTES = 64 * 1024 * 1024  # some 400,000 jobs, or three million samples
MAX_SPANS = 2_000_000
MAX_LABELS = 200  # of one job; Kubernetes' own are a few dozen
MAX_DEVICES = 1_000_000  # of one job; more is a shifted column
# Times outside this range are errors: no accelerators were rented by the hour before it.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
MILLISECONDS_FROM = 1e11  # as seconds that is the year 5138
# A longer time without data, between two files or at an end of a period, is that of a missing file.
MAX_GAP_S = 2 * SECONDS_PER_DAY
# As Prometheus writes them.
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)

Document = TypeVar("Document")


class UsageFileError(ValueError):
    """An error for a usage file that cannot be read or counted."""


@dataclass(frozen=True, slots=True)
class DeviceSpan:
    """Devices that one job held from `start` to `end`; seconds since 1970, UTC."""

    labels: Mapping[str, str]
    start: float
    end: float
    devices: float

    @property
    def device_hours(self) -> float:
        """Return the devices times the hours."""
        return self.devices * (self.end - self.start) / SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUsage:
    """The spans of one file; its period is from its first moment to its last."""

    name: str
    kind: str
    spans: tuple[DeviceSpan, ...]
    start: float
    end: float
    # Cluster, job id and start of its runs, if the file names them; of a bill, what each charge is
    # for, its resource and start.
    runs: frozenset[tuple[str, str, float]] = frozenset()


def usage_of(
    name: str,
    kind: str,
    spans: Sequence[DeviceSpan],
    *,
    idle_moments: Sequence[float] = (),
    runs: Iterable[tuple[str, str, float]] = (),
) -> DeviceUsage:
    """Return the usage of a file; `idle_moments` are times at which no device was held.

    Raises UsageFileError for no spans and moments, or too many spans.
    """
    if len(spans) > MAX_SPANS:
        msg = f"{name} has more than {MAX_SPANS} entries: export shorter periods"
        raise UsageFileError(msg)
    moments = [moment for span in spans for moment in (span.start, span.end)] + list(idle_moments)
    if not moments:
        msg = f"{name} has no entries: export a period with device usage"
        raise UsageFileError(msg)
    return DeviceUsage(
        name=name,
        kind=kind,
        spans=tuple(spans),
        start=min(moments),
        end=max(moments),
        runs=frozenset(runs),
    )


def check_covered(usages: Sequence[DeviceUsage], start: float, end: float) -> None:
    """Raise UsageFileError if no file has data of a time of over MAX_GAP_S between two moments."""
    known_until = start
    for begins, ends in [*sorted((each.start, each.end) for each in usages), (end, end)]:
        if min(begins, end) - known_until > MAX_GAP_S:
            then, until = (
                datetime.fromtimestamp(moment, UTC).date()
                for moment in (known_until, min(begins, end))
            )
            msg = f"there is no data from {then} to {until}: add the missing file"
            raise UsageFileError(msg)
        known_until = max(known_until, ends)


def check_runs_differ(usages: Sequence[DeviceUsage]) -> None:
    """Raise UsageFileError for a run that two files contain: its hours would count twice."""
    first_file: dict[tuple[str, str, float], str] = {}
    for usage in usages:
        for run in usage.runs:
            if run in first_file:
                msg = (
                    f"{usage.name} and {first_file[run]} both contain {run[1][:40]!r} from the "
                    "same time, and its hours would count twice. Export periods that do not "
                    "overlap, or cut sacct's with --truncate."
                )
                raise UsageFileError(msg)
            first_file[run] = usage.name


def span_of(
    name: str, labels: Mapping[str, str], start: float, end: float, devices: float
) -> DeviceSpan:
    """Return a checked span; raise UsageFileError with the file's name."""
    if not EARLIEST <= start <= end <= LATEST:
        msg = f"{name}: a span from {start} to {end} is impossible: export it again"
        raise UsageFileError(msg)
    if not (isfinite(devices) and 0 <= devices <= MAX_DEVICES):
        msg = f"{name}: {devices} devices are not between 0 and {MAX_DEVICES}: export it again"
        raise UsageFileError(msg)
    if len(labels) > MAX_LABELS:
        msg = f"{name}: a job has more than {MAX_LABELS} labels: export fewer"
        raise UsageFileError(msg)
    return DeviceSpan(labels, start, end, devices)


def parse_time(text: str, name: str) -> float:
    """Return a time in seconds since 1970, from ISO 8601, seconds or milliseconds since 1970.

    Without a zone it is UTC. Raises UsageFileError.
    """
    text = text.strip()
    seconds: float | None = None
    with suppress(ValueError, OverflowError):
        if text[4:5] == "-":
            moment = datetime.fromisoformat(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        elif is_number(text):
            seconds = float(text)
            seconds = seconds / MS_PER_SECOND if seconds > MILLISECONDS_FROM else seconds
    if seconds is None or not EARLIEST <= seconds <= LATEST:
        msg = f"{name}: {text[:40]!r} is not a time such as 2026-11-01T00:00:00Z: export it again"
        raise UsageFileError(msg)
    return seconds


def decoded_json(data: bytes, decoder: msgspec.json.Decoder[Document], problem: str) -> Document:
    """Return a JSON document; raise UsageFileError with `problem` and the place in the file."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"{problem}: {str(error)[:200]}"
        raise UsageFileError(msg) from error


def any_number(text: str, where: str, *, otherwise: str = "is not a number") -> float:
    """Return the number in a cell, also NaN and Inf; raise UsageFileError for anything else."""
    if is_number(text) or _NOT_FINITE.fullmatch(text.strip()):
        return float(text)
    msg = f"{where}: {text[:40]!r} {number_problem(text, otherwise=otherwise)}: export it again"
    raise UsageFileError(msg)


def first_label(labels: Mapping[str, str], names: Sequence[str]) -> str:
    """Return the first of these labels that has a value; "" if none has."""
    return next((labels[name] for name in names if labels.get(name)), "")
