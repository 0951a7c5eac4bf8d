"""Reads the times in the columns of a job log, in whatever form a column has them."""

import re
from contextlib import suppress
from datetime import UTC, datetime

from perfledger.rounding import integer
from perfledger.time_units import DAYS_PER_YEAR, SECONDS_PER_DAY
from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.units import MS_PER_SECOND
from perfledger_cost_models.usage.device_spans import MILLISECONDS_FROM
from perfledger_profiles.parsing.text_table import is_number

# Seconds since 1970 begin here: there are public job logs from 1993 on.
FIRST_DATE_S = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
# Beyond these years, numbers that are no dates are milliseconds: few logs cover as much.
MAX_UNDATED_YEARS = 4
# So they are if half of the jobs would have run for longer than this.
MAX_UNDATED_RUN_DAYS = 2
_MILLISECONDS = "_ms"
_NAMED_WITH_UNIT = frozenset({"run", "wait", "limit"})
EMPTY_CELLS = frozenset({"", "nan", "none", "null", "unknown", "nat"})
# Dates without any separator: 20240131, 202401311230 and 20240131123059.
_COMPACT_DATE = re.compile(r"((?:199\d|20\d\d|2100)\d{4})(\d{4}(?:\d\d)?)?")


def seconds_name(name: str) -> str:
    """Return the name of a column in seconds: `duration` of duration_ms, `run_s` of run_ms."""
    base = name.removesuffix(_MILLISECONDS)
    return f"{base}_s" if base != name and base in _NAMED_WITH_UNIT else base


def seconds_text(text: str) -> str:
    """Return a cell of milliseconds in seconds; text that is no number stays."""
    text = text.strip()
    return repr(float(text) / MS_PER_SECOND) if is_number(text) else text


def check_seconds(start_s: float, end_s: float, *, median_run_s: float) -> None:
    """Raise JobLogError if times from a log's beginning are too long to be seconds.

    Milliseconds of less than a day and a half look like seconds of up to MAX_UNDATED_YEARS; then
    the jobs' run times tell.
    """
    years_covered = (end_s - start_s) / (DAYS_PER_YEAR * SECONDS_PER_DAY)
    run_days = median_run_s / SECONDS_PER_DAY
    if start_s >= FIRST_DATE_S:
        return
    if years_covered > MAX_UNDATED_YEARS:
        what = f"the job log's times cover {integer(years_covered)} years as seconds"
    elif run_days > MAX_UNDATED_RUN_DAYS:
        what = (
            f"half of the job log's jobs ran for {integer(int(run_days))} days or more as seconds"
        )
    else:
        return
    msg = (
        f"{what}: if they are milliseconds, name the columns submit_time_ms, start_time_ms, "
        "duration_ms and so on; otherwise write dates"
    )
    raise JobLogError(msg)


class TimeColumns:
    """The columns of times of one log, each with one form from its first value on.

    A number is seconds since 1970 or the log's beginning, from 1e11 on milliseconds: as seconds it
    would be the year 5138. A column whose first nonzero number is a date of 1990 to 2100 without
    separators has only such dates: as seconds they would lie in one month of 1970. With a time of
    day, tables of floats write them as 20240131123059.0 or 2.0240131123059E13; 20240131.0 is
    seconds.
    """

    def __init__(self) -> None:
        self._first_dates: dict[str, str] = {}  # by column; "" for one of seconds

    def seconds(self, text: str, line: int, column: str) -> float | None:
        """Return a time in seconds; without a zone it is UTC. None for an empty cell.

        Raises JobLogError, also where a column has both dates without separators and other numbers.
        """
        text = text.strip()
        if text.lower() in EMPTY_CELLS:
            return None
        if is_number(text):
            return self._of_number(text, float(text), line, column)
        try:
            return _timestamp(datetime.fromisoformat(text))
        except (ValueError, OverflowError) as error:
            msg = (
                f"the job log, line {line}, {column}: {text[:40]!r} is not a time such as "
                "2026-11-01T00:00:00Z: correct it"
            )
            raise JobLogError(msg) from error

    def _of_number(self, text: str, number: float, line: int, column: str) -> float:
        if number == 0:  # the log's beginning, or something that has not happened yet
            return 0.0
        date = _compact_date(str(int(number)) if number >= MILLISECONDS_FROM else text)
        first_date = self._first_dates.setdefault(column, "" if date is None else text)
        if not first_date:
            return number / (1000 if number >= MILLISECONDS_FROM else 1)
        if date is None:
            is_day = float(first_date) < MILLISECONDS_FROM
            which = "which may be a date or seconds" if is_day else "which is a date"
            remedy = f"2026-11-01, or seconds as {first_date}.0" if is_day else "2026-11-01T00:00"
            msg = (
                f"the job log, line {line}, {column}: {text[:40]!r} is a number, but the column "
                f"begins with {first_date[:40]}, {which}. Write dates as {remedy}."
            )
            raise JobLogError(msg)
        return date


def _compact_date(text: str) -> float | None:
    match = _COMPACT_DATE.fullmatch(text)
    if match is None:
        return None
    with suppress(ValueError):
        return _timestamp(datetime.fromisoformat(f"{match[1]}T{match[2] or '0000'}"))
    return None


def _timestamp(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
