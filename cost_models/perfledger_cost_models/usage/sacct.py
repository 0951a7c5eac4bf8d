"""Parses the tables of Slurm's `sacct --parsable2`, https://slurm.schedmd.com/sacct.html.

A row is a job or a step of it ("123.batch", "123.0"). Times without a zone are UTC; amounts of
trackable resources (TRES) may have a unit from K to P, of 1024.

Three readers share it: `usage/slurm_allocations.py` for the devices that jobs held,
`telemetry/slurm_gpu_use.py` for how busy jobs kept them, and `job_logs/swf_and_sacct.py` for job
logs.

All readers use one rule for duplicates. Cluster, JobID and Start identify a run; before its start
Cluster, JobID and Submit do. A requeued job has several runs, each with its own record: "Previous
runs of the job can be shown with the -D/--duplicates option" (sacct, SLUID). A reset JobID is
another job with other times (sacct, --duplicates). So every run counts. The same run twice comes
from overlapping exports; the table is rejected, because the run would count twice. Steps are parts
of a run and add nothing to it; the same step twice is rejected as well.

"--truncate: if a job started before --starttime the start time would be truncated to --starttime",
and its end to --endtime. Of a run that begins after the export, or a step that ended before it,
that leaves an end before its start, and no elapsed time: here it has neither start nor end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from perfledger_cost_models.prices.mig_profiles import WHOLE_GPU_MILLI, mig_milli
from perfledger_cost_models.usage.device_spans import UsageFileError, parse_time
from perfledger_profiles.parsing.text_table import table_rows

# Texts of users, by how often they contain the delimiter.
_TEXTS = ("JobName", "SubmitLine", "Comment", "AdminComment", "SystemComment", "WorkDir")
_NO_TIME = frozenset({"", "Unknown", "None"})  # not begun, or not ended
_DURATION = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,6})(?:\.\d+)?")
_AMOUNT = re.compile(
    r"(?:^|,)(?P<name>[^=,]+)=(?P<number>\d{1,20}(?:\.\d{1,6})?)(?P<unit>[KMGTP]?)(?=,|$)"
)
_UNITS = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_GPUS = "gres/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class SacctRow:
    """A job or a step; times are seconds since 1970."""

    file: str
    line: int
    cells: Mapping[str, str]
    job: str  # the JobID, without the step
    step: str  # "" for the job itself
    submit: float | None  # None if the export lacks it
    eligible: float | None  # when it could first start; None if unknown
    start: float | None  # None before it has begun
    end: float | None  # None before it has ended

    @property
    def is_outside_export(self) -> bool:
        """Return whether all of it lies before or after an export with --truncate."""
        return self.start is None and self.get("Start") not in _NO_TIME

    @property
    def where(self) -> str:
        """Return the row's file and line, for messages."""
        return f"{self.file}, line {self.line}"

    def get(self, column: str) -> str:
        """Return a cell; "" if the export lacks the column."""
        return self.cells.get(column, "")

    def span(self) -> tuple[float, float] | None:
        """Return the start and the end, for a running job up to now; None before it begins.

        Raises UsageFileError if both End and Elapsed are missing.
        """
        if self.start is None:
            return None
        return self.start, self.start + self._elapsed_seconds() if self.end is None else self.end

    def elapsed_s(self) -> float | None:
        """Return how long it ran by Slurm's own count; None if the export lacks it."""
        raw = self.get("ElapsedRaw")
        if raw.isdecimal() and len(raw) < 12:  # noqa: PLR2004 - no job has run for millennia
            return float(raw)
        return duration_s(self.get("Elapsed"))

    def _elapsed_seconds(self) -> float:
        elapsed = self.elapsed_s()
        if elapsed is None:
            msg = f"{self.where}: the run has neither End nor Elapsed: add Elapsed to --format"
            raise UsageFileError(msg)
        return elapsed


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs or parts of GPUs of a TRES list, and their type if it names only one."""

    count: int
    model: str
    share_milli: int = WHOLE_GPU_MILLI  # the mean part of a GPU that each of them is

    @property
    def devices(self) -> float:
        """Return how many whole GPUs they amount to: two sevenths are not two GPUs."""
        return self.count * self.share_milli / WHOLE_GPU_MILLI


def is_sacct(first_line: str) -> bool:
    """Return whether a file's first line is the header of a sacct table."""
    return "JobID" in first_line.split("|")


def sacct_rows(text: str, name: str, columns: Sequence[str]) -> Iterator[SacctRow]:
    """Yield the jobs and steps of a table with these columns, each run once.

    Raises UsageFileError, also for a run that appears twice.
    """
    lines = table_rows(text, name, error=UsageFileError, delimiter="|")
    _, header = next(lines, (0, list[str]()))
    missing = [column for column in columns if column not in header]
    if missing:
        msg = f"{name} lacks {missing}: add them to sacct --parsable2 --format=... with its header"
        raise UsageFileError(msg)
    runs: set[tuple[str, str, bool, float]] = set()
    for line, cells in lines:
        row = _row(_cells(cells, header, f"{name}, line {line}"), name, line)
        _check_is_new(row, runs)
        yield row


def amounts_of(tres: str) -> Mapping[str, float]:
    """Return the amounts of a TRES list by name; bytes of memory."""
    return {
        match["name"]: float(match["number"]) * _UNITS[match["unit"]]
        for match in _AMOUNT.finditer(tres)
    }


def gpus_of(tres: str) -> Gpus:
    """Return the GPUs of a TRES list: `gres/gpu` if it is there, else the sum over the types.

    Each part of a GPU counts as one there. A type that is named after a MIG profile, "1g.10gb" or
    "a100_3g.20gb", shows how large it is (https://slurm.schedmd.com/gres.html#MIG_Management).
    """
    counts = amounts_of(tres)
    types = {
        name.removeprefix(f"{_GPUS}:"): int(count)
        for name, count in counts.items()
        if name.startswith(f"{_GPUS}:")
    }
    count = int(counts[_GPUS]) if _GPUS in counts else sum(types.values())
    missing = sum(amount * (WHOLE_GPU_MILLI - mig_milli(type_)) for type_, amount in types.items())
    return Gpus(
        count,
        next(iter(types)) if len(types) == 1 else "",
        WHOLE_GPU_MILLI - round(missing / count) if count else WHOLE_GPU_MILLI,
    )


def duration_s(text: str) -> float | None:
    """Return the seconds of [[days-]hours:]minutes:seconds; None for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(
        days * SECONDS_PER_DAY + hours * SECONDS_PER_HOUR + minutes * SECONDS_PER_MINUTE + seconds
    )


def _cells(cells: list[str], header: Sequence[str], where: str) -> Mapping[str, str]:
    """Return cells by column; one text may contain the delimiter, which is not escaped.

    Of several columns of text it is the first one that leaves times and amounts in their columns,
    unless another one does and the other cells differ: they would be counted for another account.
    """
    extra = len(cells) - len(header)
    texts = [header.index(column) for column in _TEXTS if column in header]
    if extra < 0 or (extra and not texts):
        msg = f"{where}: {len(cells)} cells for {len(header)} columns: export it again"
        raise UsageFileError(msg)
    if not extra:
        return dict(zip(header, cells, strict=True))
    rows: list[Mapping[str, str]] = []
    for first in texts:
        last = first + extra + 1
        whole_row = [*cells[:first], "|".join(cells[first:last]), *cells[last:]]
        rows.append(dict(zip(header, whole_row, strict=True)))
    if len(rows) == 1:
        return rows[0]
    intact = [row for row in rows if _is_plausible(row, where)]
    if len({tuple(_without_texts(row)) for row in intact}) != 1:
        msg = (
            f"{where}: {len(cells)} cells for {len(header)} columns, because texts contain the "
            "delimiter: export it without SubmitLine and comments"
        )
        raise UsageFileError(msg)
    return intact[0]


def _without_texts(row: Mapping[str, str]) -> Iterator[str]:
    return (cell for column, cell in row.items() if column not in _TEXTS)


def _is_plausible(row: Mapping[str, str], where: str) -> bool:
    """Return whether a row has times, amounts and a job's number where its columns say so."""
    try:
        for column in ("Submit", "Eligible", "Start", "End"):
            _time(row.get(column, ""), where)
    except UsageFileError:
        return False
    amounts = (row.get(column, "") for column in ("AllocTRES", "ReqTRES"))
    return row["JobID"][:1].isdecimal() and all("=" in each or not each for each in amounts)


def _row(cells: Mapping[str, str], name: str, line: int) -> SacctRow:
    where = f"{name}, line {line}"
    job, _, step = cells["JobID"].partition(".")
    submit, eligible, start, end = (
        _time(cells.get(column, ""), where) for column in ("Submit", "Eligible", "Start", "End")
    )
    row = SacctRow(
        file=name,
        line=line,
        cells=cells,
        job=job,
        step=step,
        submit=submit,
        eligible=eligible,
        start=start,
        end=end,
    )
    if start is not None and end is not None and end < start:
        if row.elapsed_s() == 0:
            return replace(row, start=None, end=None)
        msg = (
            f"{where}: the run ends at {cells['End'][:40]}, before its start at "
            f"{cells['Start'][:40]}. If clocks were set back, export with TZ=UTC sacct. If the "
            "export is one with --truncate, add Elapsed to --format."
        )
        raise UsageFileError(msg)
    _check_clock(row)
    return row


def _check_clock(row: SacctRow) -> None:
    """Raise UsageFileError if a run took an hour more or less than its own local times say.

    Suspended time is not in Elapsed, but hardly ever a whole hour to the second.
    """
    elapsed_s = row.elapsed_s()
    if row.start is None or row.end is None or elapsed_s is None:
        return
    if abs(row.end - row.start - elapsed_s) == SECONDS_PER_HOUR:
        msg = (
            f"{row.where}: Start and End are an hour more or less apart than Elapsed says. "
            "If clocks were changed, export with TZ=UTC sacct."
        )
        raise UsageFileError(msg)


def _time(text: str, where: str) -> float | None:
    return None if text in _NO_TIME else parse_time(text, where)


def _check_is_new(row: SacctRow, runs: set[tuple[str, str, bool, float]]) -> None:
    """Raise UsageFileError for a run in `runs`; else add it."""
    moment_s = row.submit if row.start is None else row.start
    if moment_s is None or row.is_outside_export:
        return
    run = row.get("Cluster"), row.get("JobID"), row.start is None, moment_s
    if run in runs:
        msg = (
            f"{row.where}: job {row.get('JobID')[:40]!r} appears twice, and its hours would count "
            "twice. Remove one of its rows, or export the whole period at once."
        )
        raise UsageFileError(msg)
    runs.add(run)
