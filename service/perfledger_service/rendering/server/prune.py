"""Presents what retention removes, or would remove."""

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    Preformatted,
    display,
    fact,
    figure,
    heading,
    name,
    table,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.storage.retention import RetentionReport, RetentionRow, StoredAmount

_STILL_READ = "Data that judging, reviews, pages or open pull requests still need is never removed."


def retention_document(report: RetentionReport) -> Document:
    """Return each class of data with its period, the stored amount and the removed amount."""
    size = report.size
    removed = "would go" if report.is_dry_run else "removed"
    return Document(
        name="perfledger-retention",
        facts={
            "is_dry_run": report.is_dry_run,
            "database_bytes": size.bytes,
            "free_bytes": size.free_bytes,
        },
        blocks=(
            table(_columns(removed), report.rows, key="classes"),
            *_own_periods(report),
            *((Preformatted(_STILL_READ),) if _has_period(report) else ()),
            Preformatted(_size_sentence(report)),
        ),
    )


def _own_periods(report: RetentionReport) -> tuple[Block, ...]:
    """Return the periods of single projects, which override those of the classes."""
    if not report.own_periods:
        return ()
    return heading("Periods of single projects"), table(
        (
            name("project", "project", lambda one: one.repository),
            name("class", "class", lambda one: one.kind),
            fact("kept_days", lambda one: one.kept_days),
            display("kept for", lambda one: _period_words(one.kept_days)),
        ),
        report.own_periods,
        key="own_periods",
        in_csv=False,
    )


def _has_period(report: RetentionReport) -> bool:
    days = [*(row.kept_days for row in report.rows), *(one.kept_days for one in report.own_periods)]
    return any(one is not None for one in days)


def _columns(removed: str) -> tuple[Column[RetentionRow], ...]:
    return (
        name("class", "class", lambda row: row.kind),
        fact("kept_days", lambda row: row.kept_days),
        display("kept for", lambda row: _period_words(row.kept_days)),
        figure("rows", "rows", lambda row: row.stored.rows),
        figure("bytes", "size", lambda row: row.stored.bytes, number_format.byte_count),
        fact("oldest", lambda row: _moment(row.stored)),
        display("oldest", lambda row: _day(row.stored)),
        figure("removed_rows", removed, lambda row: row.removed.rows),
        figure("removed_bytes", "size", lambda row: row.removed.bytes, number_format.byte_count),
        fact("removed_oldest", lambda row: _moment(row.removed)),
    )


def _period_words(days: int | None) -> str:
    return "ever" if days is None else quantity(days, "day")


def _moment(amount: StoredAmount) -> str | None:
    return amount.oldest.isoformat() if amount.oldest else None


def _day(amount: StoredAmount) -> str:
    return f"{amount.oldest:%Y-%m-%d}" if amount.oldest else "-"


def _size_sentence(report: RetentionReport) -> str:
    size = number_format.byte_count(report.size.bytes)
    if report.size.free_bytes is None:
        return f"The database takes {size}; PostgreSQL reuses the space of removed rows."
    free = number_format.byte_count(report.size.free_bytes)
    sentence = f"The database takes {size}, of which {free} is free for new rows."
    if report.size.free_bytes and not report.is_dry_run:
        sentence += " --vacuum frees that space."
    return sentence
