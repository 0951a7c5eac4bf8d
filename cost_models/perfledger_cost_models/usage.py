"""The words of usage files: which job held how many devices, from when to when."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from math import isfinite

MAX_USAGE_BYTES = 64 * 1024 * 1024  # some 400,000 jobs, or three million samples
MAX_SPANS = 2_000_000
MAX_COLUMNS = 2000
MAX_CELL_CHARACTERS = 20_000
MAX_LABELS = 200  # of one job; Kubernetes' own are a few dozen
MAX_DEVICES = 1_000_000  # of one job; more is a slipped column
# Before it no accelerator was rented by the hour, after it no clock is right.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
_MILLISECONDS_FROM = 1e11  # as seconds that is the year 5138


class UsageFileError(ValueError):
    """A usage file that is none, or that cannot be counted."""


@dataclass(frozen=True, slots=True)
class Span:
    """Devices that one job held from `start` to `end`; seconds since 1970, UTC."""

    labels: Mapping[str, str]
    start: float
    end: float
    devices: float

    @property
    def device_hours(self) -> float:
        """Return the devices times the hours."""
        return self.devices * (self.end - self.start) / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one file tells; its period is from its first moment to its last."""

    name: str
    kind: str
    spans: tuple[Span, ...]
    start: float
    end: float


def usage_of(name: str, kind: str, spans: Sequence[Span], *, also: Sequence[float] = ()) -> Usage:
    """Return spans as what a file tells; `also` are moments of it in which nothing was held.

    Raises UsageFileError where there are none, or too many.
    """
    if len(spans) > MAX_SPANS:
        msg = f"{name} has more than {MAX_SPANS} entries: export shorter periods"
        raise UsageFileError(msg)
    moments = [moment for span in spans for moment in (span.start, span.end)] + list(also)
    if not moments:
        msg = f"{name} has no entries: export a period in which devices were used"
        raise UsageFileError(msg)
    return Usage(name=name, kind=kind, spans=tuple(spans), start=min(moments), end=max(moments))


def span_of(name: str, labels: Mapping[str, str], start: float, end: float, devices: float) -> Span:
    """Return a span after checking it; raises UsageFileError with the file's name."""
    if not EARLIEST <= start <= end <= LATEST:
        msg = f"{name}: a span from {start} to {end} is none: export it again"
        raise UsageFileError(msg)
    if not (isfinite(devices) and 0 <= devices <= MAX_DEVICES):
        msg = f"{name}: {devices} devices are not 0 to {MAX_DEVICES}: export it again"
        raise UsageFileError(msg)
    if len(labels) > MAX_LABELS:
        msg = f"{name}: a job with more than {MAX_LABELS} labels: export fewer"
        raise UsageFileError(msg)
    return Span(labels, start, end, devices)


def moment(text: str, name: str) -> float:
    """Return a time in seconds since 1970: 2026-11-01T..., or such a number, or milliseconds.

    What says no zone is UTC. Raises UsageFileError.
    """
    text = text.strip()
    seconds: float | None = None
    with suppress(ValueError, OverflowError):
        if text[4:5] == "-":
            found = datetime.fromisoformat(text)
            seconds = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        else:
            seconds = float(text)
            seconds = seconds / 1000 if seconds > _MILLISECONDS_FROM else seconds
    if seconds is None or not EARLIEST <= seconds <= LATEST:
        msg = f"{name}: {text[:40]!r} is no time such as 2026-11-01T00:00:00Z: export it again"
        raise UsageFileError(msg)
    return seconds


def rows_of(text: str, name: str, *, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a table that are not empty, with their numbers; raises UsageFileError."""
    lines = StringIO(text.removeprefix("\ufeff"), newline="")
    if delimiter == ",":
        reader = csv.reader(lines, strict=True)
    else:  # sacct does not quote
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    try:
        for cells in reader:
            if len(cells) > MAX_COLUMNS or any(len(cell) > MAX_CELL_CHARACTERS for cell in cells):
                msg = f"{name}, line {reader.line_num}: too long for a table: export it again"
                raise UsageFileError(msg)
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        msg = f"{name}, line {reader.line_num}: {error}: export it again"
        raise UsageFileError(msg) from error
