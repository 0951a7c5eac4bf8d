"""Slurm's `sacct --parsable2` into the devices that each job held.

https://slurm.schedmd.com/sacct.html. Wanted: JobID, Start, End (or Elapsed) and AllocTRES, and what
tells jobs apart: JobName, User, Account, Partition, QOS, Cluster, WCKey, Comment. Steps
("123.batch") are parts of their jobs and not counted again; jobs without GPUs count for the period.
"""

import re
from collections.abc import Iterator, Mapping

from perfledger_cost_models.usage import (
    Span,
    Usage,
    UsageFileError,
    moment,
    rows_of,
    span_of,
    usage_of,
)

KIND = "Slurm accounting"
LABELS = {
    "JobName": "job",
    "User": "user",
    "Account": "account",
    "Partition": "partition",
    "QOS": "qos",
    "Cluster": "cluster",
    "WCKey": "wckey",
    "Comment": "comment",
}
NEEDED = ("JobID", "Start", "AllocTRES")
NO_TIME = frozenset({"", "Unknown", "None"})  # not begun, or not ended

_GPUS = re.compile(r"(?:^|,)gres/gpu(?::(?P<type>[^=,]+))?=(?P<count>\d{1,20})(?=,|$)")
_ELAPSED = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,6})(?:\.\d+)?")


def is_sacct(first_line: str) -> bool:
    """Whether a file begins as sacct's tables do."""
    return "JobID" in first_line.split("|")


def read_sacct(text: str, name: str) -> Usage:
    """Read jobs; times without a zone are taken as UTC. Raises UsageFileError."""
    spans: list[Span] = []
    moments: list[float] = []
    known: set[tuple[str, str, float]] = set()
    for where, row in begun_rows(text, name):
        if "." in row["JobID"]:
            continue
        start, end = times_of(row, where)
        moments += (start, end)
        gpus, kind = gpus_of(row["AllocTRES"])
        if gpus:
            run = row.get("Cluster", ""), row["JobID"], start  # one that was requeued begins anew
            if run in known:
                msg = (
                    f"{where}: job {row['JobID'][:40]!r} is told twice, and its hours would count "
                    "twice: leave one of its rows out, or cut exports at their days with --truncate"
                )
                raise UsageFileError(msg)
            known.add(run)
            labels = {ours: row[theirs] for theirs, ours in LABELS.items() if row.get(theirs)}
            labels |= {"gpu": kind} if kind else {}
            spans.append(span_of(name, labels, start, end, gpus))
    return usage_of(name, KIND, spans, also=moments)


def begun_rows(text: str, name: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the jobs and steps that have begun, each with where it stands.

    Raises UsageFileError.
    """
    rows = rows_of(text, name, delimiter="|")
    _, header = next(rows, (0, list[str]()))
    missing = [column for column in NEEDED if column not in header]
    if missing:
        msg = f"{name} lacks {missing}: run sacct --parsable2 --format=JobID,JobName,Start,End,..."
        raise UsageFileError(msg)
    for number, cells in rows:
        where = f"{name}, line {number}"
        row = _row(cells, header, where)
        if row["Start"] not in NO_TIME:
            yield where, row


def times_of(row: Mapping[str, str], where: str) -> tuple[float, float]:
    """Return when a row's job or step began and ended; raises UsageFileError."""
    start = moment(row["Start"], where)
    if row.get("End", "") not in NO_TIME:
        end = moment(row["End"], where)
        if end < start:
            msg = (
                f"{where}: ends at {row['End'][:40]}, before it begins at {row['Start'][:40]}: "
                "where clocks were put back, export with TZ=UTC sacct"
            )
            raise UsageFileError(msg)
        return start, end
    return start, start + _elapsed(row, where)


def gpus_of(tres: str) -> tuple[int, str]:
    """Return how many GPUs were allocated, and their type where it is told."""
    found = [(match["type"] or "", int(match["count"])) for match in _GPUS.finditer(tres)]
    types = [(kind, count) for kind, count in found if kind]
    whole = [count for kind, count in found if not kind]
    count = whole[0] if whole else sum(count for _, count in types)
    return count, types[0][0] if len(types) == 1 else ""


def _row(cells: list[str], header: list[str], where: str) -> Mapping[str, str]:
    """Return cells by column; a job's name may have the delimiter in it, which sacct leaves so."""
    extra = len(cells) - len(header)
    if extra > 0 and "JobName" in header:
        place = header.index("JobName")
        cells = [
            *cells[:place],
            "|".join(cells[place : place + extra + 1]),
            *cells[place + extra + 1 :],
        ]
    if len(cells) != len(header):
        msg = f"{where}: {len(cells)} cells under {len(header)} columns: export it again"
        raise UsageFileError(msg)
    return dict(zip(header, cells, strict=True))


def _elapsed(row: Mapping[str, str], where: str) -> float:
    """Return the seconds of a job that has not ended, of [days-][hours:]minutes:seconds."""
    raw = row.get("ElapsedRaw", "")
    if raw.isdecimal() and len(raw) < 12:  # noqa: PLR2004 - no job has run for millennia
        return float(raw)
    found = _ELAPSED.fullmatch(row.get("Elapsed", ""))
    if found is None:
        msg = f"{where}: neither End nor Elapsed says how long it ran: add Elapsed to --format"
        raise UsageFileError(msg)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds
